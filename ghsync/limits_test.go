package ghsync_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

func TestHugeAnswersAreRefused(t *testing.T) {
	const start, end = `{"id":7,"permissions":{"pull":true},"name":"`, `"}`
	for size, taken := range map[int]bool{32 << 20: true, 32<<20 + 1: false} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			over(t, func(int, *http.Request) (*http.Response, error) {
				// The type of a body of which nothing but the object is looked into.
				return respond(200, start+end+strings.Repeat("x", size-len(start)-len(end)), "Content-Type", "text/plain")
			}, func(t *testing.T, c *ghsync.Client, w *wire) {
				_, err := c.Repository(t.Context(), "octo", "widgets")
				if _, later := transport.Later(err); later || taken != (err == nil) || len(w.sent) != 1 {
					t.Errorf("%d bytes: sent %d, error %v", size, len(w.sent), err)
				}
			})
		})
	}
}

// An answer that never ends takes a minute from a call, which has time for another try.
func TestOneTryLastsAMinute(t *testing.T) {
	over(t, func(n int, req *http.Request) (*http.Response, error) {
		resp, err := respond(200, repoJSON)
		if n == 1 {
			read, write := io.Pipe()
			context.AfterFunc(req.Context(), func() { write.CloseWithError(req.Context().Err()) })
			resp.Body = read
		}
		return resp, err
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		if _, err := c.Repository(t.Context(), "octo", "widgets"); err != nil || len(w.sent) != 2 || w.at(1).Round(3*time.Second) != time.Minute {
			t.Errorf("sent %d: %v", len(w.sent), err)
		}
	})
}

func TestCallEndsWithinTwoMinutes(t *testing.T) {
	over(t, func(_ int, req *http.Request) (*http.Response, error) {
		<-req.Context().Done() // a server that takes the request and says nothing
		return nil, req.Context().Err()
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		_, err := c.Repository(t.Context(), "octo", "widgets")
		elapsed := time.Since(w.start)
		if _, later := transport.Later(err); !later || elapsed > 2*time.Minute+time.Second || elapsed < 30*time.Second {
			t.Errorf("after %s: %v", elapsed, err)
		}
	})
}

func TestSixtyCommentsAMinute(t *testing.T) {
	over(t, func(int, *http.Request) (*http.Response, error) { return respond(201, `{"id":1}`) }, func(t *testing.T, c *ghsync.Client, w *wire) {
		comments := ghsync.Comments{Client: c}
		for range 130 {
			if _, _, err := comments.Create(t.Context(), octoWidgets, 1, text("x")); err != nil {
				t.Fatal(err)
			}
		}
		for i := 61; i < len(w.sent); i++ {
			if gap := w.sent[i].at - w.sent[i-61].at; gap < 59*time.Second {
				t.Fatalf("61 comments within %s", gap)
			}
		}
	})
}

func TestHourOfContentIsBoundedButForTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{start: time.Now(), answer: func(int, *http.Request) (*http.Response, error) { return respond(201, `{"id":1}`) }}
		c, err := ghsync.New(transport.Options{
			Token: transport.StaticToken(transport.ModeToken, testSecret(), transport.Addresses{}), HTTP: w, Limits: transport.Limits{ContentPerMinute: 1000, ContentPerHour: 20},
		})
		if err != nil {
			t.Fatal(err)
		}
		comments := ghsync.Comments{Client: c}
		for range 5 {
			if _, _, err := comments.Create(t.Context(), octoWidgets, 1, text("x")); err != nil {
				t.Fatal(err)
			}
		}
		var after *transport.RetryAfter
		for range 3 { // what is refused takes no place
			if _, _, err := comments.Create(t.Context(), octoWidgets, 1, text("x")); !errors.As(err, &after) || after.Wait < time.Minute || after.Wait > 3*time.Minute {
				t.Errorf("the sixth: %v", err)
			}
		}
		if _, _, err := comments.Create(transport.WithPriority(t.Context(), transport.PriorityFinishing), octoWidgets, 1, text("x")); err != nil {
			t.Errorf("a final comment was held back: %v", err)
		}
	})
}

