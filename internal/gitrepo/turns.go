package gitrepo

import (
	"context"
	"sync"
)

// turns gives one task after another what bears a name.
type turns struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // name -> closed when its turn is over
}

// take waits until the name is free. The caller calls over, once.
func (t *turns) take(ctx context.Context, name string) (over func(), err error) {
	mine := make(chan struct{})
	for {
		other := t.claim(name, mine)
		if other == nil {
			return func() { t.free(name, mine) }, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// claim takes the name and returns nil, or returns the turn that has it.
func (t *turns) claim(name string, mine chan struct{}) (other chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other = t.busy[name]; other != nil {
		return other
	}
	if t.busy == nil {
		t.busy = map[string]chan struct{}{}
	}
	t.busy[name] = mine
	return nil
}

func (t *turns) free(name string, mine chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.busy, name)
	close(mine)
}

// Turn waits until no other task of this process has name, such as the path of an index.
// The caller calls over, once.
func (s *Store) Turn(ctx context.Context, name string) (over func(), err error) {
	return s.turns.take(ctx, name)
}
