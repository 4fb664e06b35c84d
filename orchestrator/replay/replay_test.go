package replay_test

import (
	"encoding/json"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/replay"
)

// record is one record of a test: its type and what it says.
type record struct {
	kind string
	data map[string]any
}

// read returns what it says as a file has it.
func (r record) read(t *testing.T) orchestrator.Record {
	t.Helper()
	data, err := json.Marshal(r.data)
	if err != nil {
		t.Fatal(err)
	}
	return orchestrator.ReadRecord(r.kind, data)
}

// What each record of an end and of a way on says of a session.
func TestReplayOfEndsAndWaysOn(t *testing.T) {
	for _, c := range []struct {
		name    string
		records []record
		want    replay.Projection
	}{
		{"parked", []record{{orchestrator.EvNeedsHuman, nil}}, replay.Projection{Phase: "reviewing", Outcome: "needs_human"}},
		{"done", []record{{orchestrator.EvGateOpened, map[string]any{"gate": "completion"}}, {orchestrator.EvDone, map[string]any{"outcome": "done"}}},
			replay.Projection{Phase: "done", Outcome: "done"}},
		{"failed", []record{{orchestrator.EvFailed, nil}}, replay.Projection{Phase: "failed", Outcome: "failed"}},
		{"canceled", []record{{orchestrator.EvCanceled, nil}}, replay.Projection{Phase: "failed", Outcome: "canceled"}},
		{"resumed", []record{{orchestrator.EvCanceled, nil}, {orchestrator.EvResumed, map[string]any{"to": "reviewing"}}},
			replay.Projection{Phase: "reviewing", LastEvent: "resumed"}},
		{"gate closed", []record{{orchestrator.EvGateOpened, map[string]any{"gate": "plan"}}, {orchestrator.EvGateClosed, nil}}, replay.Projection{Phase: "reviewing"}},
		{"changes", []record{
			{orchestrator.EvSubplanDone, map[string]any{"id": "1"}}, {orchestrator.EvGroupDone, map[string]any{"group_id": "a"}}, {orchestrator.EvNeedsHuman, nil},
			{orchestrator.EvEvent, map[string]any{"event": "changes_requested"}}, {orchestrator.EvPhaseEntered, map[string]any{"phase": "planning"}},
		}, replay.Projection{Phase: "planning", LastEvent: "changes_requested"}},
		{"numbers from a file", []record{{orchestrator.EvPROpened, map[string]any{"number": 7.0}}, {orchestrator.EvFixRound, map[string]any{"iteration": "x"}}},
			replay.Projection{Phase: "reviewing", PR: 7}},
		{"nothing known", []record{{"a_later_type", nil}}, replay.Projection{Phase: "reviewing"}},
	} {
		var records []orchestrator.Event
		for _, r := range append([]record{{orchestrator.EvSessionCreated, nil}}, c.records...) {
			records = append(records, orchestrator.Event{Type: r.kind, Phase: "reviewing", Data: r.read(t)})
		}
		if d := replay.Of(records).Differences(c.want); len(d) > 0 {
			t.Errorf("%s: %q", c.name, d)
		}
	}
}
