package fakehub_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

const postComment = "POST .../issues/{number}/comments"

func TestLostAnswerHasTakenEffectAndAResetHasNot(t *testing.T) {
	for _, tt := range []struct {
		name     string
		faults   []fakehub.Fault
		status   int // 0 is a cut connection
		comments int
	}{
		{"reset", []fakehub.Fault{fakehub.ResetBefore(postComment)}, 0, 0},
		{"lost answer", []fakehub.Fault{fakehub.LoseResponse(postComment)}, 0, 1},
		{"applied, with an error", []fakehub.Fault{fakehub.AppliedBut5xx(postComment, 502)}, 502, 1},
		{"unavailable", []fakehub.Fault{fakehub.Unavailable(postComment, 503, 1)}, 503, 0},
		{"no fault", nil, 201, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := world(t)
			r := s.Repo(widgets)
			n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
			s.Inject(tt.faults...)
			got := as(t, s, "write").try("POST", fmt.Sprintf("/repos/octo/widgets/issues/%d/comments", n), map[string]any{"body": "x"})
			if (tt.status == 0) != (got.err != nil) || got.status != tt.status {
				t.Errorf("status %d, %v", got.status, got.err)
			}
			equal(t, "comments", len(r.Comments(n)), tt.comments)
			equal(t, "log", len(s.Log()), tt.comments)
		})
	}
}

func TestLimitsComeInEachForm(t *testing.T) {
	reset := time.Now().Add(time.Hour)
	for _, tt := range []struct {
		name         string
		fault        fakehub.Fault
		status       int
		header, want string
		text         string
	}{
		{"a wait with 429", fakehub.RetryAfter("", 429, 7*time.Second), 429, "Retry-After", "7", "secondary rate limit"},
		{"a wait with 403", fakehub.RetryAfter("", 403, 7*time.Second), 403, "Retry-After", "7", "secondary rate limit"},
		{"exhausted with 403", fakehub.Exhausted("", 403, reset), 403, "X-RateLimit-Remaining", "0", "API rate limit exceeded"},
		{"exhausted with 429", fakehub.Exhausted("", 429, reset), 429, "X-RateLimit-Reset", fmt.Sprint(reset.Unix()), "API rate limit exceeded"},
		{"secondary", fakehub.Secondary("", 403), 403, "Retry-After", "", "secondary rate limit"},
		{"bare", fakehub.BareLimit(""), 429, "Retry-After", "", "Too Many Requests"},
		{"too quickly", fakehub.TooQuickly(""), 403, "Retry-After", "", "submitted too quickly"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := world(t)
			c := as(t, s, "write")
			s.Inject(tt.fault)
			got := c.want(tt.status, "GET", "/user", nil)
			equal(t, tt.header, got.header.Get(tt.header), tt.want)
			if !strings.Contains(got.raw, tt.text) {
				t.Errorf("%s: no %q", got.raw, tt.text)
			}
			c.want(200, "GET", "/user", nil)
		})
	}
}

func TestListsAndReadsLagBehind(t *testing.T) {
	clock := newClock()
	s := world(t, func(o *fakehub.Options) { o.Now = clock.now })
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	clock.advance(time.Minute)
	s.Inject(fakehub.StaleLists("GET .../issues/{number}/comments", 30*time.Second))
	s.Inject(fakehub.LateRead("GET .../issues/comments/{id}", 5*time.Second))
	id := r.Comment(n, "x", "read")
	c := as(t, s, "write")
	list, one := fmt.Sprintf("/repos/octo/widgets/issues/%d/comments", n), fmt.Sprintf("/repos/octo/widgets/issues/comments/%d", id)
	equal(t, "at once", len(c.want(200, "GET", list, nil).list()), 0)
	c.want(404, "GET", one, nil)
	clock.advance(5 * time.Second)
	c.want(200, "GET", one, nil)
	clock.advance(25 * time.Second)
	equal(t, "after 30 s", len(c.want(200, "GET", list, nil).list()), 1)
}

