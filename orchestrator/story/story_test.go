package story_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
	"github.com/agentmux/agentmux/workflows/agents"
)

// record reads the data as a file has it.
func record(kind string, data map[string]any) orchestrator.Event {
	line, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return orchestrator.Event{Type: kind, TS: orchestrator.At(time.Unix(1e9, 0)), Data: orchestrator.ReadRecord(kind, line)}
}

func TestASentenceIsThatOfTheNewestEnd(t *testing.T) {
	parked := record(orchestrator.EvNeedsHuman, map[string]any{"reason": "push_rejected", "text": "the server takes no such branch", "next": "resume to push again"})
	stopped := record(orchestrator.EvCanceled, map[string]any{"actor": "mia", "cause": "cli"})
	resumed := record(orchestrator.EvResumed, nil)
	waits := &orchestrator.State{Phase: "completing", Outcome: orchestrator.OutcomeNeedsHuman}
	for name, c := range map[string]struct {
		state   *orchestrator.State
		records []orchestrator.Event
		want    string
	}{
		"a park":          {waits, []orchestrator.Event{parked}, "the server takes no such branch"},
		"at work again":   {&orchestrator.State{Phase: "completing"}, []orchestrator.Event{parked, resumed}, ""},
		"a second end":    {&orchestrator.State{Phase: orchestrator.PhaseFailed, Outcome: orchestrator.OutcomeCanceled}, []orchestrator.Event{parked, resumed, stopped}, "stopped by mia"},
		"no record of it": {&orchestrator.State{Outcome: orchestrator.OutcomeFailed, Cause: "the disk is full"}, nil, "the disk is full"},
		"a failed review": {&orchestrator.State{Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeNeedsHuman, OutcomeReason: orchestrator.ReasonReviewExhausted},
			[]orchestrator.Event{record(orchestrator.EvDone, nil)}, "the last review failed and no fix round was left"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := story.Tell(c.state, c.records, story.Facts{Name: "one"}).Sentence; got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		})
	}
}

func TestWhatIsOwedDependsOnWhoCouldPay(t *testing.T) {
	done := &orchestrator.State{Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeDone, Pending: []orchestrator.Effect{{ID: "1.1"}},
		Completion: orchestrator.Completion{PRNumber: 7}}
	left := story.Facts{Name: "one", Unshown: true, Trouble: "forbidden", Server: true, Claimed: true}
	st := story.Tell(done, nil, left)
	var kinds []story.DebtKind
	for _, d := range st.Owed {
		kinds = append(kinds, d.Kind)
	}
	if want := []story.DebtKind{story.DebtSteps, story.DebtGitHub, story.DebtServer, story.DebtClaim}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("owed: %v, want %v", kinds, want)
	}
	if len(st.Steps) != 1 || st.Steps[0].Kind != story.StepFinish || st.Next() != "agentmux resume one finishes what is owed" {
		t.Errorf("steps: %+v", st.Steps)
	}
	failed := &orchestrator.State{Phase: orchestrator.PhaseFailed, Outcome: orchestrator.OutcomeFailed}
	if st := story.Tell(failed, nil, story.Facts{Name: "one", Claimed: true}); len(st.Owed) > 0 {
		t.Errorf("a session that is continued under its claim: %+v", st.Owed)
	}
	left.Running = true
	if st := story.Tell(done, nil, left); len(st.Owed) > 0 {
		t.Errorf("while a host runs: %+v", st.Owed)
	}
}

