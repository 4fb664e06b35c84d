package claim

import (
	"context"
	"sync"
	"time"
)

const (
	paceLimit  = 6  // pushes
	spareLimit = 3  // of these, for what a later push does as well: a claim, its beat and its end have room
	paceWrites = 60 // in the time of so many writes to the server
)

// Urgency orders those who wait for the Pace.
type Urgency int

const (
	Urgent Urgency = iota // a beat that is overdue: without it the claims count as silent soon
	Normal                // claims, and pushes that people wait for
	Low                   // beats
)

// Pace lets six pushes a minute to one repository pass, if writes are a second apart, the most
// urgent first. It is safe for concurrent use.
type Pace struct {
	clock  Clock
	window time.Duration

	mu      sync.Mutex
	sent    []time.Duration // when those of the window passed, oldest first
	waiting [Low + 1]int
	changed chan struct{} // closed when another one may pass
}

// NewPace returns the pace of a repository for a time between two writes to its server. Below zero
// nothing waits.
func NewPace(clock Clock, write time.Duration) *Pace {
	return &Pace{clock: clock.whole(), window: paceWrites * write, changed: make(chan struct{})}
}

// Wait returns when one push may be made, or with the cause of the context's end.
func (p *Pace) Wait(ctx context.Context, u Urgency) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[u]++
	defer func() {
		p.waiting[u]--
		close(p.changed)
		p.changed = make(chan struct{})
	}()
	for {
		full := p.full()
		if full <= 0 && !p.behind(u) {
			p.sent = append(p.sent, p.clock.Running())
			return nil
		}
		changed, free := p.changed, (<-chan time.Time)(nil)
		if full > 0 {
			free = p.clock.After(full)
		}
		p.mu.Unlock()
		var err error
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-free:
		case <-changed:
		}
		p.mu.Lock()
		if err != nil {
			return err
		}
	}
}

// Spare lets a push pass at once that a later one does as well, or not at all: it leaves room for
// those who wait and for those who will.
func (p *Pace) Spare() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.full() > 0 || len(p.sent) >= spareLimit || p.behind(Low+1) {
		return false
	}
	p.sent = append(p.sent, p.clock.Running())
	return true
}

// full is how long no push may pass.
func (p *Pace) full() time.Duration {
	now := p.clock.Running()
	for len(p.sent) > 0 && now-p.sent[0] >= p.window {
		p.sent = p.sent[1:]
	}
	if len(p.sent) < paceLimit {
		return 0
	}
	return p.sent[0] + p.window - now
}

// behind reports whether something more urgent waits.
func (p *Pace) behind(u Urgency) bool {
	for _, n := range p.waiting[:u] {
		if n > 0 {
			return true
		}
	}
	return false
}
