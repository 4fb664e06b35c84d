// Package turnstile lets a number of callers in at a time. Those that wait are let in by rank, and
// among equals by arrival. It promises that a caller who gives up holds up no other, and that a
// place is never lost. It has no goroutine and stores nothing.
package turnstile

import (
	"context"
	"sync"
)

// Turnstile has a number of places. It is safe for concurrent use.
type Turnstile struct {
	mu      sync.Mutex
	free    int
	waiting [][]chan struct{} // by rank
}

// New returns a turnstile with places for callers of the ranks 0, the first, to ranks-1.
func New(places, ranks int) *Turnstile {
	return &Turnstile{free: places, waiting: make([][]chan struct{}, ranks)}
}

// Enter waits for a place. The error is that of ctx, and there is no place to leave then.
func (t *Turnstile) Enter(ctx context.Context, rank int) error {
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
	t.waiting[rank] = append(t.waiting[rank], turn)
	t.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		t.withdraw(turn, rank)
		return ctx.Err()
	}
}

// withdraw takes turn out of the queue; if it was called at the same moment, the place is
// passed on.
func (t *Turnstile) withdraw(turn chan struct{}, rank int) {
	t.mu.Lock()
	queue := t.waiting[rank]
	for i, other := range queue {
		if other == turn {
			t.waiting[rank] = append(queue[:i:i], queue[i+1:]...)
			t.mu.Unlock()
			return
		}
	}
	t.mu.Unlock()
	t.Leave()
}

// Leave gives the place of an Enter that succeeded to the next caller.
func (t *Turnstile) Leave() {
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
