package feedback_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/feedback"
	"github.com/agentmux/agentmux/ghsync/joblog"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

const widgets = "octo/widgets"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// desk is a repository with an open pull request of the robot.
type desk struct {
	*fakehub.Server
	repo   *fakehub.Repo
	pull   int
	sha    string
	reader feedback.Reader
}

func newDesk(t *testing.T, network http.RoundTripper, change ...func(*fakehub.Options)) *desk {
	t.Helper()
	o := fakehub.Options{
		Now: func() time.Time { return noon }, Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{
			{Login: "robot", Roles: map[string]fakehub.Role{widgets: fakehub.Write}}, {Login: "mia", Roles: map[string]fakehub.Role{widgets: fakehub.Write}},
		},
	}
	for _, f := range change {
		f(&o)
	}
	d := &desk{Server: fakehub.Start(t, o)}
	d.repo = d.Repo(widgets)
	server := d.URL()
	if network != nil {
		server = d.OtherURL()
	}
	at := transport.Addresses{API: d.API(), GraphQL: d.GraphQL(), Server: server}
	c, err := ghsync.New(transport.Options{
		APIURL: at.API, GraphQLURL: at.GraphQL, ServerURL: at.Server, Pause: time.Millisecond, HTTP: network,
		Token:  transport.StaticToken(transport.ModeToken, redact.NewSecret(d.Token("robot")), at),
		Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.sha = d.repo.Commit(fakehub.CommitSpec{Branch: "fix", Message: "m", Files: map[string]string{"a": "b"}})
	pr, err := (&ghsync.PullRequest{Client: c}).Ensure(t.Context(), ghsync.PullRequestSpec{Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}, Branch: "fix", Base: "main", Title: "t"})
	if err != nil {
		t.Fatal(err)
	}
	d.pull, d.reader = pr.Number, feedback.Reader{Client: c, Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}}
	return d
}

func TestChecksOfTheHead(t *testing.T) {
	for name, without := range map[string]bool{"GraphQL": false, "REST": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil, func(o *fakehub.Options) { o.NoGraphQL = without })
			d.repo.Require("test")
			red := d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "test", Conclusion: "failure", DetailsURL: "https://ci.test/1"})
			slow := d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "slow"})
			d.repo.AddStatus(d.sha, "legacy", "error", "mia")
			if err := d.reader.Client.CommitStatus(t.Context(), d.reader.Repo, d.sha, ghsync.CommitFailure, "ours", ""); err != nil {
				t.Fatal(err)
			}
			h, err := d.reader.Head(t.Context(), d.pull)
			if err != nil {
				t.Fatal(err)
			}
			want := feedback.Head{SHA: d.sha, Open: true, OpenedAt: noon, Known: !without, Checks: []feedback.Check{
				{ID: slow, Name: "slow"}, {ID: red, Name: "test", Required: !without, Done: true, Failed: true, At: noon, URL: "https://ci.test/1"},
				{Name: "legacy", Done: true, Failed: true, At: noon},
			}}
			if !reflect.DeepEqual(h, want) {
				t.Errorf("got %+v, want %+v", h, want)
			}
			counts := map[bool]int{true: 3, false: 1}[without]
			if got := h.Counts(); len(got) != counts {
				t.Errorf("%d count: %+v", len(got), got)
			}
			d.repo.Merge(d.pull, "mia")
			if h, err = d.reader.Head(t.Context(), d.pull); err != nil || h.Open {
				t.Errorf("merged: %+v, %v", h, err)
			}
		})
	}
}

// Of more checks than a page holds each counts, wherever the server lists it.
func TestEveryCheckOfTheHeadCounts(t *testing.T) {
	for name, without := range map[string]bool{"GraphQL": false, "REST": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil, func(o *fakehub.Options) { o.NoGraphQL = without })
			d.repo.Require("first")
			d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "first", Conclusion: "failure"}) // the list has the newest first
			d.repo.AddStatus(d.sha, "legacy", "error", "mia")
			for i := range 250 {
				d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: fmt.Sprint("job ", i), Conclusion: "success"})
				d.repo.AddStatus(d.sha, fmt.Sprint("context ", i), "success", "mia")
			}
			h, err := d.reader.Head(t.Context(), d.pull)
			if err != nil {
				t.Fatal(err)
			}
			failed := map[string]bool{}
			for _, c := range h.Checks {
				if c.Failed {
					failed[string(c.Name)] = true
				}
			}
			if len(h.Checks) != 502 || !failed["first"] || !failed["legacy"] || h.Known == without {
				t.Errorf("%d checks, known %t, failed %v", len(h.Checks), h.Known, failed)
			}
		})
	}
}

