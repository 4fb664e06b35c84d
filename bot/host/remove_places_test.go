package host_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/orchestrator"
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
	r := newRig(t, "")
	r.script(simple())
	ended := r.prepare(namedSame)
	mustEnd(t, r.run(host.RunSpec{Dir: ended}), orchestrator.OutcomeDone, "")

	other := r.sibling()
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	other.script(sc)
	live := other.prepare(namedSame)
	if filepath.Base(live) != filepath.Base(ended) {
		t.Fatalf("sessions %s and %s", ended, live)
	}
	stop := other.background(host.RunSpec{Dir: live})
	other.eventually("the coder runs", func() bool { return other.started(live, "2.coder.1.1") })
	work := other.state(live).Workspaces["session"].Path
	if err := os.WriteFile(filepath.Join(work, "half.txt"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	made := r.state(ended).Workspaces["session"].Path
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
	for name, shared := range map[string]bool{"shared": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			r.script(simple())
			dir := r.prepare(namedSame)
			s := r.run(host.RunSpec{Dir: dir})
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			former := filepath.Join(r.root, "s", "workspaces", "same")
			r.moveWorkspaces(dir, former)
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
			if _, err := r.host.Remove(t.Context(), dir, r.config); err != nil {
				t.Fatal(err)
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

// moveWorkspaces puts those of an ended session where older ones are.
func (r *rig) moveWorkspaces(dir, to string) {
	r.t.Helper()
	var from string
	for w := range maps.Values(r.state(dir).Workspaces) {
		from = filepath.Dir(w.Path)
	}
	if err := os.Rename(from, to); err != nil {
		r.t.Fatal(err)
	}
	if len(names(r.t, to)) == 0 {
		r.t.Fatal("the session has no workspace left")
	}
	file := filepath.Join(dir, session.StateFile)
	data, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(unsealed(strings.ReplaceAll(string(data), from+"/", to+"/"))), 0o600); err != nil {
		r.t.Fatal(err)
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
