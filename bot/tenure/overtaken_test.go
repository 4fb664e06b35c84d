package tenure_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/tenure"
	"github.com/agentmux/agentmux/orchestrator"
)

// Row R8: the directory of a session that went on elsewhere is not run: a person decides, and where nobody
// does, the session here ends. The claim is given back.
func TestProtocolR8AnOvertakenSessionIsNotRun(t *testing.T) {
	for name, c := range map[string]struct {
		resumed bool // by a person
		parked  bool
		runs    bool
	}{
		"resumed by a person": {resumed: true},
		"has ended":           {parked: true},
		"under way":           {runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			if c.parked {
				r.dir = r.ended("parked", orchestrator.OutcomeNeedsHuman, orchestrator.ReasonQuestion)
			}
			if err := (claim.Note{Host: r.id, Checkpoint: "c1"}).Write(r.dir); err != nil {
				t.Fatal(err)
			}
			spec := r.spec()
			spec.Run.Resume = c.resumed
			spec.Newer = func(_ context.Context, last claim.Note) error {
				if last.Host != r.id || last.Checkpoint != "c1" || r.claimed() == "" {
					t.Errorf("asked with %+v, claim at %q", last, r.claimed())
				}
				return &checkpoint.OtherHostError{Session: "s", Host: "h_2", ID: "c2"}
			}
			ran := false
			_, err := tenure.Run(t.Context(), runner(func(_ context.Context, spec host.RunSpec) (*orchestrator.State, error) {
				ran = true
				closed(t, spec.Guard.Lost())
				if spec.Guard.Holder() != "h_2" || spec.Changes != "" || spec.Away != nil {
					t.Errorf("held by %q, asked to %q", spec.Guard.Holder(), spec.Changes)
				}
				return ended(orchestrator.OutcomeCanceled), nil
			}), spec)
			var other *checkpoint.OtherHostError
			if ran != c.runs || !c.runs && !errors.As(err, &other) || r.claimed() != "" {
				t.Errorf("ran %v, claim at %q, %v", ran, r.claimed(), err)
			}
		})
	}
}
