package tenure_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/tenure"
	"github.com/agentmux/agentmux/orchestrator"
)

// TestGitHub90AClaimIsMarkedForTheNextHost is part of row 90 of github section 15: who hands a session over, also
// because its disk is full, marks its claim, and another host takes it at once.
func TestGitHub90AClaimIsMarkedForTheNextHost(t *testing.T) {
	full := fmt.Errorf("%w: no space left on device", host.ErrHandOver)
	for name, want := range map[string]error{"its time is over": nil, "its disk is full": full} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			ctx, end := context.WithCancelCause(t.Context())
			defer end(nil)
			s, err := tenure.Run(ctx, runner(func(context.Context, host.RunSpec) (*orchestrator.State, error) {
				if want == nil {
					end(host.ErrHandOver)
				}
				return ended(""), want
			}), r.spec())
			if !errors.Is(err, want) || s.Ended() {
				t.Fatalf("outcome %q, %v", s.Outcome, err)
			}
			other := r.desk(claim.NewHostID())
			seen, err := other.Look(t.Context())
			if err != nil || len(seen) != 1 || seen[0].Claim.State != claim.Handover {
				t.Fatalf("claims %+v, %v", seen, err)
			}
			if why, err := other.Stale(t.Context(), seen[0]); err != nil || why != claim.LetGo {
				t.Errorf("stale: %v, %v", why, err)
			}
		})
	}
}
