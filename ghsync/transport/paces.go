package transport

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/pace"
	"github.com/agentmux/agentmux/internal/turnstile"
)

// paces are the rates at which calls may be sent, by bucket.
type paces struct {
	queues map[bucket]*turnstile.Turnstile // of those that wait for a rate, one at a time
	rates  map[bucket][]*pace.Limiter      // before a call may have a place among those on their way
	whole  *paces                          // that these are a share of; nil: they are all
	edits  *turnstile.Turnstile            // of edits that wait for what is new to need no room
	hourly *pace.Limiter                   // of all requests together; nil: there is no such limit

	mu sync.Mutex // held from the look at several limiters to their reservations
}

// newPaces makes the paces of a share of limits, whose whole is given.
func newPaces(l Limits, share float64, whole *paces) *paces {
	of := func(n, otherwise int) int { return max(1, int(share*float64(cmp.Or(n, otherwise)))) }
	reads := share * cmp.Or(l.ReadsPerSecond, 5)
	p := &paces{
		whole: whole, queues: map[bucket]*turnstile.Turnstile{}, edits: newTurnstile(1),
		rates: map[bucket][]*pace.Limiter{
			readBucket:    {pace.PerSecond(reads, int(2*max(reads, 1)))},
			graphqlBucket: {pace.Per(of(l.PointsPerMinute, 1000), time.Minute)},
			searchBucket:  {pace.Per(of(l.SearchPerMinute, 10), time.Minute)},
			contentBucket: {pace.Per(of(l.ContentPerMinute, 60), time.Minute), pace.Per(of(l.ContentPerHour, 400), time.Hour)},
		},
	}
	if l.PerHour > 0 {
		p.hourly = pace.Per(of(l.PerHour, 1), time.Hour)
	}
	for _, b := range []bucket{readBucket, graphqlBucket, searchBucket, writeBucket, contentBucket} {
		p.queues[b] = newTurnstile(1)
		if p.hourly != nil {
			p.rates[b] = append(p.rates[b], p.hourly)
		}
	}
	return p
}

// divide leaves one of some equal parts of an hour's requests, and returns how many those are; 0 without such a limit.
func (p *paces) divide(parts int) int {
	if p.hourly == nil {
		return 0
	}
	return p.hourly.Divide(parts)
}

// wait lets a call through when its rates allow it, and returns what it took of them. Of those
// that wait in one bucket the most urgent is next.
func (p *paces) wait(ctx context.Context, c call) ([]*pace.Limiter, error) {
	limiters := p.rates[c.bucket]
	turn, cancel := context.WithTimeout(ctx, limitPatience)
	defer cancel()
	if err := p.queues[c.bucket].Enter(turn, c.priority.rank()); err != nil {
		return nil, stayed(ctx, limitPatience, "own")
	}
	defer p.queues[c.bucket].Leave()
	if p.whole != nil && c.bucket == readBucket { // what a discovered thing leads to is read without a wait
		l := p.whole.rates[readBucket][0]
		Wait(ctx, l.Until(time.Now(), float64(l.Burst())/2+1))
	}
	return p.reserve(ctx, c, limiters)
}

// spared is wait for an edit: it leaves a quarter of what may be sent at once to what is new, for which somebody waits.
// One edit looks at a time, until it has taken its place: two together would both take the last one that is free.
func (p *paces) spared(ctx context.Context, c call) ([]*pace.Limiter, error) {
	turn, cancel := context.WithTimeout(ctx, limitPatience)
	defer cancel()
	if err := p.edits.Enter(turn, 0); err != nil {
		return nil, stayed(ctx, limitPatience, "own")
	}
	defer p.edits.Leave()
	for {
		now, delay := time.Now(), time.Duration(0)
		for _, l := range p.rates[c.bucket] {
			delay = max(delay, l.Until(now, min(1+float64(l.Burst())/4, float64(l.Burst()))))
		}
		if delay <= 0 {
			return p.wait(ctx, c)
		}
		if delay > limitPatience || !Wait(turn, delay) {
			return nil, stayed(ctx, delay, "own")
		}
	}
}

// reserve takes one of each limiter and waits until all let the call through, or takes none:
// a call that is not sent takes no place from others.
func (p *paces) reserve(ctx context.Context, c call, limiters []*pace.Limiter) ([]*pace.Limiter, error) {
	taken, delay, err := p.take(c, limiters)
	if err != nil {
		return nil, err
	}
	if Wait(ctx, delay) {
		return taken, nil
	}
	giveBack(taken)
	return nil, stayed(ctx, delay, "own")
}

// giveBack returns what was taken by a call that is not sent.
func giveBack(taken []*pace.Limiter) {
	for _, l := range taken {
		l.GiveBack(time.Now())
	}
}

// take reserves at all limiters at once. delay is until the last of them lets the call through.
func (p *paces) take(c call, limiters []*pace.Limiter) (taken []*pace.Limiter, delay time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for _, l := range limiters {
		until := l.Until(now, 1)
		if until > limitPatience && c.priority == PriorityFinishing {
			continue // GitHub's own limit leaves room for it
		}
		if until > limitPatience {
			return nil, 0, &RetryAfter{Wait: until, Scope: "own"}
		}
		taken = append(taken, l)
	}
	for _, l := range taken {
		delay = max(delay, l.Take(now))
	}
	return taken, delay, nil
}
