package mirror_test

import (
	"strings"
	"testing"
)

// Who looks at the issue sees that the session waits for a provider, and until when.
func TestTheStatusSaysUntilWhenAProviderIsWaitedFor(t *testing.T) {
	st := newStage(t)
	m := st.mirror(st.options())
	for _, line := range st.script[:2] {
		st.play(line)
	}
	st.play(`10:07 1 agent_waiting {"role":"planner","launch":"1.planner.1","for":"rate_limit","until":"2026-11-21T12:30:00.000Z"}`)
	st.finish(m)
	if body := st.repo.Comments(12)[0].Body; !strings.Contains(body, "Waiting for a provider: `planner` until 12:30 (UTC)") {
		t.Errorf("status:\n%s", body)
	}
	st.play(`10:09 1 agent_started {"role":"planner","provider":"claude","launch":"1.planner.2"}`)
	st.finish(m)
	if body := st.repo.Comments(12)[0].Body; strings.Contains(body, "Waiting for a provider") {
		t.Errorf("status while it works:\n%s", body)
	}
}
