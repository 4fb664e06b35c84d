package gitrepo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

// crashingGit puts a git into PATH that fails from its n-th call on, before or after
// doing its work. reached reports whether the n-th call came.
func crashingGit(t *testing.T, n int, after bool) (reached func() bool) {
	t.Helper()
	dir := t.TempDir()
	// Some calls run side by side, so each takes its number by making a file.
	script := fmt.Sprintf(`#!/bin/sh
n=1; while ! (set -C; : >%[1]s/call$n) 2>/dev/null; do n=$((n+1)); done
if [ $n -gt %[2]d ]; then exit 137; fi
if [ $n -eq %[2]d ]; then if %[3]v; then %[4]s "$@" >/dev/null 2>&1; fi; exit 137; fi
exec %[4]s "$@"
`, dir, n, after, realGit)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() bool {
		_, err := os.Stat(filepath.Join(dir, fmt.Sprintf("call%d", n)))
		return err == nil
	}
}

// killed runs do with every git call of it failing in turn, and then again whole.
func killed(t *testing.T, prepare func(r *rig), do func(t *testing.T, r *rig) (result string, err error)) {
	t.Helper()
	start := func(t *testing.T) *rig {
		r := newRig(t, map[string]string{"a": "1\n2\n3\n", "b": "b\n"})
		prepare(r)
		return r
	}
	want, err := do(t, start(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []bool{false, true} {
		for n, more := 1, true; more; n++ {
			t.Run(fmt.Sprintf("call %d, after %v", n, after), func(t *testing.T) {
				r := start(t)
				path := os.Getenv("PATH")
				reached := crashingGit(t, n, after)
				got, err := do(t, r)
				t.Setenv("PATH", path)
				if more = reached(); !more {
					return
				}
				if err == nil && (!after || got != want) { // one whose work is seen to be done may have failed
					t.Fatalf("the failing call was not noticed: %q", got)
				}
				got, err = do(t, r)
				if err != nil || got != want {
					t.Errorf("repeated: %q, %v; want %q", got, err, want)
				}
			})
		}
	}
}

func TestProtocol(t *testing.T) {
	t.Run("C12 integrate killed at each git step", func(t *testing.T) {
		prepare := func(r *rig) {
			one, two := r.workspace("1"), r.workspace("2")
			write(r.t, one, map[string]string{"a": "one\n2\n3\n"})
			write(r.t, two, map[string]string{"b": "two\n"})
			if _, err := r.integrate(one, "l-1", r.base); err != nil {
				r.t.Fatal(err)
			}
		}
		killed(t, prepare, func(t *testing.T, r *rig) (string, error) {
			s, err := r.host.Snapshot(t.Context(), r.spec(filepath.Join(r.state, "workspaces", "s", "2")))
			if err != nil {
				return "", err
			}
			head := git(t, r.host.Dir(), "rev-list", "--min-parents=1", "--max-count=1", "--grep=l-1", gitrepo.IntegrationRef("s1"))
			res, err := r.host.Integrate(t.Context(), gitrepo.IntegrateSpec{
				Session: "s1", Launch: "l-2", Task: "2", Tree: s.Tree, Base: r.base, Head: head,
				Owned: []string{"a"}, Author: someone, Date: aDate,
			})
			moves := git(t, r.host.Dir(), "rev-list", "--count", gitrepo.IntegrationRef("s1"))
			return fmt.Sprint(res, " ", moves), err
		})
	})
}

// TestConflictKilledAtEachGitStep takes a conflict up to the ref that keeps its work.
func TestConflictKilledAtEachGitStep(t *testing.T) {
	prepare := func(r *rig) {
		one := r.coder("1", edit{files: map[string]string{"a": "one\n"}})
		r.coder("2", edit{files: map[string]string{"a": "two\n", "own": "two\n"}})
		if _, err := r.integrate(one, "l-1", r.base); err != nil {
			r.t.Fatal(err)
		}
	}
	killed(t, prepare, func(t *testing.T, r *rig) (string, error) {
		s, err := r.host.Snapshot(t.Context(), r.spec(filepath.Join(r.state, "workspaces", "s", "2")))
		if err != nil {
			return "", err
		}
		res, err := r.host.Integrate(t.Context(), gitrepo.IntegrateSpec{
			Session: "s1", Launch: "l-2", Task: "2", Tree: s.Tree, Base: r.base, Head: git(t, r.host.Dir(), "rev-parse", gitrepo.IntegrationRef("s1")),
			Author: someone, Date: aDate,
		})
		if err != nil {
			return "", err
		}
		_, err = r.host.Preserve(t.Context(), gitrepo.PreserveSpec{
			Session: "s1", Task: "2", Tree: s.Tree, Base: r.base, Author: someone, Date: aDate,
		})
		if err != nil {
			return "", err
		}
		refs := git(t, r.host.Dir(), "for-each-ref", "--format=%(refname) %(objectname)", "refs/agentmux/preserved", "refs/agentmux/integration")
		return fmt.Sprint(res.Conflicts, " ", refs), nil
	})
}