// endless is a network in which a head has more checks than anybody reads, one a page. It counts the pages.
type endless struct{ pages int }

func (n *endless) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	var text string
	switch {
	case err != nil || resp.StatusCode != http.StatusOK:
		return resp, err
	case strings.HasSuffix(req.URL.Path, "/check-runs"):
		text = `{"total_count": 100000, "check_runs": [{"id": 7, "name": "one", "status": "completed", "conclusion": "success"}]}`
	case strings.HasSuffix(req.URL.Path, "graphql"):
		text = `{"data": {"repository": {"pullRequest": {"headRefOid": "a", "state": "OPEN", "commits": {"nodes": [{"commit": {"oid": "a", "statusCheckRollup": {"contexts":
			{"pageInfo": {"hasNextPage": true, "endCursor": "x"}, "nodes": [{"__typename": "CheckRun", "databaseId": 7, "name": "one", "status": "COMPLETED", "conclusion": "SUCCESS"}]}}}}]}}}}}`
	default:
		return resp, nil
	}
	n.pages++
	_ = resp.Body.Close()
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return resp, nil
}

// Of more checks than are read at most, it is told that others are not known.
func TestThatChecksAreNotReadIsTold(t *testing.T) {
	for name, without := range map[string]bool{"GraphQL": false, "REST": true} {
		t.Run(name, func(t *testing.T) {
			network := &endless{}
			d := newDesk(t, network, func(o *fakehub.Options) { o.NoGraphQL = without })
			network.pages = 0
			h, err := d.reader.Head(t.Context(), d.pull)
			if err != nil || !h.Cut || len(h.Checks) != 30 || network.pages != 30 {
				t.Errorf("%d checks of %d pages, cut %t, %v", len(h.Checks), network.pages, h.Cut, err)
			}
		})
	}
}

// pushing is a network that pushes behind the first answer of GraphQL.
type pushing struct{ push func() }

func (p *pushing) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if push := p.push; push != nil && strings.HasSuffix(req.URL.Path, "graphql") {
		p.push = nil
		push()
	}
	return resp, err
}

// Where somebody pushes between two pages, the checks are those of the new head alone.
func TestChecksAreOfOneHead(t *testing.T) {
	network := &pushing{}
	d := newDesk(t, network)
	for i := range 150 {
		d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: fmt.Sprint("former ", i), Conclusion: "failure"})
	}
	next := ""
	network.push = func() {
		next = d.repo.Commit(fakehub.CommitSpec{Branch: "fix", Message: "n", Files: map[string]string{"a": "c"}})
		for i := range 120 {
			d.repo.AddCheck(next, fakehub.CheckSpec{Name: fmt.Sprint("later ", i), Conclusion: "success"})
		}
	}
	h, err := d.reader.Head(t.Context(), d.pull)
	if err != nil || h.SHA != next || len(h.Checks) != 120 || slices.ContainsFunc(h.Checks, func(c feedback.Check) bool { return c.Failed }) {
		t.Errorf("%d checks of %s, want 120 of %s: %v", len(h.Checks), h.SHA, next, err)
	}
}

// partly is a network in which GraphQL tells of a part alone.
type partly struct{}

func (partly) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || !strings.HasSuffix(req.URL.Path, "graphql") {
		return resp, err
	}
	text := `{"data": {"repository": null}, "errors": [{"type": "FORBIDDEN", "path": ["repository", "pullRequest", "commits"], "message": "Resource not accessible"}]}`
	_ = resp.Body.Close()
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return resp, nil
}

