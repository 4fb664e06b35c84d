package ghsync_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
)

const (
	viewerJSON = `{"data":{"viewer":{"__typename":"User","login":"robo","databaseId":9}}}`
	slowJSON   = `{"data":null,"errors":[{"message":"Something went wrong while executing your query. Please include 0401:6C25 when reporting this issue."}]}`
	usedUpJSON = `{"data":null,"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded for user ID 9."}]}`
)

// GraphQL answers 200 whatever became of a query. What passes is asked again like any read.
func TestQueriesAreRepeatedForWhatPasses(t *testing.T) {
	for name, tc := range map[string]struct {
		first  string
		header []string
		after  time.Duration // at least
		sent   int
		final  bool
	}{
		"took too long":         {first: slowJSON, after: 800 * time.Millisecond, sent: 2},
		"fault of its own":      {first: `{"data":null,"errors":[{"message":"Something went wrong."}]}`, after: 800 * time.Millisecond, sent: 2},
		"second of two":         {first: `{"data":{"viewer":null},"errors":[{"type":"FORBIDDEN","message":"no"},{"message":"Something went wrong, sorry"}]}`, after: 800 * time.Millisecond, sent: 2},
		"timed out":             {first: `{"errors":[{"message":"We couldn't respond to your request in time. Sorry about that."}]}`, after: 800 * time.Millisecond, sent: 2},
		"service away":          {first: `{"errors":[{"type":"SERVICE_UNAVAILABLE","message":"x"}]}`, after: 800 * time.Millisecond, sent: 2},
		"nothing":               {first: `{}`, after: 800 * time.Millisecond, sent: 2},
		"null":                  {first: `null`, after: 800 * time.Millisecond, sent: 2},
		"no data":               {first: `{"data":null}`, after: 800 * time.Millisecond, sent: 2},
		"limit":                 {first: usedUpJSON, after: time.Minute, sent: 2},
		"limit by its new name": {first: `{"errors":[{"type":"RATE_LIMIT","code":"graphql_rate_limit","message":"API rate limit already exceeded for user ID 9."}]}`, after: time.Minute, sent: 2},
		"secondary limit":       {first: `{"errors":[{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}]}`, after: time.Minute, sent: 2},
		"limit with a wait":     {first: usedUpJSON, header: []string{"Retry-After", "4"}, after: 4 * time.Second, sent: 2},
		"limit with time":       {first: usedUpJSON, header: []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Limit", "5000"}, after: 2 * time.Second, sent: 2},
		"forbidden":             {first: `{"data":{"viewer":null},"errors":[{"type":"FORBIDDEN","message":"no"}]}`, sent: 1, final: true},
		"unknown field":         {first: `{"errors":[{"message":"Field 'x' doesn't exist on type 'User'"}]}`, sent: 1, final: true},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(n int, _ *http.Request) (*http.Response, error) {
				if n > 1 {
					return respond(200, viewerJSON)
				}
				if tc.header != nil {
					tc.header = append(tc.header, "X-RateLimit-Reset", fmt.Sprint(time.Now().Add(3*time.Second).Unix()))
				}
				return respond(200, tc.first, tc.header...)
			}, func(t *testing.T, c *ghsync.Client, w *wire) {
				me, err := c.Viewer(t.Context())
				if len(w.sent) != tc.sent || (err != nil) != tc.final || !tc.final && me.ID != 9 {
					t.Fatalf("sent %d, account %+v, error %v", len(w.sent), me, err)
				}
				if _, later := transport.Later(err); later {
					t.Errorf("%v counts as passing", err)
				}
				if !tc.final && w.at(1) < tc.after || tc.header != nil && w.at(1) > 5*time.Second {
					t.Errorf("asked again after %s", w.at(1))
				}
			})
		})
	}
}

// between answers requests to a server as answer says, which has the way on to it.
type between struct {
	answer func(req *http.Request, next http.RoundTripper) (*http.Response, error)
}

func (b between) RoundTrip(req *http.Request) (*http.Response, error) {
	return b.answer(req, http.DefaultTransport)
}

