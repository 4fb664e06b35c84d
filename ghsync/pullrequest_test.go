package ghsync_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
)

func withBranch(r *fakehub.Repo) string {
	return r.Commit(fakehub.CommitSpec{Branch: "agentmux/fix", Message: "m", Files: map[string]string{"a.txt": "x"}})
}

var ourMarker = ghsync.Marker{Session: "20261121-100512-issue-12", Kind: ghsync.KindStatus, Seq: 5}.String()

func wantPR() ghsync.PullRequestSpec {
	return ghsync.PullRequestSpec{Repo: octoWidgets, Branch: "agentmux/fix", Base: "main", Title: "Add retry", Body: text("text\n" + ourMarker), Reviewer: "write"}
}

func TestPullRequestIsOpenedOnceAsDraft(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	head := withBranch(r)
	pulls := &ghsync.PullRequest{Client: clientOf(t, s, botLogin)}
	first, err := pulls.Ensure(t.Context(), wantPR())
	if err != nil {
		t.Fatal(err)
	}
	if first.Adopted || !first.Draft || first.State != ghsync.PullRequestOpen || first.Head != head || first.Number == 0 || first.URL == "" {
		t.Errorf("first %+v", first)
	}
	writes := len(s.Log())
	again, err := pulls.Ensure(t.Context(), wantPR())
	if err != nil || !again.Adopted || again.Number != first.Number {
		t.Errorf("again %+v, %v", again, err)
	}
	if len(s.Log()) != writes {
		t.Errorf("the second call wrote:\n%s", s.Transcript())
	}
	if got := r.Pulls(); len(got) != 1 || strings.Join(got[0].Requested, " ") != "write" || !got[0].Draft {
		t.Errorf("pull requests %+v", got)
	}
}

func TestPullRequestBecomesReadyAndFollowsItsSession(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	withBranch(r)
	pulls := &ghsync.PullRequest{Client: clientOf(t, s, botLogin)}
	spec := wantPR()
	if _, err := pulls.Ensure(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	spec.Ready, spec.Body, spec.Title = true, text("other text\n"+ourMarker), "Other title"
	got, err := pulls.Ensure(t.Context(), spec)
	if err != nil || got.Draft || !got.Adopted {
		t.Errorf("result %+v, %v", got, err)
	}
	if pr := r.Pulls()[0]; pr.Draft || pr.Title != "Other title" || !strings.HasPrefix(pr.Body, "other text") {
		t.Errorf("pull request %+v", pr)
	}
}

func TestPullRequestOfAPersonKeepsItsWords(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	withBranch(r)
	person := wantPR()
	person.Title, person.Body = "My title", text("My words.")
	if _, err := (&ghsync.PullRequest{Client: clientOf(t, s, "write")}).Ensure(t.Context(), person); err != nil {
		t.Fatal(err)
	}
	got, err := (&ghsync.PullRequest{Client: clientOf(t, s, botLogin)}).Ensure(t.Context(), wantPR())
	if err != nil || !got.Adopted {
		t.Fatalf("result %+v, %v", got, err)
	}
	if pr := r.Pulls()[0]; pr.Title != "My title" || pr.Body != "My words." {
		t.Errorf("pull request %+v", pr)
	}
}

func TestPullRequestThatAPersonEndedStaysEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(r *fakehub.Repo, n int)
		want ghsync.PullRequestState
	}{
		"closed": {func(r *fakehub.Repo, n int) { r.CloseIssue(n, "write") }, ghsync.PullRequestClosed},
		"merged": {func(r *fakehub.Repo, n int) { r.Merge(n, "maintain") }, ghsync.PullRequestMerged},
	} {
		t.Run(name, func(t *testing.T) {
			s := world(t)
			r := s.Repo(widgets)
			withBranch(r)
			pulls := &ghsync.PullRequest{Client: clientOf(t, s, botLogin)}
			first, err := pulls.Ensure(t.Context(), wantPR())
			if err != nil {
				t.Fatal(err)
			}
			tc.end(r, first.Number)
			writes := len(s.Log())
			got, err := pulls.Ensure(t.Context(), wantPR())
			if err != nil || got.State != tc.want || got.Number != first.Number {
				t.Errorf("result %+v, %v", got, err)
			}
			if len(s.Log()) != writes || len(r.Pulls()) != 1 {
				t.Errorf("it wrote:\n%s", s.Transcript())
			}
		})
	}
}

