package session_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/durable/powertest"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// whole makes a project with a session that has every kind of file, and one beside it
// that nobody damages. It returns the names of both.
func whole(t *testing.T) (project, name, other string) {
	t.Helper()
	project = t.TempDir()
	sp := spec(t, project)
	sp.Files = map[string][]byte{session.SnapshotFile: []byte(`{"version":1,"number":7}` + "\n")}
	s := create(t, sp)
	st, err := s.Recover(noon)
	if err != nil {
		t.Fatal(err)
	}
	st = reduce(t, s, st, orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}})
	for n, say := range []string{"one", "two"} {
		err := s.Append(session.Commands, noon, func(session.Tail) (*session.NewLine, error) {
			return &session.NewLine{Tool: "command", Payload: map[string]any{"name": "say", "args": map[string]any{"text": say}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		lines, _, err := s.Lines(session.Commands, st.CommandCursor, 0)
		if err != nil || len(lines) != 1 {
			t.Fatalf("%d: %+v, %v", n, lines, err)
		}
		st = reduce(t, s, st, orchestrator.Input{Kind: orchestrator.InCommand, Line: &lines[0]})
	}
	for _, tool := range []string{"report_status", "submit_architecture"} {
		err := s.Append(session.ToolEvents, noon, func(session.Tail) (*session.NewLine, error) {
			return &session.NewLine{Tool: tool, Role: "architect", Visit: 1, Payload: map[string]any{"message": "at it"}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	lines, _, err := s.Lines(session.ToolEvents, st.ToolCursor, 0)
	if err != nil || len(lines) != 2 {
		t.Fatalf("%+v, %v", lines, err)
	}
	reduce(t, s, st, orchestrator.Input{Kind: orchestrator.InTool, Line: &lines[0]})
	for rel, text := range map[string]string{
		"02_architecting/architecture.md": "# Architecture\n", "04_planning/plan.yaml": "version: 2\n",
		"07_review/review_reviewer_logic.yaml": "verdict: pass\nsummary: Fine.\n", "08_completion/approval.json": `{"action":"approve"}`,
		session.MirrorFile: `{"version":1,"shown_seq":3}`, session.HostLog: "a line\n",
	} {
		if err := s.Replace(rel, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.WriteRuntime(session.Runtime{TmuxSession: "x"}), s.LogCreated(noon), s.Release()); err != nil {
		t.Fatal(err)
	}
	beside := create(t, spec(t, project))
	beside.Release()
	return project, s.Name(), beside.Name()
}

// files lists what a session directory holds, one of the blobs for all of them.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err == nil && e.Type().IsRegular() && (filepath.Dir(rel) != "blobs" || !slices.ContainsFunc(found, func(f string) bool { return filepath.Dir(f) == "blobs" })) {
			found = append(found, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// damages are what may become of a file.
var damages = map[string]func(path string, data []byte) error{
	"gone":  func(path string, _ []byte) error { return os.Remove(path) },
	"empty": func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) },
	"half":  func(path string, data []byte) error { return os.WriteFile(path, data[:len(data)/2], 0o600) },
	"garbage": func(path string, _ []byte) error {
		return os.WriteFile(path, []byte("\x00\xff{[garbage\n\n\x00"), 0o600)
	},
	"zeros": func(path string, data []byte) error { return os.WriteFile(path, make([]byte, len(data)), 0o600) },
	"another": func(path string, _ []byte) error {
		return os.WriteFile(path, []byte("{\"another\": [\"file\"]}\n"), 0o600)
	},
	"twice": func(path string, data []byte) error { return os.WriteFile(path, slices.Concat(data, data), 0o600) },
	"directory": func(path string, _ []byte) error {
		return errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "in"), 0o700))
	},
	"link": func(path string, _ []byte) error {
		return errors.Join(os.Rename(path, path+".moved"), os.Symlink(path+".moved", path))
	},
	"loop":      func(path string, _ []byte) error { return errors.Join(os.Remove(path), os.Symlink(path, path)) },
	"pipe":      func(path string, _ []byte) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) },
	"secret":    func(path string, _ []byte) error { return os.Chmod(path, 0) },
	"read-only": func(path string, _ []byte) error { return os.Chmod(path, 0o400) },
}

// special are the damages after which a file's name stands for something else.
var special = []string{"directory", "link", "loop", "pipe"}

// vital are the files that say what a session is, besides the states; coarse are the
// damages that all others go through.
var (
	vital = []string{
		session.DefinitionFile, session.EventsFile, session.ToolEvents, session.Commands, session.LockFile, session.ToolCursorFile,
	}
	coarse = []string{"gone", "pipe", "garbage", "directory"}
	// finest are the files that go through all damages in a short run, one of each kind.
	finest = []string{session.StateFile, session.DefinitionFile, session.EventsFile}
)

// copyProject copies a project as it is.
func copyProject(t *testing.T, project string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.CopyFS(dir, os.DirFS(project)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Whatever one file of a session has become: nothing panics or waits, other sessions are
// listed, an error names the file and what to do next, and what is not needed to go on
// does not keep a host from it.
func TestDamagedFilesOfASession(t *testing.T) {
	project, name, other := whole(t)
	dir := filepath.Join(session.Dir(project), name)
	for n, rel := range files(t, dir) {
		tried := coarse // on a file of many by which nothing is decided
		if fine(rel) {
			tried = slices.Sorted(maps.Keys(damages))
		} else if testing.Short() && !slices.Contains(vital, rel) {
			tried = coarse[n%len(coarse):][:1]
		}
		for _, damage := range tried {
			do := damages[damage]
			t.Run(rel+" "+damage, func(t *testing.T) {
				if damage == "secret" && os.Geteuid() == 0 {
					t.Skip("nothing is secret to root")
				}
				project := copyProject(t, project)
				path := filepath.Join(session.Dir(project), name, rel)
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := do(path, data); err != nil {
					t.Fatal(err)
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					useDamaged(t, damaged{project: project, name: name, other: other, rel: rel, damage: damage})
				}()
				select {
				case <-done:
				case <-time.After(time.Minute):
					t.Error("somebody waits for a file that has no other end")
					_ = os.Remove(path)
				}
			})
		}
	}
}

// fine reports whether a file goes through all damages.
func fine(rel string) bool {
	if testing.Short() {
		return slices.Contains(finest, rel)
	}
	return strings.Contains(rel, "state.json") || slices.Contains(vital, rel)
}

type damaged struct{ project, name, other, rel, damage string }

// fatal reports whether a host cannot go on, and whether the backup is the way out.
func (d damaged) fatal() (fatal, backup bool) {
	odd := slices.Contains(special, d.damage) || d.damage == "secret"
	changed := odd || d.damage != "read-only"
	shut := d.damage == "read-only" && os.Geteuid() != 0
	switch d.rel {
	case session.StateFile:
		return changed, changed
	case session.DefinitionFile:
		return changed, false
	case session.EventsFile, session.LockFile, session.ToolEvents, session.Commands:
		return odd || shut, false
	}
	return false, false
}

func useDamaged(t *testing.T, d damaged) {
	entries, err := session.List(d.project)
	if err != nil || len(entries) != 2 {
		t.Errorf("listed %d, %v", len(entries), err)
	}
	for _, e := range entries {
		if e.Name == d.other && e.Err != nil {
			t.Errorf("the other session: %v", e.Err)
		}
		_ = e.Condition()
	}
	for _, arg := range []string{"", d.name, "#7"} {
		_ = session.Among(entries, arg)
	}
	dir := filepath.Join(session.Dir(d.project), d.name)
	report := session.CheckDir(dir)
	s, err := session.OpenOn(dir, powertest.New(d.project).Disk()) // which waits for no disk
	if err != nil {
		t.Errorf("open: %v", err)
		return
	}
	defer s.Close()
	err = host(s)
	fatal, backup := d.fatal()
	if fatal != (err != nil) {
		t.Errorf("going on: %v, want an error %v", err, fatal)
	}
	if err == nil {
		return
	}
	if text := err.Error(); !strings.Contains(text, d.rel) || d.rel != session.LockFile && !strings.Contains(text, "agentmux ") {
		t.Errorf("the error does not name the file and what to do: %v", err)
	}
	if d.rel != session.LockFile && !strings.Contains(strings.Join(report.Problems, "\n"), d.rel) {
		t.Errorf("the checker says %v", report.Problems)
	}
	if backup != strings.Contains(err.Error(), "--from-backup") {
		t.Errorf("backup %v: %v", backup, err)
	}
	if backup {
		restore(t, s)
	}
}

// host does what the beginning of a host does, and a tool.
func host(s *session.Session) error {
	if err := s.Lock(0); err != nil {
		return err
	}
	st, err := s.Recover(noon)
	if err != nil {
		return err
	}
	for _, file := range []string{session.ToolEvents, session.Commands} {
		_, _, _ = s.Lines(file, st.ToolCursor, 0)
		_ = s.Append(file, noon, func(session.Tail) (*session.NewLine, error) {
			return &session.NewLine{Tool: "x", Payload: map[string]any{}}, nil
		})
	}
	_ = s.LogCreated(noon)
	_, _, _ = s.ReadRuntime(), session.Holder(s.Dir), session.Running(s.Dir)
	_, _ = s.Classic(st)
	for _, rel := range []string{"02_architecting/architecture.md", "04_planning/plan.yaml"} {
		if _, err := s.ReadArtifact(rel, duty.ArtifactPlan); err != nil {
			return err
		}
	}
	return s.Commit(next(st, orchestrator.EvPaused))
}

// restore takes the backup and goes on.
func restore(t *testing.T, s *session.Session) {
	if err := s.FromBackup(); err != nil {
		t.Errorf("from backup: %v", err)
		return
	}
	st, err := s.Recover(noon)
	if err != nil || st.Seq < 2 {
		t.Errorf("recovered %+v, %v", st, err)
		return
	}
	if err := s.Commit(next(st, orchestrator.EvPaused)); err != nil {
		t.Error(err)
	}
	if err := session.CheckDir(s.Dir).Err(); err != nil {
		t.Errorf("after the backup: %v", err)
	}
}
