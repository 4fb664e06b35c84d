package checkpoint_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/checkpoint"
)

// Attack 37: the checkpoint of a run of an agents file has the commits of its agents for parents. It is continued only for the
// issues that are claimed, and if the output gate of this machine takes those commits.
func TestSecurity37TheCommitsOfAgentsAreJudgedHere(t *testing.T) {
	t.Parallel()
	hub := newHub(t)
	m, other := newMachine(t, hub, "h_1"), newMachine(t, hub, "h_2")
	f := m.whole()
	f.manifest.Issue, f.manifest.Issues = 0, []int{3, 9}
	f.parents = append(f.parents, f.manifest.Base)
	m.forge(f, ref)
	for name, c := range map[string]struct {
		issues []int
		found  []string
		want   string // in the refusal; empty = it is taken
	}{
		"as it was pushed":      {issues: []int{3, 9}},
		"other issues":          {issues: []int{3}, want: "work for the issues [3 9], not [3]"},
		"no issues":             {want: "work for the issues [3 9], not []"},
		"something in a commit": {issues: []int{3, 9}, found: []string{"the commit x: path.blocked"}, want: "path.blocked"},
	} {
		var judged []string
		got, err := checkpoint.Fetch(t.Context(), other.store, other.server(), checkpoint.Wanted{
			Session: "s", Issues: c.issues, Keeps: func(string) bool { return true }, Within: f.manifest.Base,
			Judge: func(_ context.Context, base string, parents []string) ([]string, error) {
				judged = append([]string{base}, parents...)
				return c.found, nil
			},
		})
		var refused *checkpoint.RefusedError
		switch {
		case c.want == "" && (err != nil || !slices.Equal(got.Parents, f.parents) || !slices.Equal(judged, append([]string{f.manifest.Base}, f.parents...))):
			t.Errorf("%s: %+v, judged %v, %v", name, got, judged, err)
		case c.want != "" && (!errors.As(err, &refused) || !strings.Contains(strings.Join(refused.Problems, "\n"), c.want)):
			t.Errorf("%s: %v", name, err)
		}
	}
}
