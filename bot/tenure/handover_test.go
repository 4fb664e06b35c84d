package tenure_test

import (
	"context"
	"testing"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/tenure"
	"github.com/agentmux/agentmux/orchestrator"
)

// TestGitHub90AClaimIsMarkedForTheNextHost is part of row 90 of github section 15: who hands a session over
// marks its claim, and another host takes it at once.
func TestGitHub90AClaimIsMarkedForTheNextHost(t *testing.T) {
	r := newRig(t)
	ctx, end := context.WithCancelCause(t.Context())
	s, err := tenure.Run(ctx, runner(func(context.Context, host.RunSpec) (*orchestrator.State, error) {
		end(host.ErrHandOver)
		return ended(""), nil
	}), r.spec())
	if err != nil || s.Ended() {
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
}
