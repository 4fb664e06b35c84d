package session_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// What a writer sees of its file before it decides.
func TestTailOfALineFile(t *testing.T) {
	for _, file := range []string{session.ToolEvents, session.Commands} {
		t.Run(file, func(t *testing.T) {
			s := fresh(t)
			text := good + "\n\n" + `{"tool":"b","timestamp":"soon"}` + "\nnonsense\n"
			write(t, s.Path(file), text)
			st := state(t, s)
			cursor := orchestrator.Cursor{Offset: int64(len(good)) + 1}
			if file == session.ToolEvents {
				st.ToolCursor = cursor
			} else {
				st.CommandCursor = cursor
			}
			data, err := st.Encode()
			if err != nil {
				t.Fatal(err)
			}
			write(t, s.Path(session.StateFile), string(data))
			refused := errors.New("refused")
			err = s.Append(file, noon, func(tail session.Tail) (*session.NewLine, error) {
				all, err := tail.All()
				if err != nil || len(all) != 3 || all[0].At.Format(time.RFC3339) != "2026-01-15T11:05:12Z" || !all[1].At.IsZero() || all[2].Corrupt == "" {
					t.Errorf("%s: all %+v, %v", file, all, err)
				}
				unread, err := tail.Unread()
				if err != nil || len(unread) != 2 || unread[0].Tool != "b" {
					t.Errorf("%s: unread %+v, %v", file, unread, err)
				}
				last, err := tail.Last(5)
				if err != nil || len(last) != 1 || last[0].Corrupt == "" {
					t.Errorf("%s: last %+v, %v", file, last, err)
				}
				return nil, refused
			})
			if err != refused || read(t, s, file) != text {
				t.Errorf("%s: %v, %q", file, err, read(t, s, file))
			}
			for what, line := range map[string]*session.NewLine{
				"too long": {Tool: "x", Payload: strings.Repeat("x", session.MaxPayload+1)},
				"no JSON":  {Tool: "x", Payload: func() {}},
			} {
				err := s.Append(file, noon, func(session.Tail) (*session.NewLine, error) { return line, nil })
				if err == nil || what == "too long" && !errors.Is(err, session.ErrTooLong) || read(t, s, file) != text {
					t.Errorf("%s, %s: %v", file, what, err)
				}
			}
			write(t, s.Path(session.StateFile), "{")
			if err := s.Append(file, noon, nil); err == nil || read(t, s, file) != text {
				t.Errorf("%s: a line for a state nobody can read: %v", file, err)
			}
		})
	}
}

