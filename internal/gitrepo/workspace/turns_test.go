package workspace_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

// An interrupted snapshot and the next one of the same workspace share an index: the next
// one waits, and neither takes the other's lock away.
func TestSnapshotsOfAWorkspaceTakeTurns(t *testing.T) {
	r := newRig(t, map[string]string{"a": "1\n"})
	w, other := r.Workspace("coder-1"), r.Workspace("coder-2")
	repotest.Write(t, w, map[string]string{"b": "2\n"})
	var inside atomic.Int32
	var take func(ctx context.Context, dir string) (workspace.Snapshot, error)
	hook := func(point, _ string) {
		if point != "index" || inside.Add(1) != 1 {
			return
		}
		if _, err := take(t.Context(), other); err != nil { // does not wait
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := take(ctx, w); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second snapshot at the same time: %v", err)
		}
	}
	take = func(ctx context.Context, dir string) (workspace.Snapshot, error) {
		spec := r.Spec(dir)
		spec.SetHook(hook)
		return workspace.Take(ctx, r.Store, spec)
	}
	repotest.Must(take(t.Context(), w))
	if n := inside.Load(); n != 2 {
		t.Errorf("%d snapshots came to their index, want those that were alone", n)
	}
	if got := repotest.Summary(r.Snapshot(w).Changes); got != "A b" { // its turn has come
		t.Errorf("changes %q", got)
	}
}

func TestCancelEndsGit(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	w := r.Workspace("x")
	ctx, cancel := context.WithCancel(t.Context())
	spec := r.Spec(w)
	spec.SetHook(func(point, _ string) {
		if point == "index" {
			cancel()
		}
	})
	if _, err := workspace.Take(ctx, r.Store, spec); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
