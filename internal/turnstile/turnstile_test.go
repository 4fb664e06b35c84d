package turnstile_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agentmux/agentmux/internal/turnstile"
)

// queue starts callers that wait, one after the other, and returns the order they were let in.
func queue(t *testing.T, gate *turnstile.Turnstile, ctx context.Context, order *[]int, done *sync.WaitGroup, ranks ...int) {
	t.Helper()
	for _, rank := range ranks {
		done.Go(func() {
			if err := gate.Enter(ctx, rank); err != nil {
				return
			}
			*order = append(*order, rank)
			gate.Leave()
		})
		synctest.Wait()
	}
}

func TestTheMostUrgentIsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := turnstile.New(1, 3)
		if err := gate.Enter(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		var order []int
		var done sync.WaitGroup
		queue(t, gate, t.Context(), &order, &done, 2, 1, 2, 0, 1)
		gate.Leave()
		done.Wait()
		if !slices.Equal(order, []int{0, 1, 1, 2, 2}) {
			t.Errorf("let in %v", order)
		}
	})
}

// A caller that gives up leaves its place in the queue, and takes none with it.
func TestWhoGivesUpHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := turnstile.New(2, 1)
		for range 2 {
			if err := gate.Enter(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		brief, cancel := context.WithCancel(t.Context())
		var order []int
		var done sync.WaitGroup
		queue(t, gate, brief, &order, &done, 0, 0)
		queue(t, gate, t.Context(), &order, &done, 0)
		cancel()
		synctest.Wait()
		if err := gate.Enter(brief, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
		gate.Leave()
		gate.Leave()
		done.Wait()
		for range 2 {
			if err := gate.Enter(t.Context(), 0); err != nil || len(order) != 1 {
				t.Errorf("let in %v, %v", order, err)
			}
		}
	})
}
