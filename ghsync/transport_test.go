package ghsync_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// wire answers requests in place of the network and notes when each came.
type wire struct {
	mu     sync.Mutex
	answer func(n int, req *http.Request) (*http.Response, error)
	start  time.Time
	sent   []sending
}

type sending struct {
	at          time.Duration
	method, url string
	header      http.Header
	body        string
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	body := ""
	if req.Body != nil {
		b, _ := io.ReadAll(req.Body)
		body = string(b)
	}
	w.mu.Lock()
	w.sent = append(w.sent, sending{at: time.Since(w.start), method: req.Method, url: req.URL.String(), header: req.Header.Clone(), body: body})
	n := len(w.sent)
	w.mu.Unlock()
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	resp, err := w.answer(n, req)
	if err == nil {
		resp.Request = req
	}
	return resp, err
}

func (w *wire) at(i int) time.Duration { return w.sent[i].at.Round(10 * time.Millisecond) }

func respond(status int, body string, headers ...string) (*http.Response, error) {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
}

const repoJSON = `{"id":7,"name":"widgets","owner":{"login":"octo"},"default_branch":"main","permissions":{"pull":true}}`

var octoWidgets = ghsync.Repo{Owner: "octo", Name: "widgets"}

func testSecret() redact.Secret { return redact.NewSecret("not-a-real-token-of-anyone") }

// over runs f in a bubble with a client above the wire.
func over(t *testing.T, answer func(n int, req *http.Request) (*http.Response, error), f func(*testing.T, *ghsync.Client, *wire)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: answer, start: time.Now()}
		c, err := ghsync.New(transport.Options{Token: transport.StaticToken(transport.ModeToken, testSecret(), transport.Addresses{}), HTTP: w})
		if err != nil {
			t.Fatal(err)
		}
		f(t, c, w)
	})
}

func TestGitHub1ReadWaitsForRetryAfter(t *testing.T) {
	over(t, func(n int, _ *http.Request) (*http.Response, error) {
		if n == 1 {
			return respond(429, `{"message":"slow down"}`, "Retry-After", "7")
		}
		return respond(200, repoJSON)
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		r, err := c.Repository(t.Context(), "octo", "widgets")
		if err != nil || r.ID != 7 {
			t.Fatalf("repository %+v, %v", r, err)
		}
		if len(w.sent) != 2 || w.at(1) != 7*time.Second {
			t.Errorf("sent %d, second after %s, want 7s", len(w.sent), w.at(1))
		}
	})
}

// A limit of a minute is waited for, a longer one is the caller's to come back after.
func TestGitHub1LongLimitsAreNotWaitedFor(t *testing.T) {
	for seconds, waits := range map[int]bool{60: true, 61: false} {
		t.Run(fmt.Sprint(seconds), func(t *testing.T) {
			over(t, func(n int, _ *http.Request) (*http.Response, error) {
				if n == 1 {
					return respond(403, `{"message":"slow down"}`, "Retry-After", fmt.Sprint(seconds))
				}
				return respond(200, repoJSON)
			}, func(t *testing.T, c *ghsync.Client, w *wire) {
				_, err := c.Repository(t.Context(), "octo", "widgets")
				if wait, later := transport.Later(err); later == waits || later && wait != time.Minute+time.Second {
					t.Errorf("%d s: %v", seconds, err)
				}
				if elapsed, long := time.Since(w.start), time.Minute; waits && elapsed != long || !waits && elapsed > time.Second {
					t.Errorf("%d s: took %s", seconds, elapsed)
				}
			})
		})
	}
}

