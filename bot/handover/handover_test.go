package handover_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/handover"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// The engine may end between a checkpoint and its record: a hand-over that finds nothing new to save still records why what
// is there must not leave its runner, and that once.
func TestAHandOverRecordsACheckpointThatHasNoRecord(t *testing.T) {
	st := orchestrator.NewState()
	st.Kind, st.Settings, st.BaseSHA = orchestrator.KindAgents, orchestrator.DefaultSettings(), "abc"
	sess, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: time.Now(), Name: "shop", Agents: []byte("session: shop\nagents:\n  - {name: api, branch: b, task: t}\n"), State: *st,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	s, err := sess.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	same := func(context.Context, orchestrator.Effect, *orchestrator.State) (orchestrator.Result, error) {
		return orchestrator.Result{Commit: "c0ffee", Refused: "checkpoints are not pushed"}, nil
	}
	for range 2 {
		if s, err = handover.Save(t.Context(), sess, s, same); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(sess.Path(session.EventsFile))
		if n := strings.Count(string(text), `"stays":"checkpoints are not pushed"`); n != 1 || s.Stays == "" || err != nil {
			t.Errorf("%d records, state %q, %v:\n%s", n, s.Stays, err, text)
		}
	}
}
