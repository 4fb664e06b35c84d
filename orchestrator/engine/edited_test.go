package engine_test

import (
	"os"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// S4: an edit that the next commit replaces at once is recorded all the same.
func TestProtocolS4AnEditRightBehindACommitIsRecorded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		edits := 0
		st := w.start(engine.Options{OnCommit: func(s *orchestrator.State) {
			if len(s.CompletedSubplans) == 0 || edits > 0 {
				return
			}
			edits++
			if err := os.WriteFile(w.s.Path(session.StateFile), []byte(`{"phase": "done"}`), 0o600); err != nil {
				t.Error(err)
			}
		}}).wait()
		if st.Outcome != orchestrator.OutcomeDone || edits != 1 {
			t.Fatalf("outcome %s %s, %d edits", st.Outcome, st.Cause, edits)
		}
		if n := len(w.events(orchestrator.EvStateOverwritten)); n != 1 {
			t.Errorf("%d records of one edit", n)
		}
	})
}
