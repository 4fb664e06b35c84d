package decide_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
)

func TestProtocolS3EveryWayToWriteAState(t *testing.T) {
	m := newSim(t, "quick", nil)
	for _, wrong := range []string{"", "plan_accepted", "Resumed"} {
		m.s.LastEvent = wrong
		if _, err := m.s.Encode(); err == nil || !strings.Contains(err.Error(), "last_event") {
			t.Errorf("%q was encoded: %v", wrong, err)
		}
		step, err := decide.Fail(m.def, m.s, m.now, "broken")
		if err != nil || step.State.LastEvent != orchestrator.LastRunFailed {
			t.Errorf("%q ended as %+v, %v", wrong, step.State, err)
		}
	}
	named := 0
	for _, name := range []string{
		"feature_created", "resumed", "pm_completed", "architecture_written", "plan_written", "design_written",
		"implementation_completed", "review_failed", "review_passed", "changes_requested", "run_canceled", "run_failed",
	} {
		m.s.LastEvent = name
		if _, err := m.s.Encode(); err == nil {
			named++
		}
	}
	if named != 12 {
		t.Errorf("%d of the catalog's 12 are written", named)
	}
}

func TestProtocolC8AFailedPushOpensNoPullRequest(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffPush }
	m.toReview("serial", 1)
	m.pass("reviewer_logic")
	m.summary("reviewer_logic")
	opens := func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffPR }
	if slices.ContainsFunc(m.done, opens) {
		t.Fatal("a pull request was opened for what is not pushed")
	}
	m.failing(orchestrator.EffPush, orchestrator.FailNever)
	m.hold = nil
	m.settle()
	if slices.ContainsFunc(m.done, opens) || m.s.Completion.PRNumber != 0 {
		t.Errorf("a pull request was opened after a failed push: %+v", m.s.Completion)
	}
	m.parked(orchestrator.ReasonPushRejected)
	m.resume("")
	if m.s.Outcome != orchestrator.OutcomeDone || m.s.Completion.PRNumber == 0 {
		t.Errorf("after the resume: outcome %q, %+v", m.s.Outcome, m.s.Completion)
	}
}

// The session ends while a subplan is submitted and not merged, its host is killed before
// it has done what the end asks for, and a person resumes.
func TestProtocolC9SubmittedWorkSurvivesAKilledEnd(t *testing.T) {
	for name, end := range map[string]func(m *sim){
		"park": func(m *sim) {
			m.report("coder/2", orchestrator.AgentReport{Dialog: "Trust this directory?"})
			if !m.s.Parked() {
				m.t.Fatalf("not parked: outcome %q", m.s.Outcome)
			}
		},
		"failed": func(m *sim) { m.timer("total") },
	} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "quick", nil)
			m.planned("parallel", 2)
			m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffIntegrate }
			m.coded(1)
			m.hold = func(orchestrator.Effect) bool { return true } // nothing of the end is carried out
			end(m)
			if !m.s.Ended() || m.s.SubplanStatus["1"] != orchestrator.SubplanSubmitted {
				t.Fatalf("outcome %q, subplans %v", m.s.Outcome, m.s.SubplanStatus)
			}
			m.hold = nil
			m.resume("")
			integrated := 0
			for _, e := range m.done {
				if e.Type == orchestrator.EffIntegrate && e.Args.Task == "1" {
					integrated++
				}
			}
			if integrated != 1 || m.s.Ended() || m.s.SubplanStatus["1"] != orchestrator.SubplanDone {
				t.Fatalf("merged %d times, outcome %q, subplans %v", integrated, m.s.Outcome, m.s.SubplanStatus)
			}
			m.coded(2)
			m.phase("reviewing")
			m.pass("reviewer_logic")
			m.summary("reviewer_logic")
			m.phase(orchestrator.PhaseDone)
		})
	}
}

