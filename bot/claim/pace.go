package claim

import (
	"context"
	"sync"
	"time"
)

const (
	paceLimit  = 6  // pushes
	otherLimit = 4  // of these, for what is not a claim: the end of one session and the claim of the next have room
	spareLimit = 3  // of these, for what a later push does as well: a claim, its beat and its end have room
	spareMost  = 2  // which are so many of them: a beat and the last checkpoint of a session have room, too
	paceWrites = 60 // in the time of so many writes to the server
)

// Urgency orders those who wait for the Pace.
type Urgency int

const (
	Urgent   Urgency = iota // a beat that is overdue: without it the claims count as silent soon
	Claiming                // claims: made, changed, taken over, released. People wait for them
	Normal                  // the last checkpoint of a session
	Low                     // beats
)

// limit returns how many pushes there may be in a window whose last one is of this urgency.
func (u Urgency) limit() int {
	if u > Claiming {
		return otherLimit
	}
	return paceLimit
}

// Pace lets six pushes a minute to one repository pass, if writes are a second apart, the most
// urgent first. The last two of them are kept for claims and for beats that are overdue. It is safe
// for concurrent use.
type Pace struct {
	clock  Clock
	window time.Duration

	mu      sync.Mutex
	sent    []time.Duration // when those of the window passed, oldest first
	spared  []time.Duration // those of Spare among them
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
		full := p.full(u.limit())
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
	if p.full(spareLimit) > 0 || len(p.spared) >= spareMost || p.behind(Low+1) {
		return false
	}
	now := p.clock.Running()
	p.sent, p.spared = append(p.sent, now), append(p.spared, now)
	return true
}

// full returns how long no push may pass that may be the last of limit pushes in a minute.
func (p *Pace) full(limit int) time.Duration {
	now := p.clock.Running()
	for _, list := range []*[]time.Duration{&p.sent, &p.spared} {
		for len(*list) > 0 && now-(*list)[0] >= p.window {
			*list = (*list)[1:]
		}
	}
	if len(p.sent) < limit {
		return 0
	}
	return p.sent[len(p.sent)-limit] + p.window - now
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