// What GraphQL does not tell of the checks is read in the other way.
func TestChecksThatGraphQLTellsAPartOf(t *testing.T) {
	d := newDesk(t, partly{})
	red := d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "test", Conclusion: "failure"})
	h, err := d.reader.Head(t.Context(), d.pull)
	if err != nil || h.SHA != d.sha || !h.Open || len(h.Checks) != 1 || h.Checks[0].ID != red || !h.Checks[0].Failed {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestCommentsOfAReview(t *testing.T) {
	d := newDesk(t, nil)
	hunk := "@@ -10,4 +20,5 @@ func f() {\n a\n-b\n+c\n+d"
	id := d.repo.Review(d.pull, "mia", "CHANGES_REQUESTED", "see", fakehub.InlineComment{Path: "a.go", Hunk: hunk, Body: "no"},
		fakehub.InlineComment{Path: "b.go", Hunk: "@@ -7 +7,0 @@\n-gone\n\\ No newline at end of file\n-last", Body: "why"}, fakehub.InlineComment{Path: "c.go", Body: "all of it"})
	d.repo.Review(d.pull, "mia", "COMMENTED", "other", fakehub.InlineComment{Path: "z.go", Hunk: hunk, Body: "other"})
	got, err := d.reader.Comments(t.Context(), d.pull, id)
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	var places []string
	for _, c := range got {
		if c.Author.Login != "mia" || !c.Author.IsPerson() {
			t.Errorf("author %+v", c.Author)
		}
		places = append(places, fmt.Sprint(c.Path, " ", c.Line, " ", c.Removed, " ", c.Body))
	}
	if want := "a.go 22 false no; b.go 8 true why; c.go 0 false all of it"; strings.Join(places, "; ") != want {
		t.Errorf("%q, want %q", strings.Join(places, "; "), want)
	}
}

func TestOutputOfACheck(t *testing.T) {
	d := newDesk(t, nil)
	id := d.repo.AddCheck(d.sha, fakehub.CheckSpec{
		Name: "lint", Conclusion: "failure", Title: "2 problems", Summary: "s", Text: "t", Annotations: []fakehub.Annotation{{Path: "a.go", Line: 3, Message: "unused"}},
	})
	got, err := d.reader.Output(t.Context(), id)
	want := feedback.Output{Title: "2 problems", Summary: "s", Text: "t", Annotations: []feedback.Annotation{{Path: "a.go", Line: 3, Level: "failure", Message: "unused"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err = d.reader.Output(t.Context(), d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "x", Conclusion: "failure"})); err != nil || !got.IsZero() {
		t.Errorf("got %+v, %v", got, err)
	}
}

// bare is a network without ranges, as the fake's other host is.
type bare struct{}

func (bare) RoundTrip(req *http.Request) (*http.Response, error) {
	return http.DefaultTransport.RoundTrip(req)
}

// TestGitHub83TheLogOfAJob reads it from the server's own host, and from no other.
func TestGitHub83TheLogOfAJob(t *testing.T) {
	log := strings.Repeat("x", 2<<20) + "\nthe end\n"
	for name, network := range map[string]http.RoundTripper{"another host": nil, "its own host": bare{}} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, network)
			job := d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "ci", Conclusion: "failure", Log: log})
			text, err := d.reader.Log(t.Context(), job)
			var refused *joblog.ElsewhereError
			switch {
			case network == nil && (!errors.As(err, &refused) || text != ""):
				t.Errorf("%.40q, %v", text, err)
			case network != nil && (err != nil || text != "the end\n"):
				t.Errorf("%d bytes, %v", len(text), err)
			}
			without := d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "none", Conclusion: "failure"})
			if _, err := d.reader.Log(t.Context(), without); !transport.IsNotFound(err) {
				t.Errorf("a check without a log: %v", err)
			}
			for _, problem := range d.Problems() {
				t.Error(problem)
			}
		})
	}
}

// A server that tells lines is believed.
func TestCommentsWithLines(t *testing.T) {
	c, err := ghsync.New(transport.Options{
		Token: transport.StaticToken(transport.ModeToken, redact.NewSecret("not-a-real-token-of-anyone"), transport.Addresses{}), HTTP: wire(`[
		{"path":"a","line":5,"side":"RIGHT","diff_hunk":"@@ -1 +1 @@\n+x","body":"b","user":{"login":"mia","id":1,"type":"User"}},
		{"path":"a","line":null,"original_line":6,"side":"LEFT","diff_hunk":"","body":null,"user":null}]`),
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := (feedback.Reader{Client: c, Repo: ghsync.Repo{Owner: "o", Name: "r"}}).Comments(t.Context(), 1, 2)
	if err != nil || len(got) != 2 || got[0].Line != 5 || got[0].Removed || got[1].Line != 6 || !got[1].Removed {
		t.Errorf("%+v, %v", got, err)
	}
}

type wire string

func (w wire) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(w))), Request: req}, nil
}
