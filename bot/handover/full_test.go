package handover_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/bot/handover"
)

// A session is let go of because its disk is full, also where its host was told to end; after other errors it is not.
func TestAFullDiskLetsGoOfASession(t *testing.T) {
	signal := errors.New("signal")
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"a full disk":     {fmt.Errorf("commit: %w", syscall.ENOSPC), true},
		"a quota":         {fmt.Errorf("commit: %w", syscall.EDQUOT), true},
		"another error":   {errors.New("no space left on device"), false},
		"an end in order": {nil, false},
	} {
		for _, ended := range []bool{false, true} {
			before, cancel := context.WithCancelCause(t.Context())
			if ended {
				cancel(signal)
			}
			ctx, err := handover.Full(before, c.err)
			if got := errors.Is(context.Cause(ctx), handover.Err); got != c.want {
				t.Errorf("%s, ended %v: cause %v", name, ended, context.Cause(ctx))
			}
			if got := errors.Is(err, handover.Err); got != c.want || !errors.Is(err, c.err) {
				t.Errorf("%s, ended %v: %v", name, ended, err)
			}
			cancel(nil)
		}
	}
}
