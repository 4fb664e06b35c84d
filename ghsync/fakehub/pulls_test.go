package fakehub_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

func pullBody(head string, draft bool) map[string]any {
	return map[string]any{"title": "Change", "head": head, "base": "main", "body": "text", "draft": draft}
}

func TestPullRequestFollowsThePushedBranch(t *testing.T) {
	s := world(t)
	c := as(t, s, "write")
	dir := checkout(t, s, "write", "fix")
	asked := s.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	const pulls = "/repos/octo/widgets/pulls"
	none := c.want(422, "POST", pulls, pullBody("fix", true))
	equal(t, "head unknown", none.str("errors.0.field"), "head")
	mustGit(t, dir, "push", "-q", "origin", "fix")
	opened := c.want(201, "POST", pulls, pullBody("fix", true))
	equal(t, "draft", opened.get("draft"), any(true))
	equal(t, "head", opened.str("head.sha"), mustGit(t, dir, "rev-parse", "HEAD"))
	equal(t, "Location", opened.header.Get("Location"), opened.str("url"))

	second := c.want(422, "POST", pulls, pullBody("octo:fix", false))
	equal(t, "twice", second.str("errors.0.message"), "A pull request already exists for octo:fix.")
	mustGit(t, dir, "commit", "-q", "--allow-empty", "-m", "more")
	mustGit(t, dir, "push", "-q", "origin", "fix")
	listed := c.want(200, "GET", pulls+"?head=octo:fix&state=all", nil)
	equal(t, "moved head", listed.str("0.head.sha"), mustGit(t, dir, "rev-parse", "HEAD"))

	number := opened.num("number")
	one := fmt.Sprintf("%s/%d", pulls, number)
	c.want(200, "PATCH", one, map[string]any{"body": fmt.Sprintf("text\n\nCloses #%d\n", asked)})
	equal(t, "draft stays", c.want(200, "PATCH", one, map[string]any{"draft": false}).get("draft"), any(true))
	c.want(404, "GET", one+"/merge", nil)
	s.Repo(widgets).Merge(int(number), "maintain")
	c.want(204, "GET", one+"/merge", nil)
	equal(t, "the issue it closes", s.Repo(widgets).Issue(asked).State, "closed")
	equal(t, "merged", c.want(200, "GET", one, nil).get("merged"), any(true))
	merged := c.want(422, "POST", pulls, pullBody("fix", false))
	equal(t, "merged already", merged.str("errors.0.message"), "No commits between main and fix")
}

func TestPullRequestIsAnIssueToo(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	first := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	r.Commit(fakehub.CommitSpec{Branch: "fix", Message: "m", Files: map[string]string{"a.txt": "x"}})
	c := as(t, s, "write")
	n := c.want(201, "POST", "/repos/octo/widgets/pulls", pullBody("fix", false)).num("number")
	equal(t, "number", n, int64(first+1))
	got := c.want(200, "GET", "/repos/octo/widgets/issues?state=all&sort=created&direction=asc", nil)
	equal(t, "issue", got.get("0.pull_request"), any(nil))
	equal(t, "pull request", strings.HasSuffix(got.str("1.pull_request.html_url"), fmt.Sprintf("/pull/%d", n)), true)
	c.want(201, "POST", fmt.Sprintf("/repos/octo/widgets/issues/%d/comments", n), map[string]any{"body": "on the pull request"})
	equal(t, "comments", len(r.Comments(int(n))), 1)
}

