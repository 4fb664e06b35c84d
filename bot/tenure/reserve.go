package tenure

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// reserveFile is locked in a session's directory from before its claim until behind its release.
const reserveFile = "claim.lock"

const (
	// reserveTime is longer than a command takes to give its claim back.
	reserveTime  = releaseTime + 5*time.Second
	reservePause = 20 * time.Millisecond
)

// Reserve lets one process of this machine at a time claim the issues of the session in dir; all of them have the same
// host id, and a second one would take the claim of the first for one that a killed process left, and give it back.
// It waits for a process that is about to run the session, or has run it. The error is a *session.LockedError
// once another one runs it. The caller releases what it reserved, once it has given its claim back.
func Reserve(ctx context.Context, dir string) (release func(), err error) {
	late := time.NewTimer(reserveTime)
	defer late.Stop()
	for {
		held, err := durable.Lock(filepath.Join(dir, reserveFile), "")
		switch {
		case err == nil:
			return func() { _ = held.Close() }, nil // it ends with the process as well
		case !errors.Is(err, durable.ErrLocked):
			return nil, fmt.Errorf("reserve the session: %w", err)
		case session.Running(dir):
			return nil, &session.LockedError{Name: filepath.Base(dir), Owner: session.Holder(dir)}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-late.C:
			return nil, &session.LockedError{Name: filepath.Base(dir)}
		case <-time.After(reservePause):
		}
	}
}
