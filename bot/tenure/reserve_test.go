package tenure_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/tenure"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A process that reserves a session waits while another one claims its issue or gives the claim back, and is told who
// runs the session once that one does.
func TestASessionIsReservedByOneProcess(t *testing.T) {
	r := newRig(t)
	release, err := tenure.Reserve(t.Context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	reserve := func(ctx context.Context) {
		again, err := tenure.Reserve(ctx, r.dir)
		if err == nil {
			again()
		}
		second <- err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if reserve(ctx); !errors.Is(<-second, context.DeadlineExceeded) {
		t.Fatal("a second process does not wait for the first")
	}

	sess, err := session.Open(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := sess.Lock(0); err != nil {
		t.Fatal(err)
	}
	reserve(t.Context())
	var locked *session.LockedError
	if err := <-second; !errors.As(err, &locked) || locked.Owner.PID != os.Getpid() {
		t.Errorf("while the first runs the session: %v", err)
	}
	if err := sess.Close(); err != nil {
		t.Fatal(err)
	}

	go reserve(t.Context())
	release()
	if err := <-second; err != nil {
		t.Errorf("after the first: %v", err)
	}
}
