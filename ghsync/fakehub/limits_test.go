package fakehub_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// clock is a time that moves when told.
type clock struct{ at chan time.Time }

func newClock() *clock {
	c := &clock{at: make(chan time.Time, 1)}
	c.at <- time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	return c
}

func (c *clock) now() time.Time {
	at := <-c.at
	c.at <- at
	return at
}

func (c *clock) advance(d time.Duration) { c.at <- (<-c.at).Add(d) }

func TestUnchangedAnswerIsNotCounted(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	c := as(t, s, "write")
	const path = "/repos/octo/widgets/issues?state=all"
	first := c.want(200, "GET", path, nil)
	c.head["If-None-Match"] = first.header.Get("ETag")
	for range 100 {
		c.want(304, "GET", path, nil)
	}
	equal(t, "counted", s.Requests("write"), 1)
	equal(t, "remaining", c.do("GET", path, nil).header.Get("X-RateLimit-Remaining"), "4999")
	r.Comment(n, "new", "read")
	c.want(200, "GET", path, nil)
	equal(t, "counted", s.Requests("write"), 2)
	other := as(t, s, "read")
	other.head = c.head
	other.want(200, "GET", path, nil)
}

func TestLimitRunsOutAndComesBack(t *testing.T) {
	clock := newClock()
	s := world(t, func(o *fakehub.Options) { o.Now = clock.now })
	c := as(t, s, "write")
	s.SetRemaining("write", "core", 1)
	allowed := c.want(200, "GET", "/user", nil)
	equal(t, "remaining", allowed.header.Get("X-RateLimit-Remaining"), "0")
	equal(t, "reset", allowed.header.Get("X-RateLimit-Reset"), fmt.Sprint(clock.now().Add(time.Hour).Unix()))
	refused := c.want(403, "GET", "/user", nil)
	equal(t, "text", strings.HasPrefix(refused.str("message"), "API rate limit exceeded for user ID"), true)
	c.want(200, "GET", "/rate_limit", nil)
	clock.advance(time.Hour)
	c.want(200, "GET", "/user", nil)
}

func TestLogListsAppliedWrites(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	c := as(t, s, "write")
	path := fmt.Sprintf("/repos/octo/widgets/issues/%d/comments", n)
	body := "text\n<!-- agentmux session=s1 kind=status seq=3 -->"
	id := c.want(201, "POST", path, map[string]any{"body": body}).num("id")
	c.want(422, "POST", path, map[string]any{"body": ""})
	c.want(200, "PATCH", fmt.Sprintf("/repos/octo/widgets/issues/comments/%d", id), map[string]any{"body": body + " "})
	log := s.Log()
	equal(t, "entries", len(log), 2)
	equal(t, "session", log[0].Session, "s1")
	equal(t, "route", log[0].Route, "POST /repos/{owner}/{repo}/issues/{number}/comments")
	equal(t, "actor", log[0].Actor, "write")
	equal(t, "content writes", s.ContentWrites("write"), 1.5)
	equal(t, "requests", s.Requests("write"), 3)
}