func TestFilesThatSettle(t *testing.T) {
	s := fresh(t)
	stable := s.NewStable()
	look := func(at time.Time, from time.Time) bool {
		t.Helper()
		ok, err := stable.Look("design.md", at, from)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	now := time.Now()
	if look(now, time.Time{}) || stable.Settling("design.md", now) {
		t.Error("a missing file is stable or settling")
	}
	write(t, s.Path("design.md"), "# D\n")
	if look(now, time.Time{}) || !stable.Settling("design.md", now.Add(time.Second)) || stable.Settling("design.md", now.Add(3*time.Second)) {
		t.Error("at first sight a file is settling, for a moment")
	}
	if !look(now.Add(time.Second), time.Time{}) || look(now.Add(2*time.Second), now.Add(time.Hour)) {
		t.Error("a file that stands still is stable, unless it is from before")
	}
	write(t, s.Path("design.md"), "# Design\n")
	if look(now.Add(2*time.Second), time.Time{}) {
		t.Error("a file that changed is stable")
	}
	os.Remove(s.Path("design.md"))
	if err := os.Symlink("/etc/hostname", s.Path("design.md")); err != nil {
		t.Fatal(err)
	}
	if look(now.Add(9*time.Second), time.Time{}) {
		t.Error("a symbolic link is stable")
	}
}

func TestPathsOutsideOfTheSessionAreRefused(t *testing.T) {
	s := fresh(t)
	for _, rel := range []string{"../x", "/etc/x", "a/../../x", ""} {
		for name, err := range map[string]error{
			"dirs": s.EnsureDirs(rel), "view": s.View(rel, nil), "mark": s.Mark(rel), "aside": s.MoveAside(1, rel),
			"orphan": s.Orphan(rel), "remove": s.Remove(rel), "replace": s.Replace(rel, nil),
		} {
			if err == nil {
				t.Errorf("%s of %q was done", name, rel)
			}
		}
	}
	for _, sha := range []string{"../state.json", "", strings.Repeat("A", 64)} {
		if _, err := s.Blob(sha); err == nil {
			t.Errorf("read blob %q", sha)
		}
		if err := s.WriteBlob("a.md", sha); err == nil {
			t.Errorf("wrote blob %q", sha)
		}
	}
	if _, err := s.ReadArtifact("../x", duty.ArtifactText); err == nil {
		if a, _ := s.ReadArtifact("../x", duty.ArtifactText); len(a.Problems) == 0 {
			t.Error("read an artifact outside")
		}
	}
	step := next(state(t, s), orchestrator.EvPaused)
	step.Blobs = map[string][]byte{strings.Repeat("0", 64): []byte("not its content")}
	if err := s.Commit(step); err == nil {
		t.Error("kept a text under another hash")
	}
}

// What effects do to files can be done twice.
func TestFilesOfEffectsTwice(t *testing.T) {
	s := fresh(t)
	for range 2 {
		if err := errors.Join(s.Mark("06_implementation/done_1"), s.Remove("gone.md", "06_implementation/never/gone.md"),
			s.MoveAside(3, "05_design/design.md"), s.Orphan("msgs/a.md")); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Replace("05_design/design.md", []byte("old")), s.Replace("msgs/a.md", []byte("m"))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := errors.Join(s.MoveAside(3, "05_design/design.md"), s.Orphan("msgs/a.md"), s.Remove("06_implementation/done_1")); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, s, "05_design/design.stale-3.md") != "old" || read(t, s, "msgs/a-orphan.md") != "m" {
		t.Error("the files are not where they were moved")
	}
	for _, rel := range []string{"05_design/design.md", "msgs/a.md", "06_implementation/done_1"} {
		if _, err := os.Lstat(s.Path(rel)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", rel, err)
		}
	}
}

func TestASessionOfAgents(t *testing.T) {
	sp := spec(t, t.TempDir())
	sp.Definition, sp.Request, sp.Agents, sp.State.Kind = nil, "", []byte("session: x\nagents: [{name: a, branch: b, task: t}]\n"), orchestrator.KindAgents
	sp.Context = "mine\n"
	s := create(t, sp)
	st := state(t, s)
	if st.Kind != orchestrator.KindAgents || st.Phase != "implementing" || !strings.HasPrefix(read(t, s, session.AgentsFile), "session: x\n") || read(t, s, session.ContextFile) != "mine\n" {
		t.Errorf("state %+v", st)
	}
	for _, dir := range []string{session.SignalsDir, session.PlansDir, session.ChangelogsDir} {
		if info, err := os.Stat(s.Path(dir)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if def, err := s.Definition(); err != nil || def.Name != orchestrator.KindAgents || def.Team == nil || def.Team.Agents[0].Branch != "b" {
		t.Errorf("definition %+v, %v", def, err)
	}
	write(t, s.Path(session.StateFile), strings.Replace(edited(read(t, s, session.StateFile)), `"implementing"`, `"planning"`, 1))
	var corrupt *session.CorruptError
	if _, err := s.ReadState(); !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "agents session") {
		t.Errorf("another phase: %v", err)
	}
}

func TestWhatAPersonIsTold(t *testing.T) {
	project := t.TempDir()
	sp := spec(t, project)
	sp.Request = " \n"
	if _, err := session.Create(sp); !errors.Is(err, session.ErrBlankRequest) {
		t.Errorf("blank request: %v", err)
	}
	sp = spec(t, project)
	sp.Definition = []byte("version: 7\n")
	if _, err := session.Create(sp); err == nil || !strings.Contains(err.Error(), "definition.yaml") {
		t.Errorf("bad definition: %v", err)
	}
	for _, c := range []struct {
		err  error
		want []string
	}{
		{&session.NotFoundError{}, []string{"no sessions here", "agentmux issue N"}},
		{&session.NotFoundError{Unfit: 1}, []string{"no session here", "agentmux sessions"}},
		{&session.NotFoundError{What: "x", Unfit: 2}, []string{"2 sessions", `"x"`, "agentmux sessions"}},
		{&session.NotFoundError{What: "x"}, []string{`"x"`, "agentmux sessions"}},
		{&session.AmbiguousError{Candidates: []string{"a", "b"}}, []string{"several", "a, b"}},
		{&session.AmbiguousError{What: "al", Candidates: []string{"a", "b"}}, []string{`"al"`, "a, b"}},
		{&session.NewerError{Name: "n"}, []string{"n ", "newer agentmux"}},
		{&session.NameError{Name: "a.b"}, []string{`"a.b"`}},
		{&session.LockedError{Name: "n"}, []string{"another process", "agentmux attach n"}},
		{&session.CorruptError{Name: "n", Reason: "why", Next: "do this"}, []string{"n is corrupt: why; do this"}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.err.Error(), want) {
				t.Errorf("%T says %q, want %q", c.err, c.err, want)
			}
		}
	}
	s := create(t, spec(t, project))
	for want, edit := range map[string]func(*orchestrator.State){
		"needs_human": func(c *orchestrator.State) { c.Outcome = "needs_human" }, "paused": func(c *orchestrator.State) { c.Paused = true },
		"running": func(*orchestrator.State) {},
	} {
		c := state(t, s).Clone()
		edit(c)
		if got := (session.Entry{State: c, Running: true}).Condition(); got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
	}
	if got := (session.Entry{Err: errors.New("no such disk")}).Condition(); got != "corrupt: no such disk" {
		t.Errorf("condition %q", got)
	}
	if err := session.NoteCompletion(project, []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if data, err := session.ReadFile(session.LastCompletion(project)); err != nil || string(data) != "{}\n" {
		t.Errorf("last completion %q, %v", data, err)
	}
	if err := os.MkdirAll(s.Project()+"/.agentmux/.sessions/empty", 0o700); err != nil {
		t.Fatal(err)
	}
	entries, err := session.List(project)
	if err != nil || len(entries) != 2 || !strings.Contains(fmt.Sprint(entries[0].Condition(), entries[1].Condition()), "corrupt: no state.json") {
		t.Errorf("listed %+v, %v", entries, err)
	}
	if e, err := session.Find(project, "empty", nil); err != nil || !strings.HasSuffix(e.Err.Error(), "no state.json and no state.json.bak; start again with agentmux run or issue") {
		t.Errorf("found %+v, %v", e, err)
	}
	if _, err := session.List(s.Path(session.StateFile)); err == nil {
		t.Error("a file was listed")
	}
}

// oddRecord cannot be written.
type oddRecord struct{ F func() }

func (oddRecord) Type() string { return orchestrator.EvPaused }

func TestCommitOfWhatCannotBeWritten(t *testing.T) {
	s := fresh(t)
	st := state(t, s)
	if !s.Locked() {
		t.Error("not locked")
	}
	if err := s.Commit(decide.Step{}); err != nil {
		t.Errorf("a step that changed nothing: %v", err)
	}
	odd := next(st, orchestrator.EvPaused)
	odd.Events[0].Data = oddRecord{F: func() {}}
	large := next(st, orchestrator.EvPaused)
	large.State.IssueTitle = orchestrator.Optional(strings.Repeat("x", orchestrator.MaxStateBytes))
	for name, step := range map[string]decide.Step{"a record": odd, "a state over 8 MiB": large} {
		if err := s.Commit(step); err == nil || state(t, s).Seq != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
	silent := next(st, orchestrator.EvPaused)
	silent.Events, silent.State.Seq = nil, 2
	silent.State.Paused = true
	commit(t, s, silent)
	if got := state(t, s); !got.Paused || got.Seq != 2 {
		t.Errorf("a change without a record: %+v", got)
	}
}

// The records can only be read while the state can, and from their start when they shrank.
func TestFollowerOfDamagedFiles(t *testing.T) {
	s := fresh(t)
	st := commit(t, s, next(state(t, s), orchestrator.EvPaused))
	f := s.Follow(0)
	if records, err := f.Read(); err != nil || len(records) != 3 {
		t.Fatalf("%+v, %v", records, err)
	}
	whole := read(t, s, session.EventsFile)
	last := strings.LastIndex(strings.TrimSuffix(whole, "\n"), "\n") + 1
	st = commit(t, s, next(st, orchestrator.EvUnpaused))
	write(t, s.Path(session.EventsFile), strings.Replace(read(t, s, session.EventsFile)[last:], `"seq":3`, `"seq":-3`, 1))
	if records, err := f.Read(); err != nil || len(records) != 1 || records[0].Seq != 4 || f.Bad != 1 {
		t.Errorf("after a loss: %+v, %d bad, %v", records, f.Bad, err)
	}
	commit(t, s, next(st, orchestrator.EvPaused))
	os.Remove(s.Path(session.EventsFile))
	if records, err := f.Read(); err != nil || len(records) != 0 {
		t.Errorf("without records: %+v, %v", records, err)
	}
	if err := syscall.Mkfifo(s.Path(session.EventsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(); err == nil || !strings.Contains(err.Error(), "events.jsonl") {
		t.Errorf("a pipe: %v", err)
	}
	write(t, s.Path(session.StateFile), "{")
	if _, err := f.Read(); err == nil || !strings.Contains(err.Error(), "state.json") {
		t.Errorf("a state nobody can read: %v", err)
	}
	os.Remove(s.Path(session.StateFile))
	if _, err := f.Read(); err == nil {
		t.Error("records without a state")
	}
}

func TestADirectoryWhoseNameSteersATerminalIsNotListed(t *testing.T) {
	s := create(t, spec(t, t.TempDir()))
	for _, name := range []string{"a\x1b[2J", "b\nc", "d\u202ee"} {
		if err := os.Mkdir(session.Dir(s.Project())+"/"+name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := session.List(s.Project())
	if err != nil || len(entries) != 1 || entries[0].Name != s.Name() {
		t.Errorf("listed: %+v, %v", entries, err)
	}
}