func clientThrough(t *testing.T, s *fakehub.Server, answer func(*http.Request, http.RoundTripper) (*http.Response, error)) *ghsync.Client {
	t.Helper()
	return clientWith(t, s, botLogin, between{answer})
}

// What a mutation that failed on its way has done is not known.
func TestMutationThatTookTooLongIsLookedFor(t *testing.T) {
	s := world(t)
	withBranch(s.Repo(widgets))
	c := clientThrough(t, s, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil && strings.HasSuffix(req.URL.Path, "/graphql") {
			return respond(200, slowJSON)
		}
		return resp, err
	})
	spec := wantPR()
	spec.Ready = true
	got, err := (&ghsync.PullRequest{Client: c}).Ensure(t.Context(), spec)
	if err != nil || got.Draft || s.Repo(widgets).Pulls()[0].Draft {
		t.Errorf("result %+v, %v", got, err)
	}
	mutations := 0
	for _, call := range s.Calls() {
		if strings.HasSuffix(call.Path, "/graphql") {
			mutations++
		}
	}
	if mutations != 1 {
		t.Errorf("the mutation was sent %d times", mutations)
	}
}

// An answer that says nothing, or is of another shape, is an error.
func TestAnswersWithoutContentAreErrors(t *testing.T) {
	for _, body := range []string{"null", "{}", " {}\n", ""} {
		t.Run(fmt.Sprintf("%q", body), func(t *testing.T) {
			over(t, func(n int, req *http.Request) (*http.Response, error) {
				if req.Method == http.MethodGet && n > 2 {
					return respond(200, repoJSON)
				}
				return respond(map[string]int{http.MethodGet: 200, http.MethodPost: 201}[req.Method], body)
			}, func(t *testing.T, c *ghsync.Client, w *wire) {
				if r, err := c.Repository(t.Context(), "octo", "widgets"); err != nil || r.ID != 7 || len(w.sent) != 3 {
					t.Errorf("%q: %d sent: %v", body, len(w.sent), err)
				}
				if _, _, err := (ghsync.Comments{Client: c}).Create(t.Context(), octoWidgets, 1, text("x")); !isAmbiguous(err) {
					t.Errorf("%q for a comment: %v", body, err)
				}
				if _, err := c.AddLabel(t.Context(), octoWidgets, 1, "x"); err == nil {
					t.Errorf("%q for a label is taken for an answer", body)
				}
			})
		})
	}
	over(t, func(n int, _ *http.Request) (*http.Response, error) {
		return respond(map[bool]int{true: 200, false: 204}[n == 1], "")
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		if err := (ghsync.Comments{Client: c}).Edit(t.Context(), octoWidgets, 1, text("x")); err != nil || len(w.sent) != 2 {
			t.Errorf("an edit: %d sent, %v", len(w.sent), err)
		}
	})
	over(t, func(_ int, req *http.Request) (*http.Response, error) { return respond(200, `["x"]`) }, func(t *testing.T, c *ghsync.Client, _ *wire) {
		_, err := c.Repository(t.Context(), "octo", "widgets")
		if wait, later := transport.Later(err); !later || wait == 0 || strings.Contains(err.Error(), "json") {
			t.Errorf("a list for a repository: %v", err)
		}
		if _, _, err := (ghsync.Comments{Client: c}).Create(t.Context(), octoWidgets, 1, text("x")); !isAmbiguous(err) {
			t.Errorf("a list for a comment: %v", err)
		}
	})
}

