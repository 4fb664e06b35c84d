package job_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A checkpoint that got to the server and is not on record, because the session ended at that moment, is told of.
func TestTheLastCheckpointIsTheOneOnTheServer(t *testing.T) {
	for name, c := range map[string]struct {
		recorded, pushed string // commits; pushed is that of the note
		away             bool   // the recorded one is on the server
		want             string
	}{
		"none":                       {"", "", false, "none: what is in no branch is lost with the runner"},
		"recorded":                   {"c1", "c1", true, "of 10:41 UTC, on the server: a job on another runner finds it"},
		"here alone":                 {"c1", "", false, "of 10:41 UTC, on this runner only: what is in no branch is lost with the runner"},
		"a later one, not recorded":  {"c1", "c2", true, "later than that of 10:41 UTC, on the server: a job on another runner finds it"},
		"the first one, no record":   {"", "c1", false, "on the server: a job on another runner finds it"},
		"another one, and here more": {"c1", "c0", false, "of 10:41 UTC, on this runner only: what is in no branch is lost with the runner"},
	} {
		t.Run(name, func(t *testing.T) {
			st := orchestrator.NewState()
			st.Kind, st.Settings = orchestrator.KindAgents, orchestrator.DefaultSettings()
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
			if c.recorded != "" {
				next := s.Clone()
				next.Seq++
				record := orchestrator.CheckpointSavedRecord{SHA: strings.Repeat(c.recorded, 20), Pushed: c.away}
				at := orchestrator.At(time.Date(2026, 11, 21, 10, 41, 0, 0, time.UTC))
				if err := sess.Commit(decide.Step{State: next, Changed: true, Events: []orchestrator.Event{{Seq: next.Seq, TS: at, Type: record.Type(), Phase: s.Phase, Visit: s.Visit, Data: record}}}); err != nil {
					t.Fatal(err)
				}
				s = next
			}
			if c.pushed != "" {
				note := `{"v":1,"host":"a_77_1","claims":[],"checkpoint":"` + strings.Repeat(c.pushed, 20) + `"}`
				if err := os.WriteFile(sess.Path("claim.json"), []byte(note), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := job.Checkpointed(sess, s); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