// However much there is to edit, what is new is sent at once, and the edits have all of the rest.
func TestEditsLeaveRoomForWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{start: time.Now(), answer: func(int, *http.Request) (*http.Response, error) { return respond(200, `{"id":1}`) }}
		c, err := ghsync.New(transport.Options{Token: transport.StaticToken(transport.ModeToken, testSecret(), transport.Addresses{}), HTTP: w})
		if err != nil {
			t.Fatal(err)
		}
		comments := ghsync.Comments{Client: c}
		const hours, each = 4, 25
		ctx, cancel := context.WithTimeout(t.Context(), hours*time.Hour)
		defer cancel()
		var done sync.WaitGroup
		var edits atomic.Int32
		for range 8 {
			done.Go(func() {
				for ctx.Err() == nil {
					err := comments.Edit(ctx, octoWidgets, 1, text("y"))
					var later *transport.RetryAfter
					switch {
					case errors.As(err, &later):
						<-time.After(later.Wait)
					case err == nil:
						edits.Add(1)
					}
				}
			})
		}
		for range hours - 1 {
			<-time.After(55 * time.Minute)
			began := time.Now()
			for range each {
				if _, _, err := comments.Create(t.Context(), octoWidgets, 1, text("x")); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(began); took > 2*each*time.Second { // a second each, as the edits on their way
				t.Errorf("%d comments took %s", each, took)
			}
		}
		done.Wait()
		const all = 100 + hours*400
		if n := int(edits.Load()) + (hours-1)*each; n < all*95/100 || n > all {
			t.Errorf("%d writes, want about %d", n, all)
		}
	})
}

// Four requests are on their way at a time, one of them a write; who gives up waiting makes
// no room for another.
func TestRequestsInFlight(t *testing.T) {
	var flying, reads, writes, mostReads, mostWrites, most int
	var mu sync.Mutex
	over(t, func(_ int, req *http.Request) (*http.Response, error) {
		kind := map[bool]*int{true: &reads, false: &writes}[req.Method == http.MethodGet]
		mu.Lock()
		*kind, flying = *kind+1, flying+1
		mostReads, mostWrites, most = max(mostReads, reads), max(mostWrites, writes), max(most, flying)
		mu.Unlock()
		<-time.After(20 * time.Second)
		mu.Lock()
		*kind, flying = *kind-1, flying-1
		mu.Unlock()
		return respond(201, `{"id":1,"name":"x","owner":{},"permissions":{"pull":true}}`)
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		var done sync.WaitGroup
		brief, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		write := func(ctx context.Context) error {
			_, _, err := (ghsync.Comments{Client: c}).Create(ctx, octoWidgets, 1, text("x"))
			return err
		}
		start := func(call func(context.Context) error, ctx context.Context, want error) {
			done.Go(func() {
				if err := call(ctx); !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			})
			synctest.Wait()
		}
		start(write, t.Context(), nil)
		start(write, t.Context(), nil)
		start(write, brief, context.DeadlineExceeded)
		start(write, t.Context(), nil)
		<-brief.Done()
		synctest.Wait()
		for range 6 {
			start(func(ctx context.Context) error { _, err := c.Repository(ctx, "octo", "widgets"); return err }, t.Context(), nil)
		}
		done.Wait()
		if most != 4 || mostWrites != 1 || mostReads < 3 {
			t.Errorf("%d requests at a time, %d reads, %d writes", most, mostReads, mostWrites)
		}
	})
}

// A call that waits for the pace of its kind has no place among those on their way.
func TestWhatWaitsForItsPaceHoldsUpNothingElse(t *testing.T) {
	over(t, func(_ int, req *http.Request) (*http.Response, error) {
		if strings.Contains(req.URL.Path, "/search/") {
			return respond(200, `{"total_count":0,"items":[]}`)
		}
		return respond(200, repoJSON)
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		var done sync.WaitGroup
		for range 7 {
			done.Go(func() { _, _, _ = (ghsync.Intake{Client: c}).SearchIssues(t.Context(), "is:issue", 1) })
		}
		synctest.Wait()
		began := time.Now()
		for range 5 {
			if _, err := c.Repository(transport.WithPriority(t.Context(), transport.PriorityFinishing), "octo", "widgets"); err != nil {
				t.Error(err)
			}
		}
		if elapsed := time.Since(began); elapsed > 0 {
			t.Errorf("reads took %s behind searches", elapsed)
		}
		done.Wait()
		if elapsed := time.Since(began); elapsed < 20*time.Second {
			t.Errorf("seven searches took %s", elapsed)
		}
	})
}

