package host_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// conflicting has three coders write one file at the same time, each something else.
func conflicting() scenario {
	files := map[string][]string{}
	for _, n := range []string{"1", "2", "3"} {
		files[n] = []string{"shared.txt=of " + n, "own" + n + ".txt=" + n}
		files["resolve-"+n] = []string{"shared.txt=of all, " + n + " last", "own" + n + ".txt=" + n}
	}
	return scenario{
		Plan: plan("  - {group_id: all, mode: parallel, plans: [{index: 1, name: A}, {index: 2, name: B}, {index: 3, name: C}]}\n",
			"own1.txt", "own2.txt", "own3.txt"),
		Files: files,
	}
}

// TestThreeCodersInConflictAreResolvedOneAtATime goes through to the commit, and then
// removes the session: what lost the conflicts is still there.
func TestThreeCodersInConflictAreResolvedOneAtATime(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.script(conflicting())
	dir := r.prepare(nil)
	s := r.run(host.RunSpec{Dir: dir})
	if s.Outcome != orchestrator.OutcomeDone || r.count(dir, orchestrator.EvMergeConflict) != 2 {
		t.Fatalf("outcome %s (%s), %d conflicts", s.Outcome, s.OutcomeReason, r.count(dir, orchestrator.EvMergeConflict))
	}
	losers := r.oneAtATime(dir)
	if len(losers) != 2 {
		t.Fatalf("resolved: %q", losers)
	}
	want := fmt.Sprintf("README.md own1.txt own2.txt own3.txt shared.txt: of all, %s last", losers[1])
	got := strings.ReplaceAll(r.git("ls-tree", "-r", "--name-only", s.FeatureBranch), "\n", " ") + ": " + r.git("show", s.FeatureBranch+":shared.txt")
	if got != want {
		t.Errorf("in the end %q, want %q", got, want)
	}
	key := r.key(dir)
	removed, err := r.host.Remove(t.Context(), dir, r.config)
	if err != nil || len(removed.Kept) != 2 {
		t.Fatalf("%+v, %v", removed, err)
	}
	for i, n := range slices.Sorted(slices.Values(losers)) {
		if want := "refs/agentmux/preserved/" + key + "/" + n; removed.Kept[i] != want {
			t.Errorf("kept %q, want %q", removed.Kept[i], want)
		}
		if got := r.git("--git-dir="+removed.Repo, "show", removed.Kept[i]+":shared.txt"); got != "of "+n {
			t.Errorf("coder %s made %q", n, got)
		}
	}
	if refs := r.git("--git-dir="+removed.Repo, "for-each-ref", "--format=%(refname)"); strings.Count(refs, filepath.Base(dir)) != 2 {
		t.Errorf("refs that stay:\n%s", refs)
	}
	r.nothingOf(dir)
}

// oneAtATime lists the subplans that were resolved, in order, and fails where two of them
// were at work at once.
func (r *rig) oneAtATime(dir string) []string {
	r.t.Helper()
	sess, err := session.Open(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	events, _, err := sess.Events(0)
	if err != nil {
		r.t.Fatal(err)
	}
	var losers []string
	for _, e := range events {
		started, _ := e.Data.(orchestrator.AgentStartedRecord)
		n, resolves := strings.CutPrefix(started.Task, "resolve-")
		if resolves {
			losers = append(losers, n)
		}
	}
	open := ""
	done := map[string]bool{} // an agent may hand in before its start is recorded
	for _, e := range events {
		switch d := e.Data.(type) {
		case orchestrator.AgentStartedRecord:
			if n, resolves := strings.CutPrefix(d.Task, "resolve-"); !resolves || done[n] {
				continue
			}
			if open != "" {
				r.t.Errorf("%s starts while %s is at it", d.Task, open)
			}
			open = strings.TrimPrefix(d.Task, "resolve-")
		case orchestrator.SubplanDoneRecord:
			done[d.ID] = true
			if d.ID == open {
				open = ""
			}
		}
	}
	return losers
}

// nothingOf fails if anything of a removed session is left on this machine.
func (r *rig) nothingOf(dir string) {
	r.t.Helper()
	name := filepath.Base(dir)
	for _, place := range []string{filepath.Join(r.root, "s", "homes"), filepath.Join(r.root, "s", "workspaces"), filepath.Dir(dir), filepath.Join(r.root, "r")} {
		entries, err := os.ReadDir(place)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			r.t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), name) || filepath.Ext(e.Name()) == ".sock" {
				r.t.Errorf("%s is left in %s", e.Name(), place)
			}
		}
	}
}

// TestRemoveKeepsWorkThatIsNowhereElse ends a session while its second coder is at work.
func TestRemoveKeepsWorkThatIsNowhereElse(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	sc := scenario{
		Plan:  plan("  - {group_id: one, mode: serial, plans: [{index: 1, name: A}, {index: 2, name: B}]}\n", "a.txt", "b.txt"),
		Files: map[string][]string{"1": {"a.txt=first"}}, Hold: map[string]bool{"coder/2": true},
	}
	r.script(sc)
	dir := r.prepare(nil)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the second coder is at work", func() bool { return r.started(dir, "3.coder.2.1") })
	if _, err := r.host.Remove(t.Context(), dir, r.config); !errors.As(err, new(*session.LockedError)) {
		t.Errorf("a running session: %v", err)
	}
	workspace := r.state(dir).Workspaces["3.2"].Path
	if err := os.WriteFile(filepath.Join(workspace, "b.txt"), []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := stop(engine.Signal{Name: "interrupt"}); err != nil || !host.Removable(s) {
		t.Fatalf("phase %s, %v", s.Phase, err)
	}
	nested := filepath.Join(workspace, "nested", ".git")
	if err := os.MkdirAll(nested, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(nested, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	left := new(work.LeftError)
	if _, err := r.host.Remove(t.Context(), dir, r.config); !errors.As(err, &left) || left.Workspace != workspace || len(left.Paths) != 1 {
		t.Errorf("a workspace with a nested repository: %v", err)
	}
	if s := r.state(dir); !host.Removable(s) {
		t.Errorf("a refused removal changed the session: phase %s", s.Phase)
	}
	if err := os.RemoveAll(filepath.Dir(nested)); err != nil {
		t.Fatal(err)
	}
	key := r.key(dir)
	removed, err := r.host.Remove(t.Context(), dir, r.config)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"integrated": "a.txt=first", "3.2": "b.txt=half of it"}
	for ref, content := range want {
		file, text, _ := strings.Cut(content, "=")
		full := "refs/agentmux/preserved/" + key + "/" + ref
		if got := r.git("--git-dir="+removed.Repo, "show", full+":"+file); got != text || !slices.Contains(removed.Kept, full) {
			t.Errorf("%s has %q, want %q; kept %q", full, got, text, removed.Kept)
		}
	}
	if len(removed.Kept) != len(want) {
		t.Errorf("kept %q", removed.Kept)
	}
	r.nothingOf(dir)
}
