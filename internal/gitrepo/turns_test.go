package gitrepo_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// An interrupted snapshot and the next one of the same workspace share an index: the next
// one waits, and neither takes the other's lock away.
func TestSnapshotsOfAWorkspaceTakeTurns(t *testing.T) {
	r := newRig(t, map[string]string{"a": "1\n"})
	w, other := r.workspace("coder-1"), r.workspace("coder-2")
	write(t, w, map[string]string{"b": "2\n"})
	var inside atomic.Int32
	r.host.SetHook(func(point, _ string) {
		if point != "index" || inside.Add(1) != 1 {
			return
		}
		r.snapshot(other) // is of no concern
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.host.Snapshot(ctx, r.spec(w)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second snapshot at the same time: %v", err)
		}
	})
	r.snapshot(w)
	if n := inside.Load(); n != 2 {
		t.Errorf("%d snapshots came to their index, want those that were alone", n)
	}
	if got := summary(r.snapshot(w).Changes); got != "A b" { // its turn has come
		t.Errorf("changes %q", got)
	}
}