// recordData is what each type of record tells at least.
var recordData = map[string]string{
	orchestrator.EvResumed: "from to count inferred", orchestrator.EvEvent: "event label",
	orchestrator.EvPhaseEntered: "phase kind reason", orchestrator.EvPhaseLeft: "phase next seconds",
	orchestrator.EvAgentStarted: "role task provider model launch attempt prompt prompt_sha256",
	orchestrator.EvAgentExited:  "role task launch exit_code signal expected",
	orchestrator.EvAgentFailed:  "role task attempts tail", orchestrator.EvAgentStalled: "role task seconds action",
	orchestrator.EvAgentStatus: "role task message percent current_task", orchestrator.EvAgentWaiting: "role task launch for", orchestrator.EvPersonTyped: "role task launch turn",
	orchestrator.EvArtifactAccepted: "artifact path sha256 role", orchestrator.EvSchedule: "groups subplans needs_design",
	orchestrator.EvResearchDispatched: "topic research_type owner", orchestrator.EvResearchDone: "topic research_type path",
	orchestrator.EvResearchFailed: "topic research_type cause", orchestrator.EvGroupStarted: "group_id index total mode plans",
	orchestrator.EvGroupDone: "group_id index total mode plans", orchestrator.EvSubplanStarted: "id title",
	orchestrator.EvSubplanDone: "id commit files", orchestrator.EvMergeConflict: "id paths task",
	orchestrator.EvWorkspaceLost:  "workspace base agents again from",
	orchestrator.EvScopeViolation: "id policy paths", orchestrator.EvReviewStarted: "iteration roles tree",
	orchestrator.EvVerdict: "role iteration verdict tree findings path", orchestrator.EvFixRound: "iteration cap",
	orchestrator.EvReviewExhausted: "iteration cap", orchestrator.EvGateOpened: "gate digest reason",
	orchestrator.EvGateClosed: "gate digest action actor source origin pid", orchestrator.EvQuestionAsked: "id role text options",
	orchestrator.EvQuestionAnswered: "id actor source timeout", orchestrator.EvCommandApplied: "name actor source source_id reason",
	orchestrator.EvCommandRefused: "name actor source source_id reason", orchestrator.EvPaused: "actor source",
	orchestrator.EvUnpaused: "actor source", orchestrator.EvMsgQueued: "seq file from to msg_type priority mode reason",
	orchestrator.EvMsgDelivered: "seq file from to msg_type priority mode reason", orchestrator.EvCommitCreated: "sha branch subject files",
	orchestrator.EvBranchPushed: "branch sha", orchestrator.EvPROpened: "number url draft adopted",
	orchestrator.EvLimitReached: "limit seconds", orchestrator.EvCheckpointSaved: "ref sha",
	orchestrator.EvEffectFailed: "id effect error attempt final", orchestrator.EvInputCorrupt: "file offset reason excerpt",
	orchestrator.EvInputUnknown: "tool", orchestrator.EvInputIgnored: "tool role task reason",
	orchestrator.EvInputRejected: "tool role errors", orchestrator.EvStateOverwritten: "path",
	orchestrator.EvNeedsHuman: "reason text next", orchestrator.EvDone: "outcome commit pr_url seconds",
	orchestrator.EvFailed: "cause next", orchestrator.EvCanceled: "cause actor next", orchestrator.EvNothingToCommit: "",
	orchestrator.EvInputRewound: "file from to reason", orchestrator.EvSubmission: "launch line role task tool tree",
	orchestrator.EvLateChanges: "launch paths ref role task",
}

// TestRecordsTellWhatTheyPromise meets most types of records in a few sessions.
// written returns the data of a record as its line has it.
func written(t *testing.T, e orchestrator.Event) (data map[string]json.RawMessage) {
	t.Helper()
	line, err := json.Marshal(e.Data)
	if err == nil {
		err = json.Unmarshal(line, &data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRecordsTellWhatTheyPromise(t *testing.T) {
	seen := map[string]bool{}
	check := func(m *sim) {
		t.Helper()
		for _, e := range m.events {
			want, known := recordData[e.Type]
			if !known {
				t.Errorf("unknown type %s", e.Type)
			}
			data := written(t, e)
			for key := range strings.FieldsSeq(want) {
				if _, ok := data[key]; !ok {
					t.Errorf("%s has no %s: %v", e.Type, key, slices.Sorted(maps.Keys(data)))
				}
			}
			seen[e.Type] = true
		}
	}
	m := newSim(t, "feature", interactive)
	percent := map[string]any{"message": "m", "percent": 40, "current_task": "t"}
	m.tool("report_status", "architect", percent, nil)
	m.tool("research_dispatch_code", "architect", map[string]any{"topic": "a", "context": "c", "questions": []string{"q"}}, nil)
	m.tool("submit_research_done", "code-researcher/a", map[string]any{"topic": "a", "type": "code"}, textArtifact("s"))
	m.tool("ask_human", "architect", map[string]any{"question": "q", "id": "q1"}, nil)
	m.command("answer", map[string]any{"text": "yes"})
	m.command("pause", nil)
	m.command("pause", nil)
	m.command("resume", nil)
	m.tool("submit_design", "architect", map[string]any{}, nil)
	m.do(orchestrator.Input{Kind: orchestrator.InTool, Line: &orchestrator.Line{Corrupt: "bad JSON"}})
	m.do(orchestrator.Input{Kind: orchestrator.InTool, Line: &orchestrator.Line{Tool: "nothing"}})
	m.do(orchestrator.Input{Kind: orchestrator.InTool, Line: &orchestrator.Line{Rewound: &orchestrator.Rewind{}}})
	m.do(orchestrator.Input{Kind: orchestrator.InOverwritten})
	m.tool("submit_architecture", "architect", map[string]any{}, &orchestrator.Artifact{Path: "a", Problems: []string{"is empty"}})
	m.toReview("parallel", 2)
	m.fails("reviewer_logic")
	m.fixed()
	m.pass("reviewer_logic")
	m.summary("reviewer_logic")
	m.command("approve", nil)
	m.phase(orchestrator.PhaseDone)
	check(m)
	m = newSim(t, "quick", nil)
	m.exit("planner", 1)
	m.timer("relaunch/planner")
	m.exit("planner", 1)
	m.parked(orchestrator.ReasonAgentStalled)
	m.resume("")
	m.timer("phase")
	m.command("retry", nil)
	m.command("stop", nil)
	check(m)
	if len(seen) < 40 {
		t.Errorf("only %d types were met: %v", len(seen), slices.Sorted(maps.Keys(seen)))
	}
}