func TestPullRequestRefusals(t *testing.T) {
	s := world(t, func(o *fakehub.Options) { o.Repos[0].NoDrafts = true })
	r := s.Repo(widgets)
	r.Commit(fakehub.CommitSpec{Branch: "fix", Message: "m", Files: map[string]string{"a.txt": "x"}})
	const pulls = "/repos/octo/widgets/pulls"
	draft := as(t, s, "write").want(422, "POST", pulls, pullBody("fix", true))
	equal(t, "draft", draft.str("message"), "Draft pull requests are not supported in this repository.")
	as(t, s, "read").want(403, "POST", pulls, pullBody("fix", false))
	action := as(t, s, "")
	action.token = s.ActionsToken(widgets, map[string]string{"pull_requests": "write", "contents": "write"}, 0)
	forbidden := action.want(403, "POST", pulls, pullBody("fix", false))
	equal(t, "actions", forbidden.str("message"), "GitHub Actions is not permitted to create or approve pull requests.")
	r.LetActionsOpenPulls(true)
	made := action.want(201, "POST", pulls, pullBody("fix", false))
	requested := fmt.Sprintf("%s/%d/requested_reviewers", pulls, made.num("number"))
	action.want(201, "POST", requested, map[string]any{"reviewers": []string{"read"}})
	equal(t, "requested", strings.Join(r.Pulls()[0].Requested, " "), "read")
}

func TestAuthorCannotReview(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	r.Commit(fakehub.CommitSpec{Branch: "fix", Message: "m", Files: map[string]string{"a.txt": "x"}})
	c := as(t, s, "write")
	n := c.want(201, "POST", "/repos/octo/widgets/pulls", pullBody("fix", false)).num("number")
	path := fmt.Sprintf("/repos/octo/widgets/pulls/%d", n)
	own := c.want(422, "POST", path+"/requested_reviewers", map[string]any{"reviewers": []string{"write"}})
	equal(t, "own", own.str("message"), "Review cannot be requested from pull request author.")
	r.Review(int(n), "maintain", "CHANGES_REQUESTED", "no")
	got := c.want(200, "GET", path+"/reviews", nil)
	equal(t, "state", got.str("0.state"), "CHANGES_REQUESTED")
	equal(t, "commit", got.str("0.commit_id"), r.Pulls()[0].HeadSHA)
}

func TestStatusesAndChecks(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	sha := r.Refs()["refs/heads/main"]
	c := as(t, s, "write")
	path := "/repos/octo/widgets/statuses/" + sha
	c.want(201, "POST", path, map[string]any{"state": "pending", "context": "agentmux/review"})
	c.want(201, "POST", path, map[string]any{"state": "success", "context": "agentmux/review", "description": "passed"})
	c.want(422, "POST", path, map[string]any{"state": "good"})
	c.want(422, "POST", path, map[string]any{"state": "success", "description": strings.Repeat("d", 141)})
	c.want(422, "POST", "/repos/octo/widgets/statuses/"+strings.Repeat("0", 40), map[string]any{"state": "success"})
	as(t, s, "read").want(404, "POST", path, map[string]any{"state": "success"})
	combined := c.want(200, "GET", "/repos/octo/widgets/commits/main/status", nil)
	equal(t, "combined", combined.str("state"), "success")
	equal(t, "count", combined.num("total_count"), int64(1))
	equal(t, "newest", c.want(200, "GET", "/repos/octo/widgets/commits/"+sha+"/statuses", nil).str("0.description"), "passed")
	r.AddCheck(sha, fakehub.CheckSpec{Name: "ci", Conclusion: "failure", Summary: "broke"})
	checks := c.want(200, "GET", "/repos/octo/widgets/commits/main/check-runs", nil)
	equal(t, "conclusion", checks.str("check_runs.0.conclusion"), "failure")
}

func TestCompareCountsBothSides(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	r.Commit(fakehub.CommitSpec{Branch: "fix", Message: "one", Files: map[string]string{"a.txt": "x"}})
	r.Commit(fakehub.CommitSpec{Branch: "fix", Message: "two", Files: map[string]string{"a.txt": "y"}})
	r.Commit(fakehub.CommitSpec{Branch: "main", Message: "other", Files: map[string]string{"b.txt": "z"}})
	got := as(t, s, "read").want(200, "GET", "/repos/octo/widgets/compare/main...fix", nil)
	equal(t, "status", got.str("status"), "diverged")
	equal(t, "ahead", got.num("ahead_by"), int64(2))
	equal(t, "behind", got.num("behind_by"), int64(1))
	equal(t, "file", got.str("files.0.filename"), "a.txt")
	equal(t, "message", got.str("commits.1.commit.message"), "two")
}