func TestFaultsHitTheRequestsTheySelect(t *testing.T) {
	s := world(t)
	s.Inject(fakehub.Fault{Route: "GET /user", From: 2, Times: 2, Status: 500, Actor: "write"})
	c := as(t, s, "write")
	var got []string
	for range 5 {
		as(t, s, "read").want(200, "GET", "/user", nil)
		c.want(200, "GET", "/users/read", nil)
		got = append(got, fmt.Sprint(c.do("GET", "/user", nil).status))
	}
	equal(t, "statuses", strings.Join(got, " "), "200 500 500 200 200")
	equal(t, "hits", s.Hits(), 2)
}

func TestProbableFaultsFollowTheSeed(t *testing.T) {
	run := func(seed uint64) string {
		s := world(t, func(o *fakehub.Options) { o.Seed = seed })
		s.Inject(fakehub.Fault{Status: 502, Probability: 0.5})
		c := as(t, s, "write")
		var b strings.Builder
		for range 40 {
			fmt.Fprint(&b, c.do("GET", "/user", nil).status, " ")
		}
		return b.String()
	}
	first := run(7)
	equal(t, "same seed", run(7), first)
	if run(8) == first || !strings.Contains(first, "200") || !strings.Contains(first, "502") {
		t.Errorf("no chance in it: %s", first)
	}
}

func TestBodiesAreCutOrSlow(t *testing.T) {
	s := world(t)
	c := as(t, s, "write")
	s.Inject(fakehub.Fault{Route: "GET /user", Times: 1, CutAfter: 10})
	if got := c.try("GET", "/user", nil); got.err == nil || len(got.raw) != 10 {
		t.Errorf("got %d bytes, %v", len(got.raw), got.err)
	}
	const wait = 30 * time.Millisecond
	s.Inject(fakehub.Fault{Route: "GET /user", Times: 1, Slow: wait})
	began := time.Now()
	c.want(200, "GET", "/user", nil)
	if passed := time.Since(began); passed < wait {
		t.Errorf("the answer came after %v", passed)
	}
}

func TestRefusalsCarryTheirClass(t *testing.T) {
	for class, want := range map[string]struct {
		status int
		text   string
	}{
		"label_exists": {422, "already_exists"}, "pr_exists": {422, "A pull request already exists for"},
		"no_commits": {422, "No commits between"}, "pr_forbidden": {403, "not permitted to create or approve"},
		"draft_unsupported": {422, "Draft pull requests are not supported"}, "gone": {410, "deleted"}, "legal": {451, "blocked"},
	} {
		t.Run(class, func(t *testing.T) {
			s := world(t)
			s.Inject(fakehub.Refuse("", class))
			if got := as(t, s, "write").want(want.status, "GET", "/user", nil); !strings.Contains(got.raw, want.text) {
				t.Error(got.raw)
			}
		})
	}
}

func TestRedirectNamesThePlace(t *testing.T) {
	s := world(t)
	s.Inject(fakehub.Redirect("GET /user", http.StatusMovedPermanently, "http://elsewhere.example.com/user"))
	got := as(t, s, "write").want(301, "GET", "/user", nil)
	equal(t, "Location", got.header.Get("Location"), "http://elsewhere.example.com/user")
}

func TestSearchLagsAndFilters(t *testing.T) {
	clock := newClock()
	s := world(t, func(o *fakehub.Options) { o.Now, o.SearchLag = clock.now, time.Minute })
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	r.AddIssue(fakehub.IssueSpec{Title: "no label", Author: "read"})
	r.Label(n, "agentmux:quick", "write")
	c := as(t, s, "write")
	const q = `/search/issues?sort=created&order=asc&q=is:issue+is:open+label:%22agentmux%22,%22agentmux:quick%22+org:octo`
	equal(t, "at once", c.want(200, "GET", q, nil).num("total_count"), int64(0))
	clock.advance(time.Minute)
	found := c.want(200, "GET", q, nil)
	equal(t, "later", found.num("total_count"), int64(1))
	equal(t, "number", found.num("items.0.number"), int64(n))
	equal(t, "resource", found.header.Get("X-RateLimit-Resource"), "search")
	r.CloseIssue(n, "write")
	equal(t, "closed a moment ago", c.want(200, "GET", q, nil).num("total_count"), int64(1))
	clock.advance(time.Minute)
	equal(t, "closed", c.want(200, "GET", q, nil).num("total_count"), int64(0))
}
