package gitrepo_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

func TestProtocol(t *testing.T) {
	t.Run("C12 integrate killed at each git step", func(t *testing.T) {
		prepare := func(r *repotest.Rig) {
			one, two := r.Workspace("1"), r.Workspace("2")
			repotest.Write(r.T, one, map[string]string{"a": "one\n2\n3\n"})
			repotest.Write(r.T, two, map[string]string{"b": "two\n"})
			if _, err := r.Integrate(one, "l-1", r.Base); err != nil {
				r.T.Fatal(err)
			}
		}
		repotest.Killed(t, prepare, func(t *testing.T, r *repotest.Rig) (string, error) {
			s, err := workspace.Take(t.Context(), r.Store, r.Spec(filepath.Join(r.State, "workspaces", "s", "2")))
			if err != nil {
				return "", err
			}
			head := repotest.Git(t, r.Store.Dir(), "rev-list", "--min-parents=1", "--max-count=1", "--grep=l-1", gitrepo.IntegrationRef("s1"))
			res, err := r.Store.Integrate(t.Context(), gitrepo.IntegrateSpec{
				Session: "s1", Launch: "l-2", Task: "2", Tree: s.Tree, Base: r.Base, Head: head,
				Owned: []string{"a"}, Author: repotest.Someone, Date: repotest.Date,
			})
			moves := repotest.Git(t, r.Store.Dir(), "rev-list", "--count", gitrepo.IntegrationRef("s1"))
			return fmt.Sprint(res, " ", moves), err
		})
	})
}

// TestConflictKilledAtEachGitStep takes a conflict up to the ref that keeps its work.
func TestConflictKilledAtEachGitStep(t *testing.T) {
	prepare := func(r *repotest.Rig) {
		one := (&rig{r}).coder("1", edit{files: map[string]string{"a": "one\n"}})
		(&rig{r}).coder("2", edit{files: map[string]string{"a": "two\n", "own": "two\n"}})
		if _, err := r.Integrate(one, "l-1", r.Base); err != nil {
			r.T.Fatal(err)
		}
	}
	repotest.Killed(t, prepare, func(t *testing.T, r *repotest.Rig) (string, error) {
		s, err := workspace.Take(t.Context(), r.Store, r.Spec(filepath.Join(r.State, "workspaces", "s", "2")))
		if err != nil {
			return "", err
		}
		res, err := r.Store.Integrate(t.Context(), gitrepo.IntegrateSpec{
			Session: "s1", Launch: "l-2", Task: "2", Tree: s.Tree, Base: r.Base, Head: repotest.Git(t, r.Store.Dir(), "rev-parse", gitrepo.IntegrationRef("s1")),
			Author: repotest.Someone, Date: repotest.Date,
		})
		if err != nil {
			return "", err
		}
		_, err = r.Store.Preserve(t.Context(), gitrepo.PreserveSpec{
			Session: "s1", Task: "2", Tree: s.Tree, Base: r.Base, Author: repotest.Someone, Date: repotest.Date,
		})
		if err != nil {
			return "", err
		}
		refs := repotest.Git(t, r.Store.Dir(), "for-each-ref", "--format=%(refname) %(objectname)", "refs/agentmux/preserved", "refs/agentmux/integration")
		return fmt.Sprint(res.Conflicts, " ", refs), nil
	})
}