func TestGitHub2And4And9CreatingRequestIsSentOnceAndTyped(t *testing.T) {
	reset := errors.New("connection reset by peer")
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for name, tc := range map[string]struct {
		answer func() (*http.Response, error)
		check  func(error) bool
	}{
		"bare 429": {func() (*http.Response, error) { return respond(429, `{}`) }, func(err error) bool {
			var after *transport.RetryAfter
			return errors.As(err, &after) && after.Wait == time.Minute
		}},
		"limit without numbers": {func() (*http.Response, error) {
			return respond(403, `{"message":"API rate limit exceeded for user ID 9."}`)
		}, func(err error) bool {
			var after *transport.RetryAfter
			return errors.As(err, &after) && after.Wait == time.Minute
		}},
		"500":            {func() (*http.Response, error) { return respond(500, `{}`) }, isAmbiguous},
		"408":            {func() (*http.Response, error) { return respond(408, `<html></html>`) }, isAmbiguous},
		"reset":          {func() (*http.Response, error) { return nil, reset }, isAmbiguous},
		"unreadable 201": {func() (*http.Response, error) { return respond(201, `{"id":`) }, isAmbiguous},
		"cut, no type":   {func() (*http.Response, error) { return respond(201, `{"id":`, "Content-Type", "") }, isAmbiguous},
		"empty 201":      {func() (*http.Response, error) { return respond(201, "") }, isAmbiguous},
		"not dialled":    {func() (*http.Response, error) { return nil, dial }, func(err error) bool { return errors.As(err, new(*transport.Unsent)) }},
		"redirected":     {func() (*http.Response, error) { return respond(307, `{}`, "Location", "https://api.github.com/x") }, isMoved},
		"moved for good": {func() (*http.Response, error) { return respond(301, `{}`, "Location", "https://api.github.com/x") }, isMoved},
		"conflict":       {func() (*http.Response, error) { return respond(409, `{}`) }, func(err error) bool { return transport.HasCode(err, transport.CodeConflict) }},
		"gone":           {func() (*http.Response, error) { return respond(410, `{}`) }, transport.IsNotFound},
		"not accessible": {func() (*http.Response, error) {
			return respond(403, `{"message":"Resource not accessible by integration"}`)
		}, isForbidden},
		"label is there":  {func() (*http.Response, error) { return respond(422, labelExists) }, func(err error) bool { return err == nil }},
		"other rejection": {func() (*http.Response, error) { return respond(422, `{"message":"Validation Failed"}`) }, func(err error) bool { return transport.HasCode(err, transport.CodeValidation) }},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(int, *http.Request) (*http.Response, error) { return tc.answer() }, func(t *testing.T, c *ghsync.Client, w *wire) {
				_, err := c.EnsureLabel(t.Context(), octoWidgets, ghsync.Label{Name: "x", Color: "5319e7"})
				if !tc.check(err) {
					t.Errorf("error %T %v", err, err)
				}
				if len(w.sent) != 1 {
					t.Errorf("sent %d times, want once", len(w.sent))
				}
			})
		})
	}
}

const labelExists = `{"message":"Validation Failed","errors":[{"resource":"Label","code":"already_exists","field":"name"}]}`

func isAmbiguous(err error) bool { return errors.As(err, new(*transport.Ambiguous)) }
func isMoved(err error) bool     { return errors.As(err, new(*transport.Moved)) }
func isForbidden(err error) bool { return transport.HasCode(err, transport.CodeForbidden) }

func TestGitHub7IdempotentWriteIsRepeatedAfterReset(t *testing.T) {
	for name, tc := range map[string]struct {
		write  func(context.Context, *ghsync.Client) error
		answer string
		path   string
	}{
		"PATCH of a comment": {func(ctx context.Context, c *ghsync.Client) error {
			return (ghsync.Comments{Client: c}).Edit(ctx, octoWidgets, 5, text("x"))
		}, `{"id":5}`, "/issues/comments/5"},
		"DELETE of a label": {func(ctx context.Context, c *ghsync.Client) error { return c.RemoveLabel(ctx, octoWidgets, 1, "x y") }, `[]`, "/issues/1/labels/x%20y"},
		"a label put on": {func(ctx context.Context, c *ghsync.Client) error {
			_, err := c.AddLabel(ctx, octoWidgets, 1, "x")
			return err
		}, `[]`, "/issues/1/labels"},
	} {
		for how, fails := range map[string]func() (*http.Response, error){
			"reset": func() (*http.Response, error) { return nil, errors.New("connection reset by peer") },
			"502":   func() (*http.Response, error) { return respond(502, `{}`) },
			"408": func() (*http.Response, error) {
				return respond(408, `<html>408 Request Time-out</html>`, "Content-Type", "text/html")
			},
			"421":          func() (*http.Response, error) { return respond(421, ``) },
			"425":          func() (*http.Response, error) { return respond(425, ``) },
			"no route":     func() (*http.Response, error) { return nil, &net.OpError{Op: "dial", Err: errors.New("refused")} },
			"conflict":     func() (*http.Response, error) { return respond(409, `{}`) },
			"unreadable":   func() (*http.Response, error) { return respond(200, `{"id":`) },
			"cut, no type": func() (*http.Response, error) { return respond(200, `{"id":`, "Content-Type", "") },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				over(t, func(n int, _ *http.Request) (*http.Response, error) {
					if n < 3 {
						return fails()
					}
					return respond(200, tc.answer)
				}, func(t *testing.T, c *ghsync.Client, w *wire) {
					if err := tc.write(t.Context(), c); err != nil {
						t.Fatal(err)
					}
					if len(w.sent) != 3 || !strings.HasSuffix(w.sent[2].url, tc.path) || w.sent[2].body != w.sent[0].body {
						t.Errorf("sent %+v", w.sent)
					}
				})
			})
		}
	}
}