// broken is a server whose invariants may be broken.
func broken(t *testing.T) *fakehub.Server {
	t.Helper()
	s, err := fakehub.New(fakehub.Options{
		Users: []fakehub.UserSpec{{Login: "bot", Roles: map[string]fakehub.Role{widgets: "write"}}, {Login: "other"}},
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestBudgetsAreHeld(t *testing.T) {
	s := broken(t)
	as(t, s, "bot").want(200, "GET", "/user", nil)
	spy := &recorder{}
	s.AssertBudget(spy, "bot", fakehub.Budget{Requests: 1})
	equal(t, "within", len(spy.errors), 0)
	s.AssertBudget(spy, "bot", fakehub.Budget{})
	equal(t, "beyond", len(spy.errors), 1)
}

// history is a server where a session has written what it may.
type history struct {
	*fakehub.Server
	repo  *fakehub.Repo
	issue int
}

// mark is a text with the marker of a session.
func mark(kind string, seq int, part string) string {
	return fmt.Sprintf("x\n<!-- agentmux session=s kind=%s seq=%d%s -->", kind, seq, part)
}

func newHistory(t *testing.T) history {
	t.Helper()
	s := broken(t)
	h := history{Server: s, repo: s.Repo(widgets)}
	h.issue = h.repo.AddIssue(fakehub.IssueSpec{Title: "t", Author: "bot"})
	for _, body := range []string{
		mark("verdict", 5, " part=1/2"), mark("verdict", 5, " part=2/2"), mark("verdict", 9, ""), mark("status", 1, ""),
		mark("status", 2, " part=phase"), mark("question", 7, ""), mark("question", 7, "") + "\nquoted above",
	} {
		h.repo.Comment(h.issue, body, "bot")
	}
	h.repo.Comment(h.issue, mark("status", 1, ""), "other")
	s.Canary("hunter2-canary")
	if got := s.Problems(); len(got) != 0 {
		t.Fatalf("a correct history has problems: %v", got)
	}
	return h
}

// branches puts a commit with the message on two branches.
func (h history) branches(message string) {
	for _, branch := range []string{"a", "b"} {
		h.repo.Commit(fakehub.CommitSpec{Branch: branch, Message: message, Files: map[string]string{branch: "x"}})
	}
}

func TestCheckFindsTwinsAndLeaks(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
		do         func(*testing.T, history)
	}{
		{"two comments with one marker", "I10", func(_ *testing.T, h history) { h.repo.Comment(h.issue, mark("question", 7, ""), "bot") }},
		{"two status comments", "I10", func(_ *testing.T, h history) { h.repo.Comment(h.issue, mark("status", 8, ""), "bot") }},
		{"two verdicts of a round", "I3", func(_ *testing.T, h history) { h.repo.Comment(h.issue, mark("verdict", 9, ""), "bot") }},
		{"two branches of a session", "I2", func(_ *testing.T, h history) { h.branches("m\n\nAgentmux-Session: s\n") }},
		{"two pull requests of a session", "I2", func(t *testing.T, h history) {
			h.branches("m")
			for _, branch := range []string{"a", "b"} {
				as(t, h.Server, "bot").want(201, "POST", "/repos/octo/widgets/pulls",
					map[string]any{"title": "t", "head": branch, "base": "main", "body": mark("status", 3, "")})
			}
		}},
		{"a canary in an address", "I7", func(t *testing.T, h history) {
			as(t, h.Server, "bot").want(404, "GET", "/users/hunter2-canary", nil)
		}},
		{"a canary in the name of a ref", "I7", func(t *testing.T, h history) {
			mustGit(t, checkout(t, h.Server, "bot", "plain"), "push", "-q", "origin", "HEAD:refs/heads/hunter2-canary")
		}},
		{"the token of another account", "I7", func(t *testing.T, h history) {
			path := fmt.Sprintf("/repos/octo/widgets/issues/%d/comments", h.issue)
			as(t, h.Server, "bot").want(201, "POST", path, map[string]any{"body": "it is " + h.Token("other")})
		}},
		{"a canary in a header", "I7", func(t *testing.T, h history) {
			c := as(t, h.Server, "bot")
			c.head["X-Note"] = "it is hunter2-canary"
			c.want(200, "GET", "/user", nil)
		}},
		{"a canary in a file", "I7", func(_ *testing.T, h history) {
			h.repo.Commit(fakehub.CommitSpec{Message: "m", Files: map[string]string{"k": "hunter2-canary"}})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHistory(t)
			tt.do(t, h)
			if got := h.Problems(); len(got) != 1 || !strings.HasPrefix(got[0], tt.rule+":") {
				t.Errorf("problems %q, want one of %s", got, tt.rule)
			}
		})
	}
}

// recorder is a TB that keeps the errors.
type recorder struct{ errors []string }

func (r *recorder) Helper()        {}
func (r *recorder) Cleanup(func()) {}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

func TestContentLimitsRefuseTheEightyFirstWriteOfAMinute(t *testing.T) {
	clock := newClock()
	s := world(t, func(o *fakehub.Options) { o.Now, o.ContentLimits = clock.now, true })
	n := s.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	c := as(t, s, "write")
	path := fmt.Sprintf("/repos/octo/widgets/issues/%d/comments", n)
	body := map[string]any{"body": "x"}
	for range 80 {
		c.want(201, "POST", path, body)
	}
	equal(t, "Retry-After", c.want(403, "POST", path, body).header.Get("Retry-After"), "60")
	clock.advance(time.Minute)
	c.want(201, "POST", path, body)
}
