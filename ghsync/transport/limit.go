package transport

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/agentmux/agentmux/internal/pace"
	"github.com/agentmux/agentmux/internal/turnstile"
)

// Limits are our own, set below GitHub's so that a session never meets those. The zero
// value of a field means its default.
type Limits struct {
	ReadsPerSecond   float64       // 5
	WriteEvery       time.Duration // 1 s, as GitHub asks for; below zero: no pause between writes
	ContentPerMinute int           // 60 of GitHub's 80
	ContentPerHour   int           // 400 of GitHub's 500
	PointsPerMinute  int           // 1,000 of GitHub's 2,000 GraphQL points
	SearchPerMinute  int           // 10 of GitHub's 30
	PerHour          int           // all requests; 600 for an Actions token, else no limit
}

const inFlight = 4

// limit is the outermost layer: it delays calls by our limits and by what the server said,
// most urgent first, and answers RetryAfter where the delay is longer than a call may take.
// Discovery has to pass through a limit of half the size in addition, so that it leaves the
// other half to sessions however much there is to discover.
type limit struct {
	next  http.RoundTripper
	quota *quota

	all, writing *turnstile.Turnstile
	paces        *paces
	interval     *pace.Limiter // between writes
	meter        *meter

	discovering    *turnstile.Turnstile // half of the places among those on their way
	discoveryPaces *paces
}

func newLimit(q *quota, l Limits) *limit {
	all := newPaces(l, 1, nil)
	return &limit{
		meter: &meter{sum: Traffic{Requests: map[Sent]int{}}}, quota: q, all: newTurnstile(inFlight), writing: newTurnstile(1), paces: all,
		interval:    pace.Every(cmp.Or(l.WriteEvery, time.Second)),
		discovering: newTurnstile(inFlight / 2), discoveryPaces: newPaces(l, 0.5, all),
	}
}

// newTurnstile lets n calls in at a time, the most urgent first.
func newTurnstile(n int) *turnstile.Turnstile { return turnstile.New(n, priorities) }

// RoundTrip waits for the pace of the call's kind first and for a place among the requests on
// their way last, so that a call that has a place also uses it.
func (t *limit) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, c, began := req.Context(), callOf(req), time.Now()
	if err := t.pace(ctx, c); err != nil {
		return nil, err
	}
	if c.bucket == writeBucket || c.bucket == contentBucket {
		if err := t.writing.Enter(ctx, c.priority.rank()); err != nil {
			return nil, err
		}
		defer t.writing.Leave()
		if _, err := t.paces.reserve(ctx, c, []*pace.Limiter{t.interval}); err != nil {
			return nil, err
		}
	}
	if c.priority == PriorityDiscovery {
		if err := t.discovering.Enter(ctx, c.priority.rank()); err != nil {
			return nil, err
		}
		defer t.discovering.Leave()
	}
	if err := t.all.Enter(ctx, c.priority.rank()); err != nil {
		return nil, err
	}
	defer t.all.Leave()
	waited := time.Since(began)
	resp, err := t.next.RoundTrip(req)
	t.meter.count(c.bucket, waited, resp)
	if err != nil {
		return nil, err
	}
	// The GitHub client keeps rate numbers for itself and would refuse whole categories of
	// calls by them, the finishing ones too. quota has them; it gets none.
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After"} {
		resp.Header.Del(name)
	}
	return resp, nil
}

// pace waits for the server's limits, then for ours.
func (t *limit) pace(ctx context.Context, c call) error {
	if held, scope := t.quota.hold(c); held > 0 {
		if held > limitPatience || c.kind == creating {
			return &RetryAfter{Wait: held, Scope: scope}
		}
		if !Wait(ctx, held) {
			return stayed(ctx, held, scope)
		}
	}
	var taken []*pace.Limiter
	if c.priority == PriorityDiscovery {
		var err error
		// In a queue of its own: a call that waits for the smaller limit holds up no other.
		if taken, err = t.discoveryPaces.wait(ctx, c); err != nil {
			return err
		}
	}
	wait := t.paces.wait
	if c.edits && c.priority == PriorityMirror {
		wait = t.paces.spared
	}
	_, err := wait(ctx, c)
	if err != nil {
		giveBack(taken)
	}
	return err
}

// stayed is the error of a wait that ctx cut short, or that ctx leaves no time for.
func stayed(ctx context.Context, d time.Duration, scope string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return &RetryAfter{Wait: d, Scope: scope}
}