// A page of a proxy is not an answer of GitHub, whatever its status says.
func TestPageOfAProxyIsNotAnAnswer(t *testing.T) {
	over(t, func(n int, req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodGet && n > 2 {
			return respond(200, repoJSON)
		}
		return respond(200, "<html>wait</html>", "Content-Type", "text/html; charset=utf-8")
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		if _, err := c.Repository(t.Context(), "octo", "widgets"); err != nil || len(w.sent) != 3 {
			t.Errorf("%d sent: %v", len(w.sent), err)
		}
		if _, _, err := (ghsync.Comments{Client: c}).Create(t.Context(), octoWidgets, 1, text("x")); !errors.As(err, new(*transport.Ambiguous)) {
			t.Errorf("a comment: %v", err)
		}
	})
}

func TestConflictIsAskedTwiceMore(t *testing.T) {
	over(t, func(int, *http.Request) (*http.Response, error) { return respond(409, `{}`) }, func(t *testing.T, c *ghsync.Client, w *wire) {
		_, err := c.Repository(t.Context(), "octo", "widgets")
		if !transport.HasCode(err, transport.CodeConflict) || len(w.sent) != 3 {
			t.Errorf("sent %d, error %v", len(w.sent), err)
		}
	})
}

func TestReadGivesUpAfterFiveTries(t *testing.T) {
	over(t, func(int, *http.Request) (*http.Response, error) { return respond(502, "<html>") }, func(t *testing.T, c *ghsync.Client, w *wire) {
		_, err := c.Repository(t.Context(), "octo", "widgets")
		if wait, later := transport.Later(err); !later || wait == 0 || len(w.sent) != 5 {
			t.Errorf("sent %d, error %v", len(w.sent), err)
		}
	})
}