// An agent that its provider lets wait is shown with the time, whether it waits in its pane, for its start, or to be started
// again.
func TestAnAgentWaitsForItsProviderUntilATime(t *testing.T) {
	at := orchestrator.At(time.Date(2026, 5, 1, 15, 0, 0, 0, time.UTC))
	s := &orchestrator.State{Phase: "planning", Agents: map[orchestrator.AgentKey]orchestrator.Agent{
		"coder/1": {Launch: "2.coder.1.1", Limited: true, Until: at}, "coder/2": {Limited: true, Until: at}, "coder/3": {Launch: "2.coder.3.1", Limited: true},
		"coder/4": {Retries: 1}, "coder/5": {Launch: "2.coder.5.1"},
	}, Deadlines: map[string]orchestrator.Time{orchestrator.RelaunchTimer("coder/2"): at, orchestrator.RelaunchTimer("coder/4"): at}}
	want := []story.Outage{
		{Kind: story.OutageProvider, What: "coder/1", Again: at.Time}, {Kind: story.OutageProvider, What: "coder/2", Again: at.Time},
		{Kind: story.OutageProvider, What: "coder/3"}, {Kind: story.OutageAgent, What: "coder/4", Tries: 1, Again: at.Time},
	}
	if got := story.Tell(s, nil, story.Facts{Name: "one", Running: true}).Outages; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// An approve that no host has read yet is not asked for once more.
func TestARecordedCommandIsAppliedByAResume(t *testing.T) {
	s := &orchestrator.State{Phase: "completing", Gate: &orchestrator.Gate{Name: orchestrator.GateCompletion}}
	f := story.Facts{Name: "one"}
	if got := story.Tell(s, nil, f).Next(); got != `agentmux approve one, or agentmux changes "..." one` {
		t.Errorf("at the gate: %s", got)
	}
	f.Unread = []string{"approve"}
	if got := story.Tell(s, nil, f).Next(); got != "agentmux resume one applies the recorded approve" {
		t.Errorf("after an approve: %s", got)
	}
}

// A run of an agents file all of whose agents have a marker would fail again after a resume alone.
func TestAFailedTeamIsRetriedBeforeItContinues(t *testing.T) {
	s := &orchestrator.State{Phase: orchestrator.PhaseFailed, Outcome: orchestrator.OutcomeFailed, Team: map[string]agents.Progress{"a": {Marker: "0"}, "b": {Marker: "3"}}}
	if got := story.Tell(s, nil, story.Facts{Name: "one"}).Next(); got != "agentmux retry one, then agentmux resume one" {
		t.Errorf("every agent has a marker: %s", got)
	}
	s.Team["b"] = agents.Progress{}
	if got := story.Tell(s, nil, story.Facts{Name: "one"}).Next(); got != "agentmux resume one" {
		t.Errorf("an agent has none: %s", got)
	}
}

// Rounds count on over requests for changes, as people count them.
func TestRoundsContinueAfterRequestsForChanges(t *testing.T) {
	var r story.Rounds
	review := func(n int) {
		r.Fold(record(orchestrator.EvReviewStarted, map[string]any{"iteration": float64(n)}))
	}
	asked := record(orchestrator.EvEvent, map[string]any{"event": orchestrator.LastChanges})
	r.Fold(asked) // at the gate of the plan: nothing was reviewed yet
	review(0)
	review(0) // a late reviewer of the same round
	review(1)
	if got := r.Of(1); got != 2 {
		t.Errorf("round %d, want 2", got)
	}
	r.Fold(asked)
	review(0)
	if got := r.Of(0); got != 3 {
		t.Errorf("the first round after the changes is %d, want 3", got)
	}
}

// Why a branch was not pushed is read from records of before they had a reason of their own.
func TestOldRecordsOfAPushThatWasLeftOut(t *testing.T) {
	for skipped, want := range map[string]orchestrator.Withheld{
		"": "", "github.push is off": orchestrator.PushOff, "no write permission": orchestrator.PushReadOnly,
		"no GitHub token": orchestrator.PushNoToken, "the project has no repository on github.com": orchestrator.PushElsewhere,
	} {
		t.Run(fmt.Sprintf("%q", skipped), func(t *testing.T) {
			records := []orchestrator.Event{record(orchestrator.EvBranchPushed, map[string]any{"skipped": skipped})}
			if got := story.Tell(&orchestrator.State{}, records, story.Facts{}).Withheld; got != want {
				t.Errorf("%q: %q, want %q", skipped, got, want)
			}
		})
	}
}

// Files changed outside of the plan are known from the records of a session, each once, as
// the engine holds them and as the file does. What was refused was not taken.
func TestStraysAreThoseThatWereTaken(t *testing.T) {
	var s story.Strays
	s.Fold(record(orchestrator.EvScopeViolation, map[string]any{"id": "1", "policy": "report",
		"paths": []any{map[string]any{"path": "a", "added": float64(2), "removed": float64(1)}, map[string]any{"path": "b"}, "nothing"}}))
	s.Fold(record(orchestrator.EvScopeViolation, map[string]any{"id": "2", "policy": "report", "paths": []orchestrator.ScopePath{{Path: "b", Added: 3}}}))
	s.Fold(record(orchestrator.EvScopeViolation, map[string]any{"id": "3", "policy": "fail", "paths": []orchestrator.ScopePath{{Path: "c"}}}))
	s.Fold(record(orchestrator.EvScopeViolation, nil))
	want := story.Strays{{Subplan: "1", Path: "a", Added: 2, Removed: 1}, {Subplan: "2", Path: "b", Added: 3}}
	if !slices.Equal(s, want) {
		t.Errorf("%+v, want %+v", s, want)
	}
	if got := s.Tell(1, strings.ToUpper); got != "A (subplan 1), 1 more" {
		t.Errorf("told: %q", got)
	}
	if s.Of("b") != "subplan 2" || s.Of("c") != "" {
		t.Errorf("b is of %q, c of %q", s.Of("b"), s.Of("c"))
	}
}

// Of a run of an agents file they are said to be of agents, which have branches of their own.
func TestStraysOfAgents(t *testing.T) {
	var s story.Strays
	for _, agent := range []string{"words", "greeting"} {
		e := record(orchestrator.EvScopeViolation, map[string]any{"id": agent, "agent": true, "policy": "report", "paths": []orchestrator.ScopePath{{Path: "a"}}})
		s.Fold(e)
		if got, want := story.Line(e), "agent "+agent+" changed what it does not own: a"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := s.Lines(strings.ToUpper); len(got) != 1 || got[0] != "**Changed outside of the scope:** A (agent words), A (agent greeting)" {
		t.Errorf("told: %q", got)
	}
	if got := s.By("greeting").Tell(2, strings.ToUpper); got != "A (agent greeting)" {
		t.Errorf("of one: %q", got)
	}
	if got := s.By(""); len(got) != 0 {
		t.Errorf("of no agent: %v", got)
	}
}

func TestWhatAnotherMachineWouldLose(t *testing.T) {
	saved := func(pushed bool) orchestrator.Event {
		return record(orchestrator.EvCheckpointSaved, map[string]any{"ref": "r", "sha": "c", "pushed": pushed})
	}
	issue := &orchestrator.State{IssueNumber: 1, Phase: "implementing"}
	for name, c := range map[string]struct {
		state   *orchestrator.State
		records []orchestrator.Event
		lost    bool
	}{
		"nothing was saved": {issue, nil, false},
		"here":              {issue, []orchestrator.Event{saved(false)}, true},
		"on the server":     {issue, []orchestrator.Event{saved(false), saved(true)}, false},
		"the last one here": {issue, []orchestrator.Event{saved(true), saved(false)}, true},
		"done":              {&orchestrator.State{IssueNumber: 1, Phase: orchestrator.PhaseDone}, []orchestrator.Event{saved(false)}, false},
		"no issue":          {&orchestrator.State{Phase: "implementing"}, []orchestrator.Event{saved(false)}, false},
	} {
		if got := story.Tell(c.state, c.records, story.Facts{Name: "one"}).Unsaved; (got != "") != c.lost {
			t.Errorf("%s: %q", name, got)
		}
	}
}
