package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// effects lists what was carried out of a type, in the present visit or before.
func (m *sim) effects(kind string) []orchestrator.Effect {
	var out []orchestrator.Effect
	for _, e := range m.done {
		if e.Type == kind {
			out = append(out, e)
		}
	}
	return out
}

func TestProtocolK3AShorterPlanLeavesNoFilesOfTheLongerOne(t *testing.T) {
	m := newSim(t, "quick", interactive)
	m.toReview("serial", 3)
	m.pass("reviewer_logic")
	m.summary("reviewer_logic")
	m.command("changes", map[string]any{"text": "less"})
	m.planned("serial", 1)
	removed := m.effects(orchestrator.EffRemoveFiles)
	paths := removed[len(removed)-1].Args.Paths
	for _, want := range []string{
		"04_planning/plan_2.md", "04_planning/tasks_3.md", "06_implementation/done_1", "06_implementation/done_2", "06_implementation/done_3",
	} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s stays; removed %v", want, paths)
		}
	}
	if slices.Contains(paths, "04_planning/plan_1.md") {
		t.Error("a file of the new plan is removed")
	}
}

func TestProtocolC7EntryToFixingRemovesTheHostsMarkers(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.toReview("serial", 2)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffRemoveFiles }
	m.fails("reviewer_logic")
	if m.s.Agents["coder"].Launch == "" || slices.Contains(m.ran(), m.s.Agents["coder"].Launch) {
		t.Fatal("the fixer was started while old markers lie about")
	}
	m.hold = nil
	m.settle()
	removed := m.effects(orchestrator.EffRemoveFiles)
	if got := removed[len(removed)-1].Args.Paths; !slices.Equal(got, []string{"06_implementation/done_1", "06_implementation/done_2"}) {
		t.Errorf("removed %v", got)
	}
	if !slices.Contains(m.ran(), m.s.Agents["coder"].Launch) {
		t.Error("the fixer was not started")
	}
}

func TestProtocolC8NoSnapshotBeforeTheAgentHasEnded(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.work = untaken
	m.planned("serial", 1)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffStopAgent }
	m.coded(1)
	if len(m.effects(orchestrator.EffIntegrate)) != 0 {
		t.Fatal("integrated while the coder may still write")
	}
	m.hold = nil
	m.settle()
	m.phase("reviewing")
}

func TestProtocolC11DerivedFilesNameTheAcceptedBytes(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.toReview("serial", 1)
	m.fails("reviewer_logic")
	for _, e := range m.effects(orchestrator.EffMaterialise) {
		want := map[string]string{
			orchestrator.MaterialPlan: "plan", orchestrator.MaterialReview: "reviewer_logicfail", orchestrator.MaterialFix: "reviewer_logicfail",
		}[e.Args.Material]
		for name, sum := range e.Args.Sources {
			if sum != want {
				t.Errorf("%s is derived from %s of %s, accepted was %s", e.Args.Path, sum, name, want)
			}
		}
	}
}

func TestFixRequestHoldsAllReviewsOfTheRound(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.architecture("reviewer_quality", "reviewer_logic")
	m.planned("serial", 1)
	m.coded(1)
	m.pass("reviewer_quality")
	m.fails("reviewer_logic")
	m.fixed()
	m.fails("reviewer_logic")
	var sources []int
	for _, e := range m.effects(orchestrator.EffMaterialise) {
		if e.Args.Material == orchestrator.MaterialFix {
			sources = append(sources, len(e.Args.Sources))
		}
	}
	if !slices.Equal(sources, []int{2, 1}) { // in the second round only one role ran
		t.Errorf("reviews in the fix requests: %v", sources)
	}
}

func TestProtocolG3CommitMessageOfTheFirstReviewerInOrder(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.architecture("reviewer_quality", "reviewer_logic")
	m.planned("serial", 1)
	m.coded(1)
	for _, role := range []string{"reviewer_quality", "reviewer_logic"} {
		a := review(role, "pass")
		a.Review.CommitMessage = "fix: by " + role
		m.tool("submit_review", orchestrator.AgentKey(role), map[string]any{}, a)
	}
	m.summary("reviewer_logic")
	if got := m.effects(orchestrator.EffCommit)[0].Args.Message; got != "fix: by reviewer_logic" {
		t.Errorf("message %q", got)
	}
}

