package fakehub_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

func TestWritesAfterALostClaimAreFound(t *testing.T) {
	s := broken(t)
	n := s.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: "t", Author: "bot"})
	dir := checkout(t, s, "bot", "fix")
	claim := func(session string) {
		mustGit(t, dir, "commit", "-q", "--allow-empty", "-m", fmt.Sprintf(`{"v":1,"session":%q}`, session))
		mustGit(t, dir, "push", "-q", "--force", "origin", fmt.Sprintf("HEAD:refs/agentmux/claims/%d", n))
	}
	c := as(t, s, "bot")
	seq := 0
	comment := func(session string) {
		seq++
		body := fmt.Sprintf("x\n<!-- agentmux session=%s kind=question seq=%d -->", session, seq)
		c.want(201, "POST", fmt.Sprintf("/repos/octo/widgets/issues/%d/comments", n), map[string]any{"body": body})
	}
	claim("one")
	comment("one")
	comment("never-claimed")
	claim("two")
	comment("two")
	equal(t, "problems of a correct history", strings.Join(s.Problems(), "\n"), "")
	comment("one")
	equal(t, "after the comment", len(s.Problems()), 1)
	mustGit(t, dir, "commit", "-q", "--allow-empty", "-m", "work\n\nAgentmux-Session: one")
	mustGit(t, dir, "push", "-q", "origin", "HEAD:refs/heads/one")
	got := s.Problems()
	equal(t, "after the push", len(got), 2)
	equal(t, "rule", strings.HasPrefix(got[0], "I1: "), true)
}

func TestLogsOfJobsLieOnAnotherHost(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	sha := r.Refs()["refs/heads/main"]
	id := r.AddCheck(sha, fakehub.CheckSpec{Name: "ci", Conclusion: "failure", Log: "line 1\nline 2\n"})
	c := as(t, s, "read")
	sent := c.want(http.StatusFound, "GET", fmt.Sprintf("/repos/octo/widgets/actions/jobs/%d/logs", id), nil)
	target := sent.header.Get("Location")
	if !strings.HasPrefix(target, s.OtherURL()) || strings.HasPrefix(target, s.URL()) {
		t.Fatalf("the log is at %s", target)
	}
	anonymous := as(t, s, "")
	equal(t, "log", anonymous.want(200, "GET", target, nil).raw, "line 1\nline 2\n")
}

func TestWorkflowsAreDispatched(t *testing.T) {
	s := world(t)
	const path = "/repos/octo/widgets/actions/workflows/agentmux.yml/dispatches"
	in := map[string]any{"ref": "main", "inputs": map[string]string{"issue": "7"}}
	as(t, s, "triage").want(403, "POST", path, in)
	as(t, s, "write").want(204, "POST", path, in)
	as(t, s, "write").want(422, "POST", path, map[string]any{"ref": "none"})
	list := s.Repo(widgets).Dispatches()
	equal(t, "dispatches", fmt.Sprint(list), "[{agentmux.yml main map[issue:7]}]")
}