// The most urgent call is next for the pace of its kind, whichever came before.
func TestAFinishingCallWaitsForThePaceOfOne(t *testing.T) {
	over(t, func(int, *http.Request) (*http.Response, error) { return respond(200, repoJSON) }, func(t *testing.T, c *ghsync.Client, w *wire) {
		var done sync.WaitGroup
		for range 60 {
			done.Go(func() { _, _ = c.Repository(t.Context(), "octo", "widgets") })
		}
		synctest.Wait()
		began := time.Now()
		if _, err := c.Repository(transport.WithPriority(t.Context(), transport.PriorityFinishing), "octo", "widgets"); err != nil || time.Since(began) > time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		done.Wait()
	})
}

// A call that one limit refuses takes nothing of another.
func TestWhatIsRefusedTakesNothingOfOtherLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{start: time.Now(), answer: func(_ int, req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodGet {
				return respond(200, repoJSON)
			}
			return respond(201, `{"id":1}`)
		}}
		c, err := ghsync.New(transport.Options{
			Token: transport.StaticToken(transport.ModeToken, testSecret(), transport.Addresses{}), HTTP: w,
			Limits: transport.Limits{PerHour: 40, ContentPerMinute: 60, ContentPerHour: 4},
		})
		if err != nil {
			t.Fatal(err)
		}
		comment := func(ctx context.Context) error {
			_, _, err := (ghsync.Comments{Client: c}).Create(ctx, octoWidgets, 1, text("x"))
			return err
		}
		if err := comment(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Millisecond)
		for range 10 {
			if err := comment(t.Context()); !errors.As(err, new(*transport.RetryAfter)) {
				t.Errorf("a second comment: %v", err)
			}
		}
		for range 9 {
			if _, err := c.Repository(t.Context(), "octo", "widgets"); err != nil {
				t.Fatalf("the reads pay for what was refused: %v", err)
			}
		}
	})
}

// The jobs of a repository have its requests together: a job that is told of others leaves them theirs, and has all again
// when they end. The token of an App has no such limit.
func TestAJobLeavesTheRequestsOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		mode   transport.Mode
		others int
		each   int
		lasts  time.Duration // that many requests, of which a quarter of an hour's may be sent at once
	}{
		"alone":                {transport.ModeActions, 0, 600, time.Hour},
		"one of three":         {transport.ModeActions, 2, 200, 3 * time.Hour},
		"one of a thousand":    {transport.ModeActions, 999, 1, 600 * time.Hour},
		"the token of an App":  {transport.ModeApp, 2, 0, 0},
		"others that are over": {transport.ModeActions, -2, 600, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{start: time.Now(), answer: func(int, *http.Request) (*http.Response, error) { return respond(200, repoJSON) }}
				shared := transport.NewProcess(w).Share(transport.Limits{ReadsPerSecond: 1e6}.Of(c.mode))
				client, err := ghsync.New(transport.Options{Token: transport.StaticToken(c.mode, testSecret(), transport.Addresses{}), Shared: shared})
				if err != nil {
					t.Fatal(err)
				}
				if c.others < 0 {
					shared.Divide(1 - c.others)
					c.others = 0
				}
				if each := shared.Divide(1 + c.others); each != c.each {
					t.Errorf("%d requests an hour, want %d", each, c.each)
				}
				began, after := time.Now(), (*transport.RetryAfter)(nil)
				for sent := 0; sent < 600; {
					switch _, err := client.Repository(t.Context(), "octo", "widgets"); {
					case errors.As(err, &after):
						<-time.After(after.Wait)
					case err != nil:
						t.Fatal(err)
					default:
						sent++
					}
				}
				least, most := c.lasts*3/5, c.lasts+time.Minute
				if took := time.Since(began); took < least || took > most {
					t.Errorf("600 requests took %s, want %s to %s", took, least, most)
				}
			})
		})
	}
}

