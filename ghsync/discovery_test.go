package ghsync_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
)

func discovering(ctx context.Context) context.Context {
	return transport.WithPriority(ctx, transport.PriorityDiscovery)
}

// However much there is to discover, it takes half of the pace of each kind of call, and calls
// for sessions wait for none of it.
func TestGitHub86DiscoveryTakesHalfOfEachPace(t *testing.T) {
	for name, c := range map[string]struct {
		limits transport.Limits
		mode   transport.Mode
		call   func(context.Context, *ghsync.Client) error
		during time.Duration
		most   int // calls of discovery in that time
	}{
		"reads":    {transport.Limits{}, transport.ModeToken, readRepository, time.Minute, 5 + 150},
		"searches": {transport.Limits{}, transport.ModeToken, search, 10 * time.Minute, 1 + 50},
		"hourly":   {transport.Limits{ReadsPerSecond: 1000}, transport.ModeActions, readRepository, 2 * time.Hour, 75 + 600},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{start: time.Now(), answer: func(_ int, req *http.Request) (*http.Response, error) {
					if strings.Contains(req.URL.Path, "/search/") {
						return respond(200, `{"total_count":0,"items":[]}`)
					}
					return respond(200, repoJSON)
				}}
				client, err := ghsync.New(transport.Options{Token: transport.StaticToken(c.mode, testSecret(), transport.Addresses{}), HTTP: w, Limits: c.limits})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), c.during)
				defer cancel()
				var done sync.WaitGroup
				for range 8 {
					done.Go(func() {
						for ctx.Err() == nil {
							var later *transport.RetryAfter
							if err := c.call(discovering(ctx), client); errors.As(err, &later) {
								transport.Wait(ctx, later.Wait)
							}
						}
					})
				}
				synctest.Wait()
				began := time.Now()
				if err := c.call(t.Context(), client); err != nil || time.Since(began) > 0 {
					t.Errorf("a call for a session took %s: %v", time.Since(began), err)
				}
				done.Wait()
				if sent := len(w.sent) - 1; sent > c.most+1 || sent < c.most*9/10 {
					t.Errorf("%d calls in %s, want %d", sent, c.during, c.most)
				}
			})
		})
	}
}

// What a discovered thing leads to seldom waits behind the next discoveries, also where both together would be more
// than the pace of reads. What may be sent at once at the start is not counted.
func TestGitHub86AReadThatFollowsADiscoveryDoesNotWait(t *testing.T) {
	over(t, func(int, *http.Request) (*http.Response, error) { return respond(200, repoJSON) }, func(t *testing.T, c *ghsync.Client, w *wire) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var done sync.WaitGroup
		var follow, late atomic.Int32
		for range 20 {
			done.Go(func() {
				for readRepository(discovering(ctx), c) == nil {
					for range 2 {
						began := time.Now()
						err := readRepository(t.Context(), c)
						if began.Sub(w.start) < 10*time.Second {
							continue
						}
						if follow.Add(1); err != nil || time.Since(began) > time.Millisecond {
							late.Add(1)
						}
					}
				}
			})
		}
		done.Wait()
		if n := follow.Load(); n < 120 || late.Load() > n/4 {
			t.Errorf("of %d reads that followed %d waited", n, late.Load())
		}
	})
}

func readRepository(ctx context.Context, c *ghsync.Client) error {
	_, err := c.Repository(ctx, "octo", "widgets")
	return err
}

func search(ctx context.Context, c *ghsync.Client) error {
	_, _, err := (ghsync.Intake{Client: c}).SearchIssues(ctx, "is:issue", 1)
	return err
}

// A server that is slow to answer discovery has two places left for sessions.
func TestGitHub86DiscoveryTakesHalfOfThePlaces(t *testing.T) {
	over(t, func(_ int, req *http.Request) (*http.Response, error) {
		if strings.HasSuffix(req.URL.Path, "/issues") {
			<-time.After(30 * time.Second)
			return respond(200, `[]`)
		}
		return respond(200, repoJSON)
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		var done sync.WaitGroup
		for range 8 {
			done.Go(func() { _, _, _ = (ghsync.Intake{Client: c}).RecentIssues(discovering(t.Context()), octoWidgets, 1) })
		}
		<-time.After(20 * time.Second)
		began := time.Now()
		if err := readRepository(t.Context(), c); err != nil || time.Since(began) > time.Second {
			t.Errorf("a call for a session took %s: %v", time.Since(began), err)
		}
		done.Wait()
	})
}

