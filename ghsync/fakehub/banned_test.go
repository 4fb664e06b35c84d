package fakehub_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

func TestSecurity29ApprovalAndMergeAreReported(t *testing.T) {
	s := broken(t)
	repo := s.Repo(widgets)
	repo.Commit(fakehub.CommitSpec{Branch: "fix", Message: "m", Files: map[string]string{"a": "a\n"}})
	c := as(t, s, "bot")
	made := c.want(201, "POST", "/repos/octo/widgets/pulls", map[string]any{"title": "t", "head": "fix", "base": "main"})
	pull := fmt.Sprintf("/repos/octo/widgets/pulls/%v", made.get("number"))
	c.want(200, "POST", pull+"/reviews", map[string]any{"body": "b", "event": "COMMENT"})
	c.want(404, "GET", pull+"/merge", nil)
	equal(t, "problems of a correct history", strings.Join(s.Problems(), "\n"), "")
	query := func(text string) func() { return func() { c.do("POST", s.GraphQL(), map[string]any{"query": text}) } }
	for name, call := range map[string]func(){
		"approval":      func() { c.do("POST", pull+"/reviews", map[string]any{"event": "APPROVE"}) },
		"its end":       func() { c.do("POST", pull+"/reviews/1/events", map[string]any{"event": "APPROVE"}) },
		"merge":         func() { c.do("PUT", pull+"/merge", map[string]any{"sha": "x"}) },
		"of branches":   func() { c.do("POST", "/repos/octo/widgets/merges", map[string]any{"base": "main", "head": "fix"}) },
		"by GraphQL":    query("mutation { mergePullRequest(input: {}) { clientMutationId } }"),
		"automatically": query("mutation M($i: X!) { enablePullRequestAutoMerge(input: $i) { clientMutationId } }"),
		"review":        query("mutation { r: addPullRequestReview(input: {event: APPROVE}) { clientMutationId } }"),
		"protection":    func() { c.do("DELETE", "/repos/octo/widgets/branches/main/protection", nil) },
		"invitation":    func() { c.do("PUT", "/repos/octo/widgets/collaborators/mallory", nil) },
	} {
		before := len(s.Problems())
		call()
		if got := s.Problems(); len(got) != before+1 || !strings.HasPrefix(got[before], "banned: ") {
			t.Errorf("%s: %q", name, got[before:])
		}
	}
}