// A call that gives up its wait gives back what it had of all limits.
func TestWhatGivesUpTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{start: time.Now(), answer: func(int, *http.Request) (*http.Response, error) { return respond(200, repoJSON) }}
		c, err := ghsync.New(transport.Options{
			Token: transport.StaticToken(transport.ModeToken, testSecret(), transport.Addresses{}), HTTP: w,
			Limits: transport.Limits{PerHour: 80, ReadsPerSecond: 0.05},
		})
		if err != nil {
			t.Fatal(err)
		}
		read := func(ctx context.Context) error { _, err := c.Repository(ctx, "octo", "widgets"); return err }
		for range 2 {
			if err := read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for range 30 { // each would wait for the pace of reads
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			if err := read(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		}
		began := time.Now()
		if err := read(t.Context()); err != nil || time.Since(began) > 21*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// After a limit, reads wait for its end where that is near; what creates comes back later.
func TestLimitHoldsOtherCalls(t *testing.T) {
	over(t, func(n int, req *http.Request) (*http.Response, error) {
		switch {
		case n == 1:
			return respond(429, `{}`, "Retry-After", "30")
		case req.Method == http.MethodGet:
			return respond(200, repoJSON)
		}
		return respond(201, `{"id":1}`)
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		for i := range 2 {
			if _, _, err := (ghsync.Comments{Client: c}).Create(t.Context(), octoWidgets, 1, text("x")); !errors.As(err, new(*transport.RetryAfter)) {
				t.Errorf("comment %d: %v", i, err)
			}
		}
		brief, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := c.Repository(brief, "octo", "widgets"); !errors.As(err, new(*transport.RetryAfter)) || len(w.sent) != 1 {
			t.Errorf("without the time to wait: %v, sent %d", err, len(w.sent))
		}
		if _, _, err := (ghsync.Intake{Client: c}).SearchIssues(brief, "is:issue", 1); !errors.As(err, new(*transport.RetryAfter)) || len(w.sent) != 1 {
			t.Errorf("a search: %v, sent %d", err, len(w.sent))
		}
		if _, err := c.Repository(t.Context(), "octo", "widgets"); err != nil || len(w.sent) != 2 || w.at(1)-w.at(0) != 30*time.Second {
			t.Errorf("with it: %v, sent %+v", err, w.sent)
		}
	})
}

func TestUrgentWritesGoFirst(t *testing.T) {
	over(t, func(int, *http.Request) (*http.Response, error) { return respond(201, `[]`) }, func(t *testing.T, c *ghsync.Client, w *wire) {
		write := func(p transport.Priority, name string) {
			if _, err := c.AddLabel(transport.WithPriority(t.Context(), p), octoWidgets, 1, name); err != nil {
				t.Error(err)
			}
		}
		var done sync.WaitGroup
		start := func(p transport.Priority, name string) {
			done.Go(func() { write(p, name) })
			synctest.Wait()
		}
		start(transport.PriorityDiscovery, "first")
		start(transport.PriorityDiscovery, "running")
		start(transport.PriorityDiscovery, "last")
		start(transport.PriorityMirror, "third")
		start(transport.PriorityFinishing, "second")
		done.Wait()
		var order []string
		for _, s := range w.sent {
			order = append(order, s.body)
		}
		want := "first running second third last"
		got := strings.NewReplacer(`{"labels":["`, "", `"]}`, "", "\n", "").Replace(strings.Join(order, " "))
		if got != want {
			t.Errorf("order %q, want %q", got, want)
		}
	})
}

func TestActionsTokenHasAnHourlyBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{start: time.Now(), answer: func(int, *http.Request) (*http.Response, error) { return respond(200, repoJSON) }}
		c, err := ghsync.New(transport.Options{Token: transport.StaticToken(transport.ModeActions, testSecret(), transport.Addresses{}), HTTP: w, Limits: transport.Limits{ReadsPerSecond: 1000}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		for time.Since(w.start) < time.Hour && len(w.sent) < 5000 {
			if _, err := c.Repository(ctx, "octo", "widgets"); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(w.sent); n > 750 || n < 500 {
			t.Errorf("%d requests in an hour", n)
		}
	})
}

func TestTooQuicklyShutsContentOnly(t *testing.T) {
	over(t, func(n int, req *http.Request) (*http.Response, error) {
		if n == 1 {
			return respond(403, `{"message":"was submitted too quickly"}`)
		}
		return respond(201, `[]`)
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		comments := ghsync.Comments{Client: c}
		for i := range 2 {
			var after *transport.RetryAfter
			_, _, err := comments.Create(t.Context(), octoWidgets, 1, text(fmt.Sprint(i)))
			if !errors.As(err, &after) || after.Scope != "content" || after.Wait != 10*time.Minute {
				t.Errorf("comment %d: %v", i, err)
			}
		}
		if _, err := c.AddLabel(t.Context(), octoWidgets, 1, "x"); err != nil {
			t.Errorf("a label was held back: %v", err)
		}
		if err := comments.Delete(t.Context(), octoWidgets, 7); err != nil {
			t.Errorf("a deletion was held back: %v", err)
		}
		var after *transport.RetryAfter
		if _, err := (&ghsync.PullRequest{Client: c}).Ensure(t.Context(), wantPR()); !errors.As(err, &after) || after.Scope != "content" {
			t.Errorf("a pull request: %v", err)
		}
		if len(w.sent) != 4 || w.sent[3].method != http.MethodGet {
			t.Errorf("sent %+v", w.sent)
		}
	})
}

func TestTooQuicklyGrows(t *testing.T) {
	over(t, func(int, *http.Request) (*http.Response, error) {
		return respond(403, `{"message":"was submitted too quickly"}`)
	}, func(t *testing.T, c *ghsync.Client, w *wire) {
		var waits []time.Duration
		for range 5 {
			_, _, err := (ghsync.Comments{Client: c}).Create(t.Context(), octoWidgets, 1, text("x"))
			wait, _ := transport.Later(err)
			waits = append(waits, wait)
			<-time.After(wait + time.Second)
		}
		if want := "[10m0s 20m0s 40m0s 1h0m0s 1h0m0s]"; fmt.Sprint(waits) != want {
			t.Errorf("waits %v, want %s", waits, want)
		}
	})
}

// GitHub names its secondary limits in one of several ways; other refusals are none.
func TestGitHub2LimitsByTheirWords(t *testing.T) {
	const docs = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-"
	used := []string{"Retry-After", "7", "X-RateLimit-Remaining", "0", "X-RateLimit-Limit", "60", "X-RateLimit-Reset", "946684900"}
	for name, tc := range map[string]struct {
		status int
		body   string
		header []string
		limit  bool
	}{
		"secondary":         {403, `{"message":"You have exceeded a secondary rate limit."}`, nil, true},
		"abuse":             {403, `{"message":"You have triggered an abuse detection mechanism."}`, nil, true},
		"page on secondary": {403, `{"message":"Wait.","documentation_url":"` + docs + `secondary-rate-limits"}`, nil, true},
		"page on abuse":     {403, `{"message":"Wait.","documentation_url":"` + docs + `abuse-rate-limits"}`, nil, true},
		"no right":          {403, `{"message":"Must have write access."}`, nil, false},
		"refused":           {422, `{"message":"Wait."}`, used, false},
		"missing":           {404, `{"message":"Not Found"}`, used, false},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(int, *http.Request) (*http.Response, error) { return respond(tc.status, tc.body, tc.header...) }, func(t *testing.T, c *ghsync.Client, _ *wire) {
				_, _, err := (ghsync.Comments{Client: c}).Create(t.Context(), octoWidgets, 1, text("x"))
				var after *transport.RetryAfter
				if limit := errors.As(err, &after); limit != tc.limit || limit && (after.Wait != time.Minute || after.Scope != "secondary") {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

func TestTenSearchesAMinute(t *testing.T) {
	over(t, func(int, *http.Request) (*http.Response, error) { return respond(200, `{"items":[]}`) }, func(t *testing.T, c *ghsync.Client, w *wire) {
		for range 30 {
			if _, _, err := (ghsync.Intake{Client: c}).SearchIssues(t.Context(), "is:issue", 1); err != nil {
				t.Fatal(err)
			}
		}
		if elapsed := time.Since(w.start); elapsed < 160*time.Second || elapsed > 3*time.Minute {
			t.Errorf("30 searches within %s", elapsed)
		}
	})
}