// Of the server's quota discovery uses half, too. What was not changed costs nothing of it.
func TestGitHub86DiscoveryTakesHalfOfTheQuota(t *testing.T) {
	const limit = 60
	used, reset := 0, time.Time{}
	over(t, func(_ int, req *http.Request) (*http.Response, error) {
		if !time.Now().Before(reset) {
			used, reset = 0, time.Now().Add(time.Hour).Truncate(time.Second)
		}
		status, body, tag := 200, repoJSON, ""
		if strings.HasSuffix(req.URL.Path, "/comments") {
			body, tag = "[]", `"t"`
		}
		if req.Header.Get("If-None-Match") != "" {
			status = 304
		} else {
			used++
		}
		return respond(status, body, "ETag", tag, "X-RateLimit-Limit", fmt.Sprint(limit), "X-RateLimit-Remaining", fmt.Sprint(limit-used),
			"X-RateLimit-Reset", fmt.Sprint(reset.Unix()))
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		for hour := range 2 {
			var v transport.Validator
			for range 20 {
				if _, _, err := (ghsync.Intake{Client: c}).RecentComments(v.Context(discovering(t.Context())), octoWidgets, 1); err != nil {
					t.Fatal(err)
				}
				v.Keep()
			}
			for range 3 { // for sessions
				if err := readRepository(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			var err error
			for err == nil {
				err = readRepository(discovering(t.Context()), c)
			}
			var later *transport.RetryAfter
			if !errors.As(err, &later) || later.Scope != "own" || time.Now().Add(later.Wait).Before(reset) {
				t.Fatalf("hour %d: %v", hour, err)
			}
			if q := c.Quotas()["core"]; used != limit/2+3 || q.Discovery != limit/2 {
				t.Errorf("hour %d: %d used of %d, known as %+v", hour, used, limit, q)
			}
			if err := readRepository(t.Context(), c); err != nil {
				t.Errorf("hour %d: a call for a session: %v", hour, err)
			}
			<-time.After(later.Wait)
		}
	})
}

// One installation at its limit holds up no other one.
func TestGitHub86AnIdentityAtItsLimitHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clients []*ghsync.Client
		for _, limited := range []bool{true, false} {
			w := &wire{start: time.Now(), answer: func(int, *http.Request) (*http.Response, error) {
				if limited {
					return respond(403, `{"message":"API rate limit exceeded"}`, "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0",
						"X-RateLimit-Reset", fmt.Sprint(time.Now().Add(time.Hour).Unix()))
				}
				return respond(200, repoJSON)
			}}
			c, err := ghsync.New(transport.Options{Token: transport.StaticToken(transport.ModeToken, testSecret(), transport.Addresses{}), HTTP: w})
			if err != nil {
				t.Fatal(err)
			}
			clients = append(clients, c)
		}
		for range 3 {
			if err := readRepository(discovering(t.Context()), clients[0]); !errors.As(err, new(*transport.RetryAfter)) {
				t.Errorf("at the limit: %v", err)
			}
			began := time.Now()
			if err := readRepository(discovering(t.Context()), clients[1]); err != nil || time.Since(began) > 0 {
				t.Errorf("the other one after %s: %v", time.Since(began), err)
			}
		}
	})
}

// A validator brings a list once, whatever its size, and again if it was not worked through. Other
// readers of the address get it as always.
func TestGitHub11AValidatorBringsAListOnce(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	const all = 17 // of which the list is more than what the transport stores of an answer
	for range all {
		r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read", Body: strings.Repeat("x", 65_000)})
	}
	c := clientOf(t, s, botLogin)
	in, v := ghsync.Intake{Client: c}, &transport.Validator{}
	read := func(want int) {
		t.Helper()
		issues, _, err := in.RecentIssues(v.Context(t.Context()), octoWidgets, 1)
		if err != nil || len(issues) != want || v.Unchanged() != (want == 0) {
			t.Errorf("%d issues, want %d, unchanged %t, %v", len(issues), want, v.Unchanged(), err)
		}
	}
	read(all)
	read(all)
	v.Keep()
	before := s.Requests(botLogin)
	for range 3 {
		read(0)
		v.Keep()
	}
	if n := s.Requests(botLogin) - before; n != 0 {
		t.Errorf("%d counted requests for nothing new", n)
	}
	if issues, _, err := in.RecentIssues(t.Context(), octoWidgets, 1); err != nil || len(issues) != all {
		t.Errorf("another reader: %d issues, %v", len(issues), err)
	}
	r.Label(1, "agentmux", "write")
	read(all)
	read(all)
	v.Keep()
	read(0)
	v.Forget()
	read(all)
}

// An answer that was cut is not the one that is known.
func TestAValidatorKeepsNoAnswerThatWasCut(t *testing.T) {
	s := world(t)
	s.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	s.Inject(fakehub.Fault{Route: "GET .../issues", CutAfter: 20})
	in, v := ghsync.Intake{Client: clientOf(t, s, botLogin)}, &transport.Validator{}
	if _, _, err := in.RecentIssues(v.Context(t.Context()), octoWidgets, 1); err == nil {
		t.Fatal("half an answer was read")
	}
	s.Heal()
	if issues, _, err := in.RecentIssues(v.Context(t.Context()), octoWidgets, 1); err != nil || len(issues) != 1 {
		t.Errorf("%d issues, %v", len(issues), err)
	}
}
