package ghsync_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
)

func TestGitHub11ListsForThePollerAreFreeWhenUnchanged(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read", Labels: []string{"agentmux"}})
	other := r.AddIssue(fakehub.IssueSpec{Title: "u", Author: "read"})
	r.Commit(fakehub.CommitSpec{Branch: "fix", Message: "m", Files: map[string]string{"a": "b"}})
	c := clientOf(t, s, botLogin)
	pr, err := (&ghsync.PullRequest{Client: c}).Ensure(t.Context(), ghsync.PullRequestSpec{Repo: octoWidgets, Branch: "fix", Base: "main", Title: "t", Body: text("b")})
	if err != nil {
		t.Fatal(err)
	}
	id := r.Comment(n, "/agentmux stop", "write")
	onPR := r.Comment(pr.Number, "hello", "write")
	poll := func() {
		t.Helper()
		issues, more, err := (ghsync.Intake{Client: c}).RecentIssues(t.Context(), octoWidgets, 1)
		if err != nil || more || len(issues) != 2 || issues[0].Number != n || issues[1].Number != other {
			t.Errorf("issues %+v, %v, %v", issues, more, err)
		}
		comments, more, err := (ghsync.Intake{Client: c}).RecentComments(t.Context(), octoWidgets, 1)
		if err != nil || more || len(comments) != 2 || comments[0].ID != onPR || comments[0].On != pr.Number || comments[1].ID != id || comments[1].On != n {
			t.Errorf("comments %+v, %v, %v", comments, more, err)
		}
		pulls, err := (ghsync.Intake{Client: c}).OpenPulls(t.Context(), octoWidgets)
		if err != nil || len(pulls) != 1 || pulls[0].Number != pr.Number || pulls[0].Branch != "fix" || pulls[0].Head == "" {
			t.Errorf("pull requests %+v, %v", pulls, err)
		}
	}
	poll()
	before := s.Requests(botLogin)
	for range 10 {
		poll()
	}
	if n := s.Requests(botLogin) - before; n != 0 {
		t.Errorf("%d counted requests for nothing new:\n%s", n, s.Transcript())
	}
	labelled, _, err := (ghsync.Intake{Client: c}).LabelledIssues(t.Context(), octoWidgets, "agentmux", 1)
	if err != nil || len(labelled) != 1 || labelled[0].Number != n {
		t.Errorf("labelled %+v, %v", labelled, err)
	}
	found, total, err := (ghsync.Intake{Client: c}).SearchIssues(t.Context(), `is:issue is:open label:"agentmux" org:octo`, 1)
	if err != nil || total != 1 || len(found) != 1 || found[0] != (ghsync.FoundIssue{Repo: octoWidgets, Number: n}) {
		t.Errorf("found %+v of %d, %v", found, total, err)
	}
}

// GitHub links pages of issues by cursors, and of a large repository gives ten pages by number and
// answers 422 to the next one.
func TestIssuesArePagedAsFarAsGitHubGoes(t *testing.T) {
	for name, link := range map[string]string{
		"cursor and number": `<https://api.github.com/repositories/1/issues?after=Y3Vyc29y&per_page=100&page=%d>; rel="next"`,
		"cursor alone":      `<https://api.github.com/repositories/1/issues?after=Y3Vyc29y%d&per_page=100>; rel="next"`,
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(n int, _ *http.Request) (*http.Response, error) {
				if n > 10 {
					return respond(422, `{"message":"Pagination with the page parameter is not supported for large datasets, please use cursor based pagination (after/before)"}`)
				}
				return respond(200, fmt.Sprintf(`[{"number":%d}]`, n), "Link", fmt.Sprintf(link, n+1))
			}, func(t *testing.T, c *ghsync.Client, w *wire) {
				read := 0
				for page, more := 1, true; more; page++ {
					issues, next, err := (ghsync.Intake{Client: c}).LabelledIssues(t.Context(), octoWidgets, "agentmux", page)
					if err != nil {
						t.Fatal(err)
					}
					read, more = read+len(issues), next
				}
				if read != 10 {
					t.Errorf("read %d issues", read)
				}
			})
		})
	}
}

func TestRunOfActionsIsReadForItsEnd(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	r.SetRun(fakehub.Run{ID: 5, Status: "in_progress", Attempt: 2})
	c := clientOf(t, s, botLogin)
	run, err := (ghsync.Intake{Client: c}).Run(t.Context(), octoWidgets, 5)
	if err != nil || run.Completed || run.Attempt != 2 {
		t.Errorf("run %+v, %v", run, err)
	}
	r.SetRun(fakehub.Run{ID: 5, Status: "completed", Attempt: 2})
	if run, err = (ghsync.Intake{Client: c}).Run(t.Context(), octoWidgets, 5); err != nil || !run.Completed {
		t.Errorf("run %+v, %v", run, err)
	}
	r.RemoveRun(5)
	if _, err = (ghsync.Intake{Client: c}).Run(t.Context(), octoWidgets, 5); !transport.IsNotFound(err) {
		t.Errorf("deleted run: %v", err)
	}
}
