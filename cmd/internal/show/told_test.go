package show_test

import (
	"testing"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// A done session owes the claim that its host did not give back, but not right at its end, when the host
// is about to.
func TestTheClaimThatIsOwed(t *testing.T) {
	e := session.Entry{Name: "shop", Dir: t.TempDir(), State: &orchestrator.State{Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeDone}}
	for _, claims := range [][]claim.NoteClaim{{{Issue: 7, Gen: 1}}, nil} {
		if err := (claim.Note{Host: claim.NewHostID(), Claims: claims}).Write(e.Dir); err != nil {
			t.Fatal(err)
		}
		owed := show.TellLater(t.Context(), e).Owed
		if len(owed) != len(claims) || len(owed) > 0 && owed[0].Kind != story.DebtClaim {
			t.Errorf("with the claims %v it owes %+v", claims, owed)
		}
		if owed := show.Tell(t.Context(), e).Owed; len(owed) > 0 {
			t.Errorf("at its end it owes %+v", owed)
		}
	}
}
