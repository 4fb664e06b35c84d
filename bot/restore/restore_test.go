package restore_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/restore"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

var (
	base   = strings.Repeat("b", 40)
	commit = strings.Repeat("c", 40)
	began  = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
)

// fetched is a checkpoint of a session that another machine has made, and its state there.
func fetched(t *testing.T) (*checkpoint.Fetched, *orchestrator.State) {
	t.Helper()
	_, definition, problems := workflows.Load("quick", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: began, Name: "s", Request: "x", Definition: definition,
		State: orchestrator.State{Workflow: "quick", Interactive: true, IssueNumber: 7, Repo: "octo/widgets", BaseBranch: "main", BaseSHA: base, Settings: orchestrator.DefaultSettings()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	s, err := sess.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	files, left, err := sess.Kept(1 << 20)
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	files[session.StateBackup] = files[session.StateFile]
	return &checkpoint.Fetched{
		Manifest: checkpoint.Manifest{
			Session: orchestrator.PublicID(s.SessionID, s.Identity), Repo: "octo/widgets", Issue: 7, Host: "h_0123456789abcdef", At: began.Add(time.Minute),
			Record: s.Seq, Base: base, LeftOut: []string{"work/2.1/x: is a link"},
			Work: map[string]checkpoint.Work{"2.1": {Base: base, Changed: map[string]string{"a": "1"}}, "2.2": {Base: base}},
		},
		Commit: commit, Session: files, Trees: map[string]string{"2.1": "t1", "2.2": "t2"},
	}, s
}

// publish restores it into a project, and returns what its note was told.
func publish(project string, f *checkpoint.Fetched) (dir string, noted []string, err error) {
	dir, err = restore.Publish(restore.Spec{
		Project: project, From: f, Host: claim.HostID("h_fedcba9876543210"), Now: began.Add(3 * time.Minute), Prefix: "agentmux/",
		Note: func(s *orchestrator.State, dir string) error {
			noted = append(noted, s.Noted, dir)
			return nil
		},
	})
	return dir, noted, err
}

// Row R7: a checkpoint becomes the session that it is of, with a secret of this machine.
func TestProtocolR7ASessionIsMadeFromItsCheckpoint(t *testing.T) {
	t.Parallel()
	f, former := fetched(t)
	former.Workspaces["2.1"] = orchestrator.Workspace{Path: "/etc", Base: base}
	f.Session[session.StateFile], _ = former.Encode()
	// Records that the state does not know of are cut: they were made later.
	f.Session[session.EventsFile] = append(f.Session[session.EventsFile], "{\"seq\":3,\"type\":\"paused\"}\n"...)
	project := t.TempDir()
	dir, noted, err := publish(project, f)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.CheckDir(dir).Err(); err != nil {
		t.Error(err)
	}
	sess, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sess.ReadState()
	if err != nil || s.Identity != former.Identity || s.FeatureDir != dir || s.Noted == former.Noted || s.Interactive || !slices.Equal(noted, []string{s.Noted, dir}) {
		t.Errorf("state of %s at %s, noted %v, %v", s.Identity, s.FeatureDir, noted, err)
	}
	if w, ok := s.Workspaces["2.1"]; !ok || w.Path != "" {
		t.Errorf("a workspace of the other machine is taken for one here: %+v", w)
	}
	if note, err := claim.ReadNote(dir); err != nil || note.Host != "h_fedcba9876543210" || note.Checkpoint != commit || len(note.Claims) > 0 {
		t.Errorf("claim.json %+v, %v", note, err)
	}
	n, owed, err := restore.Read(sess)
	if err != nil || !owed || n.Host != f.Host || n.Checkpoint != commit || n.Age != 120 || !maps.Equal(n.Work, f.Trees) || !slices.Equal(n.Begun, []string{"2.1"}) || len(n.LeftOut) != 1 {
		t.Errorf("restored.json %+v, owed %v, %v", n, owed, err)
	}
	committed := 0
	commit := n.Settling(dir, func(*orchestrator.State) { committed++ })
	commit(s)
	commit(s)
	if again, owed, err := restore.Read(sess); err != nil || owed || again.Checkpoint != n.Checkpoint || committed != 2 {
		t.Errorf("a later start takes the work from the checkpoint once more: %+v, %v, told of %d commits", again, err, committed)
	}
	if _, err := os.Lstat(sess.Path(session.StateBackup)); err == nil {
		t.Error("the backup bears the secret of the other machine")
	}
	if session.Running(dir) {
		t.Error("its lock is held")
	}
	if _, _, err := publish(project, f); !errors.Is(err, restore.ErrThere) {
		t.Errorf("the second time: %v", err)
	}
}

// Attack 37: a checkpoint whose digests are right, with a state that is not the session's, is refused by name, and nothing
// of it is to be seen.
func TestSecurity37AForgedStateIsRefused(t *testing.T) {
	t.Parallel()
	changed := func(do func(*orchestrator.State)) func(*checkpoint.Fetched, *orchestrator.State) {
		return func(f *checkpoint.Fetched, s *orchestrator.State) {
			do(s)
			f.Session[session.StateFile], _ = s.Encode()
		}
	}
	for name, c := range map[string]struct {
		do   func(*checkpoint.Fetched, *orchestrator.State)
		want string
	}{
		"no state":          {func(f *checkpoint.Fetched, _ *orchestrator.State) { delete(f.Session, session.StateFile) }, "lacks the session's state"},
		"a cut state":       {func(f *checkpoint.Fetched, _ *orchestrator.State) { f.Session[session.StateFile] = []byte("{\"schema") }, "state.json"},
		"a newer schema":    {changed(func(s *orchestrator.State) { s.SchemaVersion++ }), "newer"},
		"another session":   {changed(func(s *orchestrator.State) { s.Identity = strings.Repeat("0", 16) }), "has the session s-0000000000000000"},
		"another name":      {changed(func(s *orchestrator.State) { s.SessionID = "../s" }), "has the session ../s-"},
		"another issue":     {changed(func(s *orchestrator.State) { s.IssueNumber = 8 }), "has the issue 8, not 7"},
		"another project":   {changed(func(s *orchestrator.State) { s.Repo = "octo/gears" }), "has the repository octo/gears"},
		"another base":      {changed(func(s *orchestrator.State) { s.BaseSHA = commit }), "has the base " + commit},
		"other integration": {changed(func(s *orchestrator.State) { s.Integrated.Commit = commit }), "has finished the commits"},
		"the base's branch": {changed(func(s *orchestrator.State) { s.FeatureBranch = s.BaseBranch }), `its branch is "main"`},
		"another branch":    {changed(func(s *orchestrator.State) { s.FeatureBranch = "release" }), `its branch is "release"`},
		"a directory of others": {changed(func(s *orchestrator.State) {
			s.Workspaces["2.1"] = orchestrator.Workspace{Base: "/../../"}
		}), "has the workspace 2.1 at /../../, not " + base},
		"a push elsewhere": {changed(func(s *orchestrator.State) {
			s.Pending = append(s.Pending, orchestrator.Effect{Type: orchestrator.EffPush, Key: "push@0", Args: orchestrator.Args{Branch: "main"}})
		}), `it owes the branch "main"`},
		"no host's":         {func(f *checkpoint.Fetched, _ *orchestrator.State) { f.Host = "h_1 <b>" }, "is not a host"},
		"older than itself": {func(f *checkpoint.Fetched, _ *orchestrator.State) { f.Record = 99 }, "older than itself"},
		"other records": {func(f *checkpoint.Fetched, _ *orchestrator.State) {
			f.Session[session.EventsFile] = bytes.Replace(f.Session[session.EventsFile], []byte(`"seq":2`), []byte(`"seq":5`), 1)
		}, "record"},
		"a step of none": {changed(func(s *orchestrator.State) { s.Paused, s.Held.Outcome = true, "nonsense" }), `ends with "nonsense"`},
		"another phase":  {changed(func(s *orchestrator.State) { s.Phase = "reviewing" }), "phase"},
		"another workflow": {func(f *checkpoint.Fetched, _ *orchestrator.State) {
			f.Session[session.DefinitionFile] = append(f.Session[session.DefinitionFile], '\n')
		}, "is not the one of its base commit"},
		"a workflow of its own": {changed(func(s *orchestrator.State) { s.Workflow = "feature" }), `its workflow "feature" is not the one of its base commit`},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := fetched(t)
			c.do(f, s)
			project := t.TempDir()
			dir, noted, err := publish(project, f)
			var refused *checkpoint.RefusedError
			if !errors.As(err, &refused) || dir != "" || noted != nil || !strings.Contains(strings.Join(refused.Problems, "\n"), c.want) {
				t.Errorf("%q, noted %v: %v", dir, noted, err)
			}
			if left, _ := filepath.Glob(filepath.Join(session.Dir(project), "s*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// Attack 37: a gate that comes along is of another machine, whatever its state says of it, and so are the commands up to there.
func TestSecurity37AGateComesAlong(t *testing.T) {
	t.Parallel()
	f, former := fetched(t)
	former.Gate = &orchestrator.Gate{Name: orchestrator.GatePlan, OpenedAt: orchestrator.At(began)}
	former.Seq++
	f.Session[session.StateFile], _ = former.Encode()
	f.Session[session.EventsFile] = append(f.Session[session.EventsFile], fmt.Sprintf(
		"{\"seq\":%d,\"visit\":1,\"ts\":\"2026-11-21T10:00:00Z\",\"type\":\"gate_opened\",\"phase\":%q,\"data\":{\"digest\":\"\",\"gate\":\"plan\"}}\n", former.Seq, former.Phase)...)
	f.Session[session.Commands] = []byte("{}\n")
	dir, _, err := publish(t.TempDir(), f)
	if err != nil {
		t.Fatal(err)
	}
	sess, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := sess.ReadState(); err != nil || s.Gate == nil || s.Gate.Brought != 4 {
		t.Errorf("%+v, %v", s.Gate, err)
	}
}
