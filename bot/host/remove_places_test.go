package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// sibling is another project on the same machine, with a state home in common.
func (r *rig) sibling() *rig {
	other := *r
	other.project = filepath.Join(r.root, "q")
	other.git("init", "-q", "-b", "main")
	other.write("README.md", "# Another\n")
	other.git("add", "-A")
	other.git("commit", "-q", "-m", "one")
	return &other
}

func namedSame(spec *host.PrepareSpec) { spec.Workflow, spec.Name = "quick", "same" }

// TestRemoveLeavesTheSessionOfThatNameInAnotherProject has its coder at work meanwhile.
func TestRemoveLeavesTheSessionOfThatNameInAnotherProject(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	r.script(sc)
	ended := r.prepare(namedSame)
	r.canceled(ended)

	other := r.sibling()
	live := other.prepare(namedSame)
	if filepath.Base(live) != filepath.Base(ended) {
		t.Fatalf("sessions %s and %s", ended, live)
	}
	stop := other.background(host.RunSpec{Dir: live})
	other.eventually("the coder runs", func() bool { return other.started(live, "2.coder.1.1") })
	work := other.state(live).Workspaces["2.1"].Path
	if err := os.WriteFile(filepath.Join(work, "half.txt"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	made := r.state(ended).Workspaces["2.1"].Path
	if _, err := os.Lstat(made); err != nil {
		t.Fatal(err)
	}
	if _, err := r.host.Remove(t.Context(), ended, r.config); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(made); !os.IsNotExist(err) {
		t.Errorf("%s of the removed session: %v", made, err)
	}
	if _, err := os.Lstat(filepath.Join(work, "half.txt")); err != nil {
		t.Errorf("the other project's work: %v", err)
	}
	other.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
}

// TestRemoveOfAnOlderSessionTakesItsOwnWorkspacesOnly has them lie where sessions of that
// name from all projects were put once.
func TestRemoveOfAnOlderSessionTakesItsOwnWorkspacesOnly(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, shared := range map[string]bool{"shared": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			former := filepath.Join(r.root, "s", "workspaces", "same")
			dir := r.older(former)
			preserved := "refs/agentmux/preserved/" + r.key(dir) + "/session"
			foreign := []string{"session-3-abcdef12/work.txt", "session-3-abcdef12.base", "coder-3-abcdef12.making/x"}
			for _, file := range foreign {
				if !shared {
					break
				}
				if err := os.MkdirAll(filepath.Dir(filepath.Join(former, file)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(former, file), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			removed, err := r.host.Remove(t.Context(), dir, r.config)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(removed.Kept, []string{preserved}) || r.gitIn(removed.Repo, "show", preserved+":half.txt") != "half" {
				t.Errorf("kept %q, want %s with half.txt", removed.Kept, preserved)
			}
			var want []string
			if shared {
				want = []string{"coder-3-abcdef12.making", "session-3-abcdef12", "session-3-abcdef12.base"}
			}
			if left := names(t, former); !slices.Equal(left, want) {
				t.Errorf("left %q, want %q", left, want)
			}
			if _, err := os.Lstat(former); (err == nil) != shared {
				t.Errorf("the directory of the name: %v", err)
			}
		})
	}
}

// canceled runs a session that is canceled while its coder is at work.
func (r *rig) canceled(dir string) {
	r.t.Helper()
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the coder runs", func() bool { return r.started(dir, "2.coder.1.1") })
	s, err := stop(engine.Signal{Name: "INT"})
	if err != nil {
		r.t.Fatal(err)
	}
	mustEnd(r.t, s, orchestrator.OutcomeCanceled, "")
}

// older returns a session that was canceled while its coder was at work, as a version left it
// that had one workspace for all work, in a directory of that name.
func (r *rig) older(to string) string {
	r.t.Helper()
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	r.script(sc)
	dir := r.prepare(namedSame)
	r.canceled(dir)
	from := filepath.Dir(r.state(dir).Workspaces["2.1"].Path)
	if err := os.Rename(from, to); err != nil {
		r.t.Fatal(err)
	}
	for _, name := range names(r.t, to) {
		rest, ok := strings.CutPrefix(name, "2.1-")
		if !ok {
			r.t.Fatalf("%s is left, too", name)
		}
		if err := os.Rename(filepath.Join(to, name), filepath.Join(to, "session-2-"+rest)); err != nil {
			r.t.Fatal(err)
		}
	}
	r.edit(filepath.Join(dir, session.StateFile), from+"/2.1-", to+"/session-2-", `"2.1": {`, `"session": {`)
	w := r.state(dir).Workspaces["session"]
	if err := os.WriteFile(filepath.Join(w.Path, "half.txt"), []byte("half"), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return dir
}

// An agent of an older session goes on in the workspace that it had.
func TestAnOlderSessionGoesOnInItsWorkspace(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	dir := r.older(filepath.Join(r.root, "s", "workspaces", "same"))
	r.script(simple())
	s := r.run(host.RunSpec{Dir: dir, Resume: true})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if got := r.git("ls-tree", "-r", "--name-only", s.FeatureBranch); got != "README.md\na.txt\nhalf.txt" {
		t.Errorf("files: %q", got)
	}
	if n := r.count(dir, orchestrator.EvWorkspaceLost); n > 0 {
		t.Errorf("%d workspaces were lost", n)
	}
}

// names lists what is in a directory, nothing if it is not there.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}
