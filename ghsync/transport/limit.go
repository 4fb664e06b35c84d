package transport

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
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
type limit struct {
	next  http.RoundTripper
	quota *quota

	all, writing *turnstile
	queues       map[bucket]*turnstile      // who waits for the pace of a bucket, one at a time
	rates        map[bucket][]*rate.Limiter // before a call may have a place among those on their way
	interval     *rate.Limiter              // between writes
	hourly       *rate.Limiter              // nil: none

	mu sync.Mutex // held from the look at several limiters to their reservations
}

func newLimit(next http.RoundTripper, q *quota, l Limits) *limit {
	read := cmp.Or(l.ReadsPerSecond, 5)
	write := rate.NewLimiter(rate.Every(cmp.Or(l.WriteEvery, time.Second)), 1)
	minute, hour := cmp.Or(l.ContentPerMinute, 60), cmp.Or(l.ContentPerHour, 400)
	points, search := cmp.Or(l.PointsPerMinute, 1000), cmp.Or(l.SearchPerMinute, 10)
	t := &limit{
		next: next, quota: q, all: newTurnstile(inFlight), writing: newTurnstile(1), interval: write,
		rates: map[bucket][]*rate.Limiter{
			readBucket:    {rate.NewLimiter(rate.Limit(read), 2*int(max(read, 1)))},
			graphqlBucket: {per(points, time.Minute)},
			searchBucket:  {per(search, time.Minute)},
			contentBucket: {per(minute, time.Minute), per(hour, time.Hour)},
		},
		queues: map[bucket]*turnstile{},
	}
	for _, b := range []bucket{readBucket, graphqlBucket, searchBucket, writeBucket, contentBucket} {
		t.queues[b] = newTurnstile(1)
	}
	if l.PerHour > 0 {
		t.hourly = per(l.PerHour, time.Hour)
	}
	return t
}

// per allows n in d on average. A limiter that has rested lets a quarter more through in
// its first d, which is what GitHub's limits leave above ours.
func per(n int, d time.Duration) *rate.Limiter {
	return rate.NewLimiter(rate.Every(d/time.Duration(n)), max(1, n/4))
}

// RoundTrip waits for the pace of the call's kind first and for a place among the requests on
// their way last, so that a call that has a place also uses it.
func (t *limit) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, c := req.Context(), callOf(req)
	if err := t.pace(ctx, c); err != nil {
		return nil, err
	}
	if c.bucket == writeBucket || c.bucket == contentBucket {
		if err := t.writing.enter(ctx, c.priority); err != nil {
			return nil, err
		}
		defer t.writing.leave()
		if err := t.reserve(ctx, c, []*rate.Limiter{t.interval}); err != nil {
			return nil, err
		}
	}
	if err := t.all.enter(ctx, c.priority); err != nil {
		return nil, err
	}
	defer t.all.leave()
	resp, err := t.next.RoundTrip(req)
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

// pace waits for the server's limits, then for ours. Of those that wait for ours in one
// bucket the most urgent is next.
func (t *limit) pace(ctx context.Context, c call) error {
	if held, scope := t.quota.hold(c); held > 0 {
		if held > limitPatience || c.kind == creating {
			return &RetryAfter{Wait: held, Scope: scope}
		}
		if !Wait(ctx, held) {
			return stayed(ctx, held, scope)
		}
	}
	limiters := t.rates[c.bucket]
	if t.hourly != nil {
		limiters = append([]*rate.Limiter{t.hourly}, limiters...)
	}
	if len(limiters) == 0 {
		return nil
	}
	turn, cancel := context.WithTimeout(ctx, limitPatience)
	defer cancel()
	if err := t.queues[c.bucket].enter(turn, c.priority); err != nil {
		return stayed(ctx, limitPatience, "own")
	}
	defer t.queues[c.bucket].leave()
	return t.reserve(ctx, c, limiters)
}

// reserve takes one of each limiter and waits until all let the call through, or takes none:
// a call that is not sent takes no place from others.
func (t *limit) reserve(ctx context.Context, c call, limiters []*rate.Limiter) error {
	taken, delay, err := t.take(c, limiters)
	if err != nil {
		return err
	}
	if Wait(ctx, delay) {
		return nil
	}
	for _, l := range taken {
		l.AllowN(time.Now(), -1) // unlike the end of a reservation, also where its moment is over
	}
	return stayed(ctx, delay, "own")
}

// take reserves at all limiters at once. delay is until the last of them lets the call through.
func (t *limit) take(c call, limiters []*rate.Limiter) (taken []*rate.Limiter, delay time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for _, l := range limiters {
		until := untilNext(l, now)
		if until > limitPatience && c.priority == PriorityFinishing {
			continue // GitHub's own limit leaves room for it
		}
		if until > limitPatience {
			return nil, 0, &RetryAfter{Wait: until, Scope: "own"}
		}
		taken = append(taken, l)
	}
	for _, l := range taken {
		delay = max(delay, l.ReserveN(now, 1).DelayFrom(now))
	}
	return taken, delay, nil
}

// untilNext is how long a reservation would have to wait.
func untilNext(l *rate.Limiter, now time.Time) time.Duration {
	missing := 1 - l.TokensAt(now)
	if missing <= 0 || l.Limit() == rate.Inf {
		return 0
	}
	return time.Duration(missing / float64(l.Limit()) * float64(time.Second))
}

// stayed is the error of a wait that ctx cut short, or that ctx leaves no time for.
func stayed(ctx context.Context, d time.Duration, scope string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return &RetryAfter{Wait: d, Scope: scope}
}

// turnstile lets n callers in; who waits is let in by priority, then by arrival.
type turnstile struct {
	mu      sync.Mutex
	free    int
	waiting [3][]chan struct{}
}

func newTurnstile(n int) *turnstile { return &turnstile{free: n} }

func (t *turnstile) enter(ctx context.Context, p Priority) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	turn := make(chan struct{}, 1)
	t.waiting[p.rank()] = append(t.waiting[p.rank()], turn)
	t.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		t.withdraw(turn, p)
		return ctx.Err()
	}
}

// withdraw takes turn out of the queue; if it was called at the same moment, the place is
// passed on.
func (t *turnstile) withdraw(turn chan struct{}, p Priority) {
	t.mu.Lock()
	queue := t.waiting[p.rank()]
	for i, other := range queue {
		if other == turn {
			t.waiting[p.rank()] = append(queue[:i:i], queue[i+1:]...)
			t.mu.Unlock()
			return
		}
	}
	t.mu.Unlock()
	t.leave()
}

func (t *turnstile) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for rank := range t.waiting {
		if len(t.waiting[rank]) > 0 {
			turn := t.waiting[rank][0]
			t.waiting[rank] = t.waiting[rank][1:]
			turn <- struct{}{}
			return
		}
	}
	t.free++
}
