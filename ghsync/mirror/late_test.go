package mirror_test

import (
	"strings"
	"testing"
)

// The record of an agent that was quicker than its start comes in the next phase, whose
// row still names its own agent.
func TestALateStartIsNotAnAgentOfTheNextPhase(t *testing.T) {
	st := newStage(t)
	m := st.mirror(st.options())
	for _, line := range st.script[:2] {
		st.play(line)
	}
	st.play(`10:07 1 agent_started {"role":"architect","provider":"claude","launch":"0.architect.1"}`)
	st.finish(m)
	body := st.repo.Comments(12)[0].Body
	if !strings.Contains(body, "planner (claude)") || strings.Contains(body, "architect") {
		t.Errorf("status:\n%s", body)
	}
}
