package decide_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
)

func TestProtocolS7StateStaysSmall(t *testing.T) {
	m := newSim(t, "quick", nil)
	a := plan("parallel", 50, false)
	for i := range a.Plan.Subplans {
		a.Plan.Subplans[i].Scope = strings.Repeat("x", 20_000)
	}
	m.tool("submit_plan", "planner", map[string]any{}, a)
	data, err := m.s.Encode()
	if err != nil || len(data) > 1<<20 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestRememberedLinesAreBounded(t *testing.T) {
	m := newSim(t, "quick", nil)
	for range 1010 {
		m.tool("report_status", "planner", map[string]any{"message": "m"}, nil)
	}
	if len(m.s.RecentIDs) != 1000 {
		t.Errorf("%d ids", len(m.s.RecentIDs))
	}
	if m.s.RecentIDs[999] != "id1010" {
		t.Errorf("the newest is %s", m.s.RecentIDs[999])
	}
}

func TestProtocolJ3LinesThatDoNotCount(t *testing.T) {
	m := newSim(t, "feature", nil)
	reason := func() string {
		return m.last(orchestrator.EvInputIgnored).Data.(orchestrator.InputIgnoredRecord).Reason
	}
	m.tool("report_status", "architect", map[string]any{"message": "m"}, nil)
	m.line--
	m.tool("report_status", "architect", map[string]any{"message": "m"}, nil)
	if reason() != "duplicate" {
		t.Errorf("the same id: %s", reason())
	}
	old := m.s.Agents["architect"].Launch
	m.exit("architect", 1)
	m.timer("relaunch/architect")
	visit := m.s.Visit
	m.do(orchestrator.Input{Kind: orchestrator.InTool, Line: &orchestrator.Line{
		Tool: "submit_architecture", ID: "late", Role: "architect", Launch: old, Visit: &visit, Payload: []byte(`{}`), Artifact: textArtifact("a"),
	}})
	if reason() != "stale" || m.s.Phase != "architecting" {
		t.Errorf("a replaced launch: %s", reason())
	}
	m.tool("submit_architecture", "architect", map[string]any{}, &orchestrator.Artifact{Path: "a", Problems: []string{"is empty"}})
	if m.count(orchestrator.EvInputRejected) != 1 || len(m.s.Messages) != 0 || m.s.Phase != "architecting" {
		t.Errorf("a rejected artifact: %d records, %d messages", m.count(orchestrator.EvInputRejected), len(m.s.Messages))
	}
	if said := m.last(orchestrator.EvInputRejected).Data.(orchestrator.InputRejectedRecord); said.Line != fmt.Sprint("id", m.line) {
		t.Errorf("the tool that waits looks for id%d, the record names %q", m.line, said.Line)
	}
	m.tool("submit_architecture", "architect", map[string]any{}, nil)
	if m.count(orchestrator.EvInputRejected) != 2 {
		t.Error("a submission without its artifact was taken")
	}
	m.architecture() // corrected, by the same launch
	m.phase("planning")
}

func TestNotesOfTheBotAreNoCommands(t *testing.T) {
	m := newSim(t, "quick", nil)
	before := m.s.Seq
	for _, state := range []string{"seen", "refused", "done"} {
		m.do(orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{
			Tool: "command", ID: state, Payload: []byte(`{"name": "stop", "state": "` + state + `"}`), Cursor: orchestrator.Cursor{Offset: 9},
		}})
	}
	if m.s.Seq != before || m.s.CommandCursor.Offset != 9 {
		t.Errorf("seq %d after %d, cursor %+v", m.s.Seq, before, m.s.CommandCursor)
	}
	for range 2 {
		m.do(orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{
			Tool: "command", ID: "x", Payload: []byte(`{"name": "pause", "state": "accepted", "source_id": "comment/7"}`),
		}})
	}
	if m.count(orchestrator.EvCommandApplied) != 1 || m.last(orchestrator.EvInputIgnored).Data.(orchestrator.InputIgnoredRecord).Reason != "duplicate" {
		t.Error("one comment counted twice")
	}
	m.do(orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Corrupt: "bad JSON"}})
	if m.count(orchestrator.EvInputCorrupt) != 1 {
		t.Error("no record of a bad line")
	}
}

func TestProtocolK5FilesOfRolesThatDoNotRun(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.toReview("serial", 1)
	o := orchestrator.Observation{What: orchestrator.ObserveReview, Name: "reviewer", Evidence: "x", Artifact: review("reviewer", "pass")}
	m.see(o)
	m.see(o)
	if m.count(orchestrator.EvInputIgnored) != 1 || m.s.AwaitingSummary {
		t.Errorf("%d records", m.count(orchestrator.EvInputIgnored))
	}
	m.see(orchestrator.Observation{What: orchestrator.ObserveReview, Name: "reviewer_logic", Evidence: "y", Problems: []string{"verdict"}})
	if m.count(orchestrator.EvInputRejected) != 1 {
		t.Error("no record of a bad review")
	}
}