// What is left of the labels comes as a list. Where something else comes, whether the label
// is gone is read from the issue.
func TestALabelIsTakenOffOnlyOnceTheServerShowsIt(t *testing.T) {
	const there, removed = `{"number":1,"labels":[{"name":"Old"}]}`, `{"number":1,"labels":[]}`
	for name, tc := range map[string]struct {
		status      int
		body, issue string
		again       bool
		reads       int
	}{
		"a list":               {200, `[]`, there, false, 0},
		"no content":           {204, ``, there, false, 0},
		"null, not gone":       {200, `null`, there, true, 1},
		"null, gone":           {200, `null`, removed, false, 1},
		"an object, not gone":  {200, `{}`, there, true, 1},
		"a message, not gone":  {200, `{"message":"ok"}`, there, true, 1},
		"a message, gone":      {200, `{"message":"ok"}`, removed, false, 1},
		"a list of other than": {200, `["x"]`, there, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(_ int, req *http.Request) (*http.Response, error) {
				if req.Method == http.MethodGet {
					return respond(200, tc.issue)
				}
				return respond(tc.status, tc.body)
			}, func(t *testing.T, c *ghsync.Client, w *wire) {
				err := c.RemoveLabel(t.Context(), octoWidgets, 1, "old")
				if wait, later := transport.Later(err); later != tc.again || (err != nil) != tc.again || later && wait == 0 {
					t.Errorf("error %v", err)
				}
				if len(w.sent) != 1+tc.reads {
					t.Errorf("%d sent", len(w.sent))
				}
			})
		})
	}
}

// Nobody asked whether something was modified.
func TestNotModifiedUnaskedIsAnError(t *testing.T) {
	over(t, func(n int, req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodGet && n > 1 {
			return respond(200, repoJSON)
		}
		return respond(304, "")
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		if _, err := c.Repository(t.Context(), "octo", "widgets"); err != nil || len(w.sent) != 2 {
			t.Errorf("%d sent: %v", len(w.sent), err)
		}
		if _, _, err := (ghsync.Comments{Client: c}).Create(t.Context(), octoWidgets, 1, text("x")); !isAmbiguous(err) {
			t.Errorf("a comment: %v", err)
		}
	})
}

// An answer that cannot be used is not kept: the server would confirm it for ever.
func TestUnusableAnswersAreNotKept(t *testing.T) {
	for body, kind := range map[string]string{"<html>wait</html>": "text/html", "null": "application/json"} {
		t.Run(kind, func(t *testing.T) {
			over(t, func(n int, req *http.Request) (*http.Response, error) {
				switch {
				case n == 1:
					return respond(200, body, "Content-Type", kind, "ETag", `"1"`)
				case req.Header.Get("If-None-Match") != "":
					return respond(304, "")
				}
				return respond(200, repoJSON, "ETag", `"1"`)
			}, func(t *testing.T, c *ghsync.Client, w *wire) {
				for range 2 {
					if r, err := c.Repository(t.Context(), "octo", "widgets"); err != nil || r.ID != 7 {
						t.Errorf("%s: repository %+v, %v", body, r, err)
					}
				}
				if len(w.sent) != 3 {
					t.Errorf("%s: %d sent", body, len(w.sent))
				}
			})
		})
	}
}

// An answer of another shape than what was asked for is JSON, and its tag may be confirmed. It is forgotten: the next reading
// brings the answer that is there by then.
func TestAnswersOfAnotherShapeAreForgotten(t *testing.T) {
	repo := ghsync.Repo{Owner: "octo", Name: "widgets"}
	for name, read := range map[string]func(context.Context, *ghsync.Client) error{
		"a repository": func(ctx context.Context, c *ghsync.Client) error {
			_, err := c.Repository(ctx, "octo", "widgets")
			return err
		},
		"by its id": func(ctx context.Context, c *ghsync.Client) error { _, err := c.RepositoryByID(ctx, 7); return err },
		"an issue":  func(ctx context.Context, c *ghsync.Client) error { _, err := c.Issue(ctx, repo, 1); return err },
		"comments": func(ctx context.Context, c *ghsync.Client) error {
			_, err := (ghsync.Comments{Client: c}).Since(ctx, repo, 1, time.Time{})
			return err
		},
		"a path": func(ctx context.Context, c *ghsync.Client) error {
			return c.Read(ctx, "repos/octo/widgets/languages", &map[string]any{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(n int, req *http.Request) (*http.Response, error) {
				right := repoJSON
				if name == "comments" {
					right = `[{"id":7}]`
				}
				switch {
				case req.Header.Get("If-None-Match") != "":
					return respond(304, "", "ETag", `"1"`)
				case n == 1:
					return respond(200, `"another shape"`, "ETag", `"1"`)
				}
				return respond(200, right, "ETag", `"1"`)
			}, func(t *testing.T, c *ghsync.Client, w *wire) {
				if err := read(t.Context(), c); !errors.Is(err, transport.ErrUnreadable) {
					t.Errorf("another shape: %v", err)
				}
				if err := read(t.Context(), c); err != nil || w.sent[1].header.Get("If-None-Match") != "" {
					t.Errorf("the next reading: %v, if none match %q", err, w.sent[1].header.Get("If-None-Match"))
				}
				if err := read(t.Context(), c); err != nil || w.sent[len(w.sent)-1].header.Get("If-None-Match") == "" {
					t.Errorf("the right answer is not kept: %v", err)
				}
			})
		})
	}
}

