package story_test

import (
	"slices"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

func TestWishesAreThoseSinceTheLastPlan(t *testing.T) {
	asked := func(actor, text string) orchestrator.Record {
		return orchestrator.EventRecord{Event: orchestrator.LastChanges, Actor: &actor, Text: text}
	}
	var w story.Wishes
	for _, e := range at(asked("old", "Before."), orchestrator.EventRecord{Event: orchestrator.LastPlanWritten}, asked("ann", "Also b."), asked("mia", "And c.")) {
		w.Fold(e)
	}
	if want := (story.Wishes{{"ann", "Also b."}, {"mia", "And c."}}); !slices.Equal(w, want) || w.Request() != "Also b.\n\nAnd c." {
		t.Errorf("%+v, as one %q", w, w.Request())
	}
}