func TestAbsentStatusesAndLongTextsInRecords(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.tool("report_status", "planner", map[string]any{"message": strings.Repeat("ü", 5000), "percent": 40}, nil)
	status := m.last(orchestrator.EvAgentStatus).Data.(orchestrator.AgentStatusRecord)
	if got := []rune(status.Message); len(got) != 4000 || status.Percent == nil || *status.Percent != 40 {
		t.Errorf("%d characters, percent %v", len(got), status.Percent)
	}
	m.tool("ask_human", "planner", map[string]any{"question": "Which?", "options": []string{"a", strings.Repeat("ü", 5000)}}, nil)
	shown := m.last(orchestrator.EvQuestionAsked).Data.(orchestrator.QuestionAskedRecord).Options
	if asked := m.s.Questions[0].Options; len([]rune(shown[1])) != 4000 || len([]rune(asked[1])) != 5000 || shown[0] != "a" {
		t.Errorf("%d characters of %d", len([]rune(shown[1])), len([]rune(asked[1])))
	}
}

func TestReportedProgramSessionIsKeptForARelaunch(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.report("planner", orchestrator.AgentReport{CLISession: "abc"})
	m.exit("planner", 1)
	m.timer("relaunch/planner")
	if m.s.Agents["planner"].CLISession != "abc" {
		t.Errorf("planner %+v", m.s.Agents["planner"])
	}
	m.planned("serial", 1)
	m.coded(1)
	m.pass("reviewer_logic")
	m.summary("reviewer_logic")
	m.command("changes", map[string]any{"text": "more"})
	if m.s.Agents["planner"].CLISession != "" {
		t.Error("a prompt of another visit goes on with an old session of the program")
	}
}

func TestExitsAreToldByCodeSignalOrAbsence(t *testing.T) {
	code := 7
	for want, rep := range map[string]orchestrator.AgentReport{
		"exit 7":           {Condition: orchestrator.AgentDead, ExitCode: &code},
		"signal TERM":      {Condition: orchestrator.AgentDead, Signal: "TERM"},
		"its pane is gone": {Condition: orchestrator.AgentAbsent},
	} {
		t.Run(want, func(t *testing.T) {
			m := newSim(t, "quick", nil)
			m.report("planner", rep)
			if got := string(m.s.Agents["planner"].LastExit); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestAPhaseMayHaveItsOwnLimit(t *testing.T) {
	limited := func(span time.Duration) *sim {
		m := newSim(t, "quick", nil)
		def := *m.def
		def.Phases = slices.Clone(def.Phases)
		m.def = &def
		for i := range m.def.Phases {
			m.def.Phases[i].Timeout = &span
		}
		m.planned("serial", 1)
		return m
	}
	if _, armed := limited(0).s.Deadlines["phase"]; armed {
		t.Error("a limit of 0 is armed")
	}
	m := limited(time.Minute)
	if got := m.due("phase"); got > 61e9 || got < 0 {
		t.Errorf("the phase may take %s", got)
	}
	m.timer("phase")
	if m.last(orchestrator.EvLimitReached).Data.(orchestrator.LimitReachedRecord).Seconds != 60 {
		t.Errorf("record %v", m.last(orchestrator.EvLimitReached).Data)
	}
}

func TestLimitsThatAreOff(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) {
		s.Settings.LimitPhase, s.Settings.LimitTotal, s.Settings.LimitStall, s.Settings.AckTimeout = 0, 0, 0, 0
		s.Settings.CheckpointEvery = 0
	})
	if len(m.s.Deadlines) != 0 {
		t.Errorf("deadlines %v", m.s.Deadlines)
	}
	m.wait(1000 * 3600e9)
	m.report("planner", orchestrator.AgentReport{Silence: orchestrator.Duration(1000 * 3600e9)})
	if m.count(orchestrator.EvAgentStalled) != 0 {
		t.Error("stalled")
	}
}