// A validator is the server's word on one address, not on what was written or asked there,
// and it does not turn a bad answer into a good one.
func TestOnlyGoodReadsAreConditional(t *testing.T) {
	over(t, func(_ int, req *http.Request) (*http.Response, error) {
		switch {
		case req.Header.Get("If-None-Match") != "":
			return respond(304, "")
		case strings.HasSuffix(req.URL.Path, "/graphql"):
			return respond(200, viewerJSON, "ETag", `"1"`)
		case req.Method == http.MethodGet:
			return respond(404, `{"id":8}`, "ETag", `"1"`)
		}
		return respond(200, repoJSON, "ETag", `"1"`)
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		for range 2 {
			if _, err := c.Repository(t.Context(), "octo", "widgets"); !transport.IsNotFound(err) {
				t.Errorf("a repository that is not there: %v", err)
			}
			if err := (ghsync.Comments{Client: c}).Edit(t.Context(), octoWidgets, 7, text("x")); err != nil {
				t.Error(err)
			}
		}
		if _, err := c.Viewer(t.Context()); err != nil {
			t.Error(err)
		}
		for _, s := range w.sent {
			if tag := s.header.Get("If-None-Match"); tag != "" {
				t.Errorf("%s %s only if it is not %s", s.method, s.url, tag)
			}
		}
	})
}

// Asking a reviewer twice is asking once, so a request whose fate is unclear is repeated.
func TestReviewIsAskedForUntilItIsKnown(t *testing.T) {
	const ask = "POST .../pulls/{number}/requested_reviewers"
	for name, tc := range map[string]struct {
		fault fakehub.Fault
		calls int // of Ensure
	}{
		"500 twice":       {fakehub.Unavailable(ask, 500, 2), 1},
		"answer lost":     {fakehub.LoseResponse(ask), 1},
		"reset":           {fakehub.ResetBefore(ask), 1},
		"500 for ever":    {fakehub.Unavailable(ask, 500, 0), 1},
		"limit":           {fakehub.Fault{Route: ask, Times: 1, Status: 429, Header: map[string]string{"Retry-After": "0"}}, 2},
		"refused for now": {fakehub.Refuse(ask, "inaccessible"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := world(t)
			withBranch(s.Repo(widgets))
			s.Inject(tc.fault)
			pulls := &ghsync.PullRequest{Client: clientOf(t, s, botLogin)}
			calls := 0
			for calls < 4 {
				calls++
				_, err := pulls.Ensure(t.Context(), wantPR())
				if err == nil {
					break
				}
				if _, later := transport.Later(err); !later {
					t.Fatal(err)
				}
			}
			asked := strings.Join(s.Repo(widgets).Pulls()[0].Requested, " ")
			if want := map[bool]string{true: "write"}[!strings.HasPrefix(name, "500 for") && name != "refused for now"]; asked != want || calls != tc.calls {
				t.Errorf("asked %q after %d calls", asked, calls)
			}
		})
	}
}

func TestReviewIsAskedForWhereTheRepositoryIsNow(t *testing.T) {
	s := world(t)
	withBranch(s.Repo(widgets))
	c := clientThrough(t, s, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasSuffix(req.URL.Path, "/requested_reviewers") {
			return respond(307, `{}`, "Location", s.API()+"repositories/1/pulls")
		}
		return next.RoundTrip(req)
	})
	_, err := (&ghsync.PullRequest{Client: c}).Ensure(t.Context(), wantPR())
	if !errors.As(err, new(*transport.Moved)) {
		t.Errorf("error %v, want that it moved", err)
	}
}