// openByHand opens a pull request of the branch in wantPR, as a person does in the browser.
func openByHand(t *testing.T, s *fakehub.Server, base string) {
	t.Helper()
	body := strings.NewReader(`{"title":"By hand","head":"agentmux/fix","base":"` + base + `","body":"My words.","draft":true}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.API()+"repos/"+widgets+"/pulls", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token("write"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatal(resp.Status, err)
	}
}

// People may open another pull request of the same branch, for another base. It is not taken
// for the session's.
func TestPullRequestOfAPersonForAnotherBaseIsLeftAlone(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	r.Commit(fakehub.CommitSpec{Branch: "release", Message: "r", Files: map[string]string{"r.txt": "r"}})
	withBranch(r)
	pulls := &ghsync.PullRequest{Client: clientOf(t, s, botLogin)}
	first, err := pulls.Ensure(t.Context(), wantPR())
	if err != nil {
		t.Fatal(err)
	}
	openByHand(t, s, "release")
	spec := wantPR()
	spec.Ready, spec.Title = true, "Another title"
	got, err := pulls.Ensure(t.Context(), spec)
	if err != nil || got.Number != first.Number || got.Draft {
		t.Errorf("result %+v, %v; want %d", got, err, first.Number)
	}
	if all := r.Pulls(); all[0].Title != "Another title" || !all[1].Draft || all[1].Title != "By hand" || len(all[1].Requested) != 0 {
		t.Errorf("pull requests %+v", all)
	}
}

// What a person made of the branch for another base, open or ended, does not hinder the pull
// request of the session.
func TestGitHub9APullRequestForAnotherBaseIsNotTheSessions(t *testing.T) {
	for name, end := range map[string]func(r *fakehub.Repo, n int){
		"open":   func(*fakehub.Repo, int) {},
		"closed": func(r *fakehub.Repo, n int) { r.CloseIssue(n, "write") },
		"merged": func(r *fakehub.Repo, n int) { r.Merge(n, "maintain") },
	} {
		t.Run(name, func(t *testing.T) {
			s := world(t)
			r := s.Repo(widgets)
			r.Commit(fakehub.CommitSpec{Branch: "release", Message: "r", Files: map[string]string{"r.txt": "r"}})
			withBranch(r)
			openByHand(t, s, "release")
			end(r, r.Pulls()[0].Number)
			got, err := (&ghsync.PullRequest{Client: clientOf(t, s, botLogin)}).Ensure(t.Context(), wantPR())
			all := r.Pulls()
			if err != nil || got.Adopted || got.State != ghsync.PullRequestOpen || len(all) != 2 || all[1].Number != got.Number || all[1].Base != wantPR().Base {
				t.Errorf("result %+v, %v; pull requests %+v", got, err, all)
			}
			if all[0].Title != "By hand" || all[0].Base != "release" {
				t.Errorf("that of the person is %+v", all[0])
			}
		})
	}
}

// A server closes the pull requests of a base that is deleted. No person rejected them, and
// they cannot be reopened as long as the base is missing.
func TestPullRequestClosedWithItsBaseIsOpenedForAnother(t *testing.T) {
	for name, baseless := range map[string]bool{"the base is there": false, "the base is gone": true} {
		t.Run(name, func(t *testing.T) {
			s := world(t)
			r := s.Repo(widgets)
			r.Commit(fakehub.CommitSpec{Branch: "next", Message: "n", Files: map[string]string{"n.txt": "n"}})
			withBranch(r)
			pulls := &ghsync.PullRequest{Client: clientOf(t, s, botLogin)}
			spec := wantPR()
			spec.Base = "next"
			first, err := pulls.Ensure(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			if !baseless {
				r.CloseIssue(first.Number, "write")
			} else {
				r.DeleteBranch("next")
				if _, err := pulls.Ensure(t.Context(), spec); !transport.HasCode(err, transport.CodeBaseInvalid) {
					t.Errorf("without another base: %v", err)
				}
			}
			got, err := pulls.Ensure(t.Context(), wantPR())
			if err != nil || (got.State == ghsync.PullRequestOpen) != baseless || (got.Number == first.Number) == baseless {
				t.Errorf("result %+v, %v", got, err)
			}
		})
	}
}

func TestPullRequestGoesToAnotherBaseWhileItIsOpen(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	r.Commit(fakehub.CommitSpec{Branch: "next", Message: "n", Files: map[string]string{"n.txt": "n"}})
	withBranch(r)
	pulls := &ghsync.PullRequest{Client: clientOf(t, s, botLogin)}
	first, err := pulls.Ensure(t.Context(), wantPR())
	if err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{"next", "next", "main"} {
		if err := pulls.Retarget(t.Context(), octoWidgets, first.Number, base); err != nil || r.Pulls()[0].Base != base {
			t.Errorf("to %s: %v, it goes to %s", base, err, r.Pulls()[0].Base)
		}
	}
	r.CloseIssue(first.Number, "write")
	writes := len(s.Log())
	if err := pulls.Retarget(t.Context(), octoWidgets, first.Number, "next"); err != nil || len(s.Log()) != writes {
		t.Errorf("closed: %v, %d writes", err, len(s.Log())-writes)
	}
}

func TestPullRequestSurvivesEveryFault(t *testing.T) {
	const open = "POST .../pulls"
	for name, fault := range map[string]fakehub.Fault{
		"answer lost":        fakehub.LoseResponse(open),
		"reset before":       fakehub.ResetBefore(open),
		"applied but 500":    fakehub.AppliedBut5xx(open, 500),
		"not applied 503":    fakehub.Unavailable(open, 503, 1),
		"already there":      fakehub.Refuse(open, "pr_exists"),
		"ready answer lost":  fakehub.LoseResponse("POST /graphql"),
		"ready not applied":  fakehub.ResetBefore("POST /graphql"),
		"list fails a while": fakehub.Unavailable("GET .../pulls", 502, 3),
	} {
		t.Run(name, func(t *testing.T) {
			s := world(t)
			r := s.Repo(widgets)
			withBranch(r)
			s.Inject(fault)
			pulls := &ghsync.PullRequest{Client: clientOf(t, s, botLogin)}
			spec := wantPR()
			spec.Ready = true
			var got ghsync.PullRequestResult
			var err error
			for range 4 { // as the runner of effects does after what passes
				if got, err = pulls.Ensure(t.Context(), spec); err == nil {
					break
				}
				if _, later := transport.Later(err); !later {
					t.Fatal(err)
				}
			}
			if err != nil || got.Draft || got.State != ghsync.PullRequestOpen {
				t.Errorf("result %+v, %v", got, err)
			}
			if all := r.Pulls(); len(all) != 1 || all[0].Draft {
				t.Errorf("pull requests %+v", all)
			}
		})
	}
}

func TestPullRequestRefusalsHaveTheirCode(t *testing.T) {
	for name, tc := range map[string]struct {
		fault fakehub.Fault
		code  string
	}{
		"no commits": {fakehub.Refuse("POST .../pulls", "no_commits"), transport.CodeNoCommits},
		"forbidden":  {fakehub.Refuse("POST .../pulls", "pr_forbidden"), transport.CodePRForbidden},
		"head":       {fakehub.Refuse("POST .../pulls", "head_invalid"), transport.CodeHeadInvalid},
		"other":      {fakehub.Refuse("POST .../pulls", "validation"), transport.CodeValidation},
	} {
		t.Run(name, func(t *testing.T) {
			s := world(t)
			withBranch(s.Repo(widgets))
			s.Inject(tc.fault)
			_, err := (&ghsync.PullRequest{Client: clientOf(t, s, botLogin)}).Ensure(t.Context(), wantPR())
			if !transport.HasCode(err, tc.code) {
				t.Errorf("error %v, want code %s", err, tc.code)
			}
			if _, later := transport.Later(err); later {
				t.Errorf("%v counts as passing", err)
			}
		})
	}
}

func TestPullRequestWithoutDraftsIsMarkedInItsTitle(t *testing.T) {
	s := world(t, func(o *fakehub.Options) { o.Repos[0].NoDrafts = true })
	r := s.Repo(widgets)
	withBranch(r)
	pulls := &ghsync.PullRequest{Client: clientOf(t, s, botLogin)}
	got, err := pulls.Ensure(t.Context(), wantPR())
	if err != nil || !got.Draft || r.Pulls()[0].Title != "[draft] Add retry" {
		t.Fatalf("result %+v, %v, pull request %+v", got, err, r.Pulls())
	}
	spec := wantPR()
	spec.Ready = true
	if got, err = pulls.Ensure(t.Context(), spec); err != nil || got.Draft || r.Pulls()[0].Title != "Add retry" {
		t.Errorf("result %+v, %v, pull request %+v", got, err, r.Pulls())
	}
}

// An issue's title may be as long as a pull request's, and what is put before it is not for
// nothing: a title at the limit is taken with it.
func TestPullRequestWithATitleAtTheLimit(t *testing.T) {
	const server, draft = 256, len("[draft] ")
	for length, want := range map[int]int{server - draft: server - draft, server - draft + 1: server - draft, server + 40: server - draft} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			s := world(t)
			r := s.Repo(widgets)
			withBranch(r)
			s.Inject(fakehub.Refuse("POST .../pulls", "draft_unsupported"))
			pulls := &ghsync.PullRequest{Client: clientOf(t, s, botLogin)}
			spec := wantPR()
			spec.Title = strings.Repeat("é", length)
			for range 2 {
				if _, err := pulls.Ensure(t.Context(), spec); err != nil {
					t.Fatalf("%d characters: %v", length, err)
				}
			}
			got := []rune(r.Pulls()[0].Title)
			if len(got) != want+draft || (length != want) != strings.HasSuffix(string(got), "...") {
				t.Errorf("%d characters: %d as a draft: %s", length, len(got), string(got))
			}
		})
	}
}

func TestPullRequestAsksNoReviewOfItsAuthor(t *testing.T) {
	s := world(t)
	withBranch(s.Repo(widgets))
	spec := wantPR()
	spec.Reviewer = botLogin
	if _, err := (&ghsync.PullRequest{Client: clientOf(t, s, botLogin)}).Ensure(t.Context(), spec); err != nil {
		t.Error(err)
	}
	for _, c := range s.Calls() {
		if strings.Contains(c.Path, "requested_reviewers") {
			t.Errorf("asked %s", c.Path)
		}
	}
}

func TestPullRequestWithoutGraphQLStaysADraft(t *testing.T) {
	s := world(t, withoutGraphQL)
	withBranch(s.Repo(widgets))
	spec := wantPR()
	spec.Ready = true
	got, err := (&ghsync.PullRequest{Client: clientOf(t, s, botLogin)}).Ensure(t.Context(), spec)
	if err != nil || !got.Draft {
		t.Errorf("result %+v, %v", got, err)
	}
}

// meddler lets something happen right before a question by GraphQL, as that to end a draft.
type meddler struct {
	http.RoundTripper
	happens func()
}

func (m *meddler) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasSuffix(req.URL.Path, "/graphql") {
		m.happens()
	}
	return m.RoundTripper.RoundTrip(req)
}

// A job's own token may open pull requests and is refused this; people may be faster.
func TestPullRequestOfWhichTheDraftCannotBeEnded(t *testing.T) {
	refused := fakehub.Fault{Route: "POST /graphql", Status: http.StatusForbidden, Message: "Resource not accessible by integration"}
	for name, c := range map[string]struct {
		happens func(*fakehub.Server, *fakehub.Repo)
		draft   bool
		state   ghsync.PullRequestState
	}{
		"refused": {func(*fakehub.Server, *fakehub.Repo) {}, true, ghsync.PullRequestOpen},
		"closed meanwhile": {func(_ *fakehub.Server, r *fakehub.Repo) {
			r.CloseIssue(r.Pulls()[0].Number, "write")
		}, true, ghsync.PullRequestClosed},
		"ready already": {func(s *fakehub.Server, r *fakehub.Repo) {
			s.Heal()
			spec := wantPR()
			spec.Ready = true
			if _, err := (&ghsync.PullRequest{Client: clientOf(t, s, "write")}).Ensure(t.Context(), spec); err != nil {
				t.Error(err)
			}
			s.Inject(refused)
		}, false, ghsync.PullRequestOpen},
	} {
		t.Run(name, func(t *testing.T) {
			s := world(t)
			r := s.Repo(widgets)
			withBranch(r)
			s.Inject(refused)
			spec := wantPR()
			spec.Ready = true
			client := clientWith(t, s, botLogin, &meddler{http.DefaultTransport, func() { c.happens(s, r) }})
			got, err := (&ghsync.PullRequest{Client: client}).Ensure(t.Context(), spec)
			if err != nil || got.Draft != c.draft || got.State != c.state || got.Adopted || got.Number != r.Pulls()[0].Number {
				t.Errorf("result %+v, %v", got, err)
			}
		})
	}
}

func TestCommitStatusIsOnItsCommit(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	sha := withBranch(r)
	c := clientOf(t, s, botLogin)
	s.Inject(fakehub.LoseResponse("POST .../statuses/{sha}"))
	err := c.CommitStatus(t.Context(), octoWidgets, sha, ghsync.CommitSuccess, strings.Repeat("long ", 60), s.URL()+"/octo/widgets/issues/12")
	if err != nil {
		t.Fatal(err)
	}
	got := r.Statuses(sha)
	if len(got) == 0 {
		t.Fatal("no status")
	}
	last := got[len(got)-1]
	if last.Context != "agentmux/review" || last.State != "success" || len(last.Description) > 140 || last.TargetURL == "" {
		t.Errorf("status %+v", last)
	}
}

func TestCompareURLKeepsSlashes(t *testing.T) {
	s := world(t)
	got := clientOf(t, s, botLogin).CompareURL(octoWidgets, "main", "agentmux/issue-12-a b")
	if want := s.URL() + "/octo/widgets/compare/main...agentmux/issue-12-a%20b?expand=1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestGitHub9RenamedRepositoryIsToldApart(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	withBranch(r)
	c := clientOf(t, s, botLogin)
	r.Rename("gadgets")
	read, err := c.Repository(t.Context(), "octo", "widgets")
	if err != nil || read.Name != "gadgets" {
		t.Errorf("read %+v, %v", read, err)
	}
	if _, err := c.AddLabel(t.Context(), octoWidgets, 1, "x"); !errors.As(err, new(*transport.Moved)) {
		t.Errorf("write: %v", err)
	}
	byID, err := c.RepositoryByID(t.Context(), r.ID())
	if err != nil || byID.Name != "gadgets" {
		t.Errorf("by id %+v, %v", byID, err)
	}
}