func TestGitHub3NothingIsSentBeforeTheReset(t *testing.T) {
	over(t, func(n int, _ *http.Request) (*http.Response, error) {
		if n == 1 {
			reset := fmt.Sprint(time.Now().Add(20 * time.Minute).Unix())
			return respond(403, `{"message":"API rate limit exceeded"}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Limit", "5000", "X-RateLimit-Reset", reset)
		}
		return respond(200, repoJSON)
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		for range 3 {
			_, err := c.Repository(t.Context(), "octo", "widgets")
			var after *transport.RetryAfter
			if !errors.As(err, &after) || after.Wait != 20*time.Minute+time.Second || after.Scope != "primary" {
				t.Fatalf("error %v", err)
			}
		}
		if len(w.sent) != 1 {
			t.Fatalf("sent %d before the reset", len(w.sent))
		}
		if _, _, err := (ghsync.Intake{Client: c}).SearchIssues(t.Context(), "is:issue", 1); err != nil {
			t.Errorf("a search, which has a limit of its own: %v", err)
		}
		<-time.After(20*time.Minute + 2*time.Second)
		if _, err := c.Repository(t.Context(), "octo", "widgets"); err != nil {
			t.Errorf("after the reset: %v", err)
		}
	})
}

func TestGitHub17LittleQuotaLeftIsForFinishing(t *testing.T) {
	left := "500" // a tenth: everything passes
	over(t, func(int, *http.Request) (*http.Response, error) {
		reset := fmt.Sprint(time.Now().Add(time.Hour).Unix())
		return respond(200, repoJSON, "X-RateLimit-Remaining", left, "X-RateLimit-Limit", "5000", "X-RateLimit-Reset", reset)
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		read := func(p transport.Priority) error {
			_, err := c.Repository(transport.WithPriority(t.Context(), p), "octo", "widgets")
			return err
		}
		for _, n := range []string{"500", "500", "499"} {
			left = n
			if err := read(transport.PriorityDiscovery); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range []transport.Priority{transport.PriorityDiscovery, transport.PriorityMirror} {
			if err := read(p); !errors.As(err, new(*transport.RetryAfter)) {
				t.Errorf("priority %d passed: %v", p, err)
			}
		}
		if err := read(transport.PriorityFinishing); err != nil {
			t.Errorf("finishing held back: %v", err)
		}
		if len(w.sent) != 4 {
			t.Errorf("sent %d", len(w.sent))
		}
	})
}

func TestGitHub10CancelEndsALimitWaitAtOnce(t *testing.T) {
	over(t, func(int, *http.Request) (*http.Response, error) {
		return respond(429, `{}`, "Retry-After", "50")
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := c.Repository(ctx, "octo", "widgets")
		if elapsed := time.Since(w.start); !errors.Is(err, context.Canceled) || elapsed > 1100*time.Millisecond {
			t.Errorf("after %s: %v", elapsed, err)
		}
	})
}

func TestSecurity23RedirectOfARead(t *testing.T) {
	for name, tc := range map[string]struct {
		to      string
		follows bool
	}{
		"same origin": {"https://api.github.com/repositories/7", true},
		"other host":  {"https://evil.example/repositories/7", false},
		"other port":  {"https://api.github.com:8443/repositories/7", false},
		"plain http":  {"http://api.github.com/repositories/7", false},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(_ int, req *http.Request) (*http.Response, error) {
				if strings.HasSuffix(req.URL.Path, "/widgets") {
					return respond(301, `{}`, "Location", tc.to)
				}
				return respond(200, repoJSON)
			}, func(t *testing.T, c *ghsync.Client, w *wire) {
				_, err := c.Repository(t.Context(), "octo", "widgets")
				if tc.follows && (err != nil || len(w.sent) != 2) {
					t.Errorf("not followed: %v, sent %d", err, len(w.sent))
				}
				if !tc.follows && (!isMoved(err) || len(w.sent) != 1) {
					t.Errorf("error %v, sent %d", err, len(w.sent))
				}
			})
		})
	}
}

// Three times a read is sent on, and no fourth time.
func TestGitHub8AReadIsFollowedThreeTimes(t *testing.T) {
	for hops, follows := range map[int]bool{3: true, 4: false} {
		t.Run(fmt.Sprint(hops), func(t *testing.T) {
			over(t, func(n int, _ *http.Request) (*http.Response, error) {
				if n <= hops {
					return respond(301, `{}`, "Location", fmt.Sprintf("https://api.github.com/repositories/%d", n))
				}
				return respond(200, repoJSON)
			}, func(t *testing.T, c *ghsync.Client, w *wire) {
				_, err := c.Repository(t.Context(), "octo", "widgets")
				if follows != (err == nil) || !follows && !isMoved(err) || len(w.sent) != 4 {
					t.Errorf("%d hops: %v, sent %d", hops, err, len(w.sent))
				}
			})
		})
	}
}

func TestUnchangedReadsAreConditional(t *testing.T) {
	over(t, func(n int, req *http.Request) (*http.Response, error) {
		if req.Header.Get("Authorization") == "" {
			t.Error("a conditional request without the token never hits")
		}
		if req.Header.Get("If-None-Match") == `"v1"` {
			return respond(304, "", "ETag", `"v1"`)
		}
		return respond(200, repoJSON, "ETag", `"v1"`)
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		for range 5 {
			r, err := c.Repository(t.Context(), "octo", "widgets")
			if err != nil || r.ID != 7 {
				t.Fatalf("repository %+v, %v", r, err)
			}
		}
		full := 0
		for _, s := range w.sent {
			if s.header.Get("If-None-Match") == "" {
				full++
			}
		}
		if full != 1 || len(w.sent) != 5 {
			t.Errorf("%d of %d requests unconditional, want 1 of 5", full, len(w.sent))
		}
	})
}

func TestBareLimitsGrow(t *testing.T) {
	over(t, func(n int, _ *http.Request) (*http.Response, error) {
		if n == 7 {
			return respond(201, `{"name":"x"}`)
		}
		return respond(429, `{}`)
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		var waits []time.Duration
		for i := range 8 {
			_, err := c.EnsureLabel(t.Context(), octoWidgets, ghsync.Label{Name: "x"})
			if i == 6 && err == nil {
				continue // the limit has passed, and its growth with it
			}
			var after *transport.RetryAfter
			if !errors.As(err, &after) {
				t.Fatal(err)
			}
			waits = append(waits, after.Wait)
			<-time.After(after.Wait + time.Second)
		}
		want := "[1m0s 2m0s 4m0s 8m0s 15m0s 15m0s 1m0s]"
		if fmt.Sprint(waits) != want {
			t.Errorf("waits %v, want %s", waits, want)
		}
	})
}

func TestWritesAreASecondApart(t *testing.T) {
	over(t, func(int, *http.Request) (*http.Response, error) { return respond(201, `{"name":"x"}`) }, func(t *testing.T, c *ghsync.Client, w *wire) {
		var done sync.WaitGroup
		for i := range 4 {
			done.Go(func() {
				ctx := transport.WithPriority(t.Context(), []transport.Priority{transport.PriorityFinishing, transport.PriorityMirror}[i%2])
				_, err := c.EnsureLabel(ctx, octoWidgets, ghsync.Label{Name: "x"})
				if err = errors.Join(err, (ghsync.Comments{Client: c}).Edit(ctx, octoWidgets, 1, text("x"))); err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
		for i := 1; i < len(w.sent); i++ {
			if gap := w.sent[i].at - w.sent[i-1].at; gap < 990*time.Millisecond {
				t.Errorf("write %d came %s after the one before", i, gap)
			}
		}
	})
}

// Where nothing can be made, it is the place that is missing.
func TestWhatIsMissingIsNamed(t *testing.T) {
	over(t, func(int, *http.Request) (*http.Response, error) { return respond(404, `{}`) }, func(t *testing.T, c *ghsync.Client, _ *wire) {
		_, _, comment := (ghsync.Comments{Client: c}).Create(t.Context(), octoWidgets, 1, text("x"))
		_, label := c.AddLabel(t.Context(), octoWidgets, 1, "x")
		_, pull := (&ghsync.PullRequest{Client: c}).Ensure(t.Context(), wantPR())
		for kind, err := range map[string]error{
			"issue": comment, "issue not found": label, "repository": pull, "comment": (ghsync.Comments{Client: c}).Edit(t.Context(), octoWidgets, 7, text("x")),
		} {
			if !transport.IsNotFound(err) || !strings.Contains(err.Error(), ": "+kind) {
				t.Errorf("%v, want %s", err, kind)
			}
		}
	})
}

func TestMissingIsAskedAgainOnlyWhenJustNamed(t *testing.T) {
	missing := func(int, *http.Request) (*http.Response, error) { return respond(404, `{}`) }
	over(t, missing, func(t *testing.T, c *ghsync.Client, w *wire) {
		if _, err := c.Issue(t.Context(), octoWidgets, 3); !transport.IsNotFound(err) || len(w.sent) != 1 {
			t.Errorf("sent %d, error %v", len(w.sent), err)
		}
	})
	over(t, missing, func(t *testing.T, c *ghsync.Client, w *wire) {
		_, err := c.Issue(transport.JustNamed(t.Context()), octoWidgets, 3)
		if !transport.IsNotFound(err) || len(w.sent) != 3 || w.at(1) != 2*time.Second || w.at(2) != 6*time.Second {
			t.Errorf("sent %+v, error %v", w.sent, err)
		}
	})
}

func TestForeignOriginsAreRefused(t *testing.T) {
	for _, bad := range []transport.Options{
		{APIURL: "http://github.example/"},
		{APIURL: "https://user:pass@github.example/"},
		{APIURL: "https://a.example/", GraphQLURL: "https://b.example/graphql"},
		{APIURL: "not a url"},
	} {
		t.Run(bad.APIURL+" "+bad.GraphQLURL, func(t *testing.T) {
			bad.Token = transport.StaticToken(transport.ModeToken, testSecret(), transport.Addresses{})
			if _, err := ghsync.New(bad); err == nil {
				t.Errorf("accepted %q, %q", bad.APIURL, bad.GraphQLURL)
			}
		})
	}
}
