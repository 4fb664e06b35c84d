package orchestrator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
)

func TestProtocolP1ArchitectureAloneIsNoSubmission(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.see(orchestrator.Observation{What: orchestrator.ObserveArtifact, Evidence: "x", Artifact: textArtifact("02_architecting/architecture.md")})
	m.command("stop", nil)
	m.resume("")
	m.phase("architecting")
	if m.s.Agents["architect"].Launch != "1.architect.2" {
		t.Fatalf("architect: %+v", m.s.Agents["architect"])
	}
}

func TestProtocolP2DesignIsAskedForAndTakenWhenStable(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.architecture()
	m.tool("submit_plan", "planner", map[string]any{}, plan("serial", 1, true))
	m.phase("designing")
	aside := 0
	for _, e := range m.done {
		if e.Type == orchestrator.EffMoveAside && slices.Contains(e.Args.Paths, "05_design/design.md") {
			aside++
		}
	}
	if aside != 1 {
		t.Errorf("design.md of an earlier plan was moved aside %d times", aside)
	}
	m.see(orchestrator.Observation{What: orchestrator.ObserveArtifact, Evidence: "blank", Problems: []string{"blank"}})
	m.phase("designing")
	m.see(orchestrator.Observation{What: orchestrator.ObserveArtifact, Evidence: "whole", Artifact: textArtifact("05_design/design.md")})
	m.phase("implementing")

	m = newSim(t, "feature", nil)
	m.architecture()
	m.planned("serial", 1)
	m.phase("implementing")
}

func marker(id, evidence string) orchestrator.Observation {
	return orchestrator.Observation{What: orchestrator.ObserveMarker, Name: id, Evidence: evidence}
}

func TestProtocolP3MarkersMadeByHand(t *testing.T) {
	t.Run("before its dispatch: no launch", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.planned("serial", 3)
		m.see(marker("2", "v1"))
		if got := m.s.SubplanStatus["2"]; got != orchestrator.SubplanPending {
			t.Fatalf("subplan 2 is %s before its turn", got)
		}
		m.coded(1)
		if m.s.SubplanStatus["2"] != orchestrator.SubplanDone || m.s.SubplanStatus["3"] != orchestrator.SubplanRunning {
			t.Fatalf("subplans: %v", m.s.SubplanStatus)
		}
		if slices.Contains(m.ran(), "2.coder.2.1") {
			t.Error("a coder was started for work that a person had marked as done")
		}
		m.coded(3)
		m.phase("reviewing")
	})
	t.Run("removed before its dispatch: does not count", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.planned("serial", 2)
		m.see(marker("2", "v1"))
		m.see(marker("2", ""))
		m.coded(1)
		if m.s.Agents["coder/2"].Launch == "" {
			t.Error("coder 2 was not started")
		}
	})
	t.Run("all before the first group", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.s.Seen["observe/marker/1"] = "kept from nowhere"
		m.planned("serial", 1)
		m.phase("implementing") // what was seen in another phase says nothing
	})
	t.Run("during: counts", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.planned("serial", 1)
		m.see(marker("1", "v1"))
		m.phase("reviewing")
	})
	t.Run("after: no effect", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.planned("serial", 2)
		m.coded(1)
		before := m.s.Seq
		m.see(marker("1", "v1"))
		m.see(marker("7", "v1"))
		if m.s.Seq != before {
			t.Error("a marker of finished work left a record")
		}
	})
	t.Run("done_1 while fixing counts once", func(t *testing.T) {
		m := newSim(t, "feature", nil)
		m.toReview("serial", 1)
		m.fails("reviewer_logic")
		m.see(marker("2", "v1"))
		m.phase("fixing")
		m.see(marker("1", "v1"))
		m.phase("reviewing")
		if m.count(orchestrator.EvFixRound) != 1 {
			t.Error("not one fix round")
		}
	})
}

func TestProtocolP3RelaunchOfACoderRemovesItsMarkerFirst(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.planned("serial", 1)
	m.exit("coder/1", 1)
	m.timer("relaunch/coder/1")
	removed, started := -1, -1
	for i, e := range m.done {
		if e.Type == orchestrator.EffRemoveFiles && slices.Equal(e.Args.Paths, []string{"06_implementation/done_1"}) && e.Args.Visit == m.s.Visit {
			removed = i
		}
		if e.Type == orchestrator.EffStartAgent && e.Args.Launch == "2.coder.1.2" {
			started = i
		}
	}
	if removed < 0 || removed > started {
		t.Fatalf("marker removed at %d, coder started at %d", removed, started)
	}
}

func TestProtocolP4GroupsRunInOrderWithinTheLimit(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.Parallel = 2 })
	a := plan("parallel", 4, false)
	g := a.Plan.Groups[0]
	last := g
	g.Plans, last.ID, last.Mode, last.Plans = g.Plans[:3], "end", "serial", last.Plans[3:]
	a.Plan.Groups = append(a.Plan.Groups[:0], g, last)
	m.tool("submit_plan", "planner", map[string]any{}, a)
	if !slices.Equal(m.s.ActivePlanIDs, []string{"1", "2"}) || m.s.GroupMode != "parallel" || m.s.GroupIndex != 1 || m.s.GroupTotal != 2 {
		t.Fatalf("active %v, mode %q, group %d of %d", m.s.ActivePlanIDs, m.s.GroupMode, m.s.GroupIndex, m.s.GroupTotal)
	}
	m.coded(2)
	if !slices.Equal(m.s.ActivePlanIDs, []string{"1", "3"}) {
		t.Fatalf("active %v", m.s.ActivePlanIDs)
	}
	m.coded(1)
	m.coded(3)
	if m.s.GroupMode != "serial" || m.s.GroupIndex != 2 || !slices.Equal(m.s.CompletedGroups, []string{"core"}) {
		t.Fatalf("mode %q, group %d, completed %v", m.s.GroupMode, m.s.GroupIndex, m.s.CompletedGroups)
	}
	m.coded(4)
	m.phase("reviewing")
	if m.s.GroupMode != "" || m.s.GroupIndex != 2 || !slices.Equal(m.s.CompletedSubplans, []string{"2", "1", "3", "4"}) {
		t.Fatalf("mode %q, group %d, completed %v", m.s.GroupMode, m.s.GroupIndex, m.s.CompletedSubplans)
	}
}

func TestProtocolP5SubmitDoneOfOtherSubplans(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.planned("serial", 2)
	call := func(id string) orchestrator.Judgement {
		index := orchestrator.Index(id)
		return orchestrator.Accepts(m.def, m.s, orchestrator.Call{Tool: "submit_done", Role: "coder", Payload: orchestrator.Payload{SubplanIndex: &index}})
	}
	for id, want := range map[string]string{"9": "active: 1", "2": "active: 1"} {
		if j := call(id); j.OK || j.Already || !strings.Contains(j.Reason, want) {
			t.Errorf("subplan %s: %+v", id, j)
		}
	}
	m.coded(1)
	if j := call("1"); !j.Already {
		t.Errorf("done subplan: %+v", j)
	}
	if j := orchestrator.Accepts(m.def, m.s, orchestrator.Call{Tool: "submit_done", Role: "coder"}); j.OK || !strings.Contains(j.Reason, "subplan_index") {
		t.Errorf("without index: %+v", j)
	}
	before := m.count(orchestrator.EvInputIgnored)
	m.tool("submit_done", "coder/2", map[string]any{"subplan_index": 1}, nil)
	if m.count(orchestrator.EvInputIgnored) != before+1 || m.s.SubplanStatus["2"] != orchestrator.SubplanRunning {
		t.Errorf("coder 2 handed in subplan 1: %v", m.s.SubplanStatus)
	}
}

func TestProtocolP6Conflicts(t *testing.T) {
	resolveEmpty := false
	conflict := func(e orchestrator.Effect) orchestrator.Result {
		switch {
		case e.Type == orchestrator.EffIntegrate && e.Args.Workspace == "1":
			return orchestrator.Result{Conflicts: []string{"a.go", "b.bin"}}
		case e.Type == orchestrator.EffIntegrate && e.Args.Workspace == "resolve-1" && resolveEmpty:
			return orchestrator.Result{Empty: true, Commit: "c", Tree: "t"}
		case e.Type == orchestrator.EffIntegrate && e.Args.Workspace == "resolve-1":
			return orchestrator.Result{Commit: "c9", Tree: "t9", Scope: []orchestrator.ScopePath{{Path: "z"}}}
		}
		return orchestrator.Result{}
	}
	start := func(t *testing.T) *sim {
		m := newSim(t, "quick", nil)
		m.result = conflict
		m.planned("parallel", 2)
		m.coded(1)
		if m.s.Agents["coder/resolve-1"].Launch != "" {
			t.Fatal("resolved before the group's other subplans")
		}
		m.coded(2)
		if m.s.Agents["coder/resolve-1"].Launch == "" || m.s.SubplanStatus["1"] != orchestrator.SubplanRunning {
			t.Fatalf("not resolved: %v", m.s.SubplanStatus)
		}
		if w := m.s.Workspaces["resolve-1"]; w.Base != m.s.Integrated.Commit {
			t.Fatalf("resolved at %q, integrated is %q", w.Base, m.s.Integrated.Commit)
		}
		return m
	}
	t.Run("resolved without a scope record", func(t *testing.T) {
		resolveEmpty = false
		m := start(t)
		var diff orchestrator.Effect
		for _, e := range m.done {
			if e.Args.Material == orchestrator.MaterialConflict {
				diff = e
			}
		}
		if diff.Args.Path != "06_implementation/conflict_1.diff" || len(m.s.Conflicts["1"]) != 2 {
			t.Fatalf("diff %+v, paths %v", diff.Args, m.s.Conflicts)
		}
		m.tool("submit_done", "coder/resolve-1", map[string]any{"subplan_index": 1}, nil)
		m.phase("reviewing")
		if m.count(orchestrator.EvScopeViolation) != 0 {
			t.Error("a resolution left a scope record")
		}
	})
	t.Run("an empty result parks, a resume asks the same agent again", func(t *testing.T) {
		resolveEmpty = true
		m := start(t)
		m.tool("submit_done", "coder/resolve-1", map[string]any{"subplan_index": 1}, nil)
		m.parked(orchestrator.ReasonMergeUnresolved)
		m.resume("")
		if m.s.Agents["coder/resolve-1"].Launch == "" {
			t.Fatalf("agents: %+v", m.s.Agents)
		}
		resolveEmpty = false
		m.tool("submit_done", "coder/resolve-1", map[string]any{"subplan_index": 1}, nil)
		m.phase("reviewing")
	})
}

func TestProtocolP6ConflictOfAFixGoesToAPerson(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.toReview("serial", 1)
	m.result = func(e orchestrator.Effect) orchestrator.Result {
		if e.Type == orchestrator.EffIntegrate {
			return orchestrator.Result{Conflicts: []string{"a.go"}}
		}
		return orchestrator.Result{}
	}
	m.fails("reviewer_logic")
	m.fixed()
	m.parked(orchestrator.ReasonMergeUnresolved)
	m.result = nil
	m.resume("")
	m.fixed()
	m.phase("reviewing")
}

func TestProtocolP7EditsOutsideTheOwnedFiles(t *testing.T) {
	scope := []orchestrator.ScopePath{{Path: "other.go", Added: 3}}
	violate := func(e orchestrator.Effect) orchestrator.Result {
		if e.Type == orchestrator.EffIntegrate && e.Args.Strict {
			return orchestrator.Result{Scope: scope}
		}
		if e.Type == orchestrator.EffIntegrate {
			return orchestrator.Result{Commit: "c1", Tree: "t1", Scope: scope}
		}
		return orchestrator.Result{}
	}
	t.Run("report", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.result = violate
		m.planned("serial", 1)
		m.coded(1)
		m.phase("reviewing")
		if m.count(orchestrator.EvScopeViolation) != 1 {
			t.Error("no record")
		}
	})
	t.Run("fail", func(t *testing.T) {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ScopePolicy = "fail" })
		m.result = violate
		m.planned("serial", 1)
		m.coded(1)
		if got := m.s.Agents["coder/1"]; got.Attempt != 2 || got.Retries != 0 {
			t.Fatalf("coder: %+v", got)
		}
		if n := len(m.s.Messages); n != 1 || m.s.Messages[0].To != "pipeline/coder-1" {
			t.Fatalf("messages: %+v", m.s.Messages)
		}
		m.coded(1)
		m.parked(orchestrator.ReasonScope)
		m.resume("")
		if m.s.Agents["coder/1"].Attempt != 3 {
			t.Fatalf("coder after the resume: %+v", m.s.Agents["coder/1"])
		}
		m.result = nil
		m.coded(1)
		m.phase("reviewing")
	})
}

func TestProtocolP8FixRoundsWithinTheCap(t *testing.T) {
	for _, cap := range []int{0, 1, 3} {
		t.Run(fmt.Sprint("cap ", cap), func(t *testing.T) {
			m := newSim(t, "feature", func(s *orchestrator.State) { s.Settings.MaxReviewIterations = cap })
			m.toReview("serial", 1)
			for range cap {
				m.fails("reviewer_logic")
				m.phase("fixing")
				m.fixed()
				m.phase("reviewing")
			}
			m.fails("reviewer_logic")
			m.phase(orchestrator.PhaseDone)
			if m.s.Outcome != orchestrator.OutcomeNeedsHuman || !m.s.Completion.Draft || !m.s.Completion.Exhausted {
				t.Errorf("outcome %q, completion %+v", m.s.Outcome, m.s.Completion)
			}
			if got := m.count(orchestrator.EvReviewStarted); got != cap+1 {
				t.Errorf("%d reviews, want %d", got, cap+1)
			}
			if got := m.count(orchestrator.EvFixRound); got != cap {
				t.Errorf("%d fix rounds, want %d", got, cap)
			}

			m = newSim(t, "feature", func(s *orchestrator.State) { s.Settings.MaxReviewIterations = cap })
			m.toReview("serial", 1)
			for range cap {
				m.fails("reviewer_logic")
				m.fixed()
			}
			m.pass("reviewer_logic")
			m.summary("reviewer_logic")
			m.phase(orchestrator.PhaseDone)
			if m.s.Outcome != orchestrator.OutcomeDone || m.s.Completion.Draft {
				t.Errorf("outcome %q draft %v", m.s.Outcome, m.s.Completion.Draft)
			}
		})
	}
}

func TestProtocolP9RerunOfTwoReviewers(t *testing.T) {
	start := func(t *testing.T, rerun string) *sim {
		m := newSim(t, "feature", func(s *orchestrator.State) { s.Settings.ReviewRerun = rerun })
		m.architecture("reviewer_quality", "reviewer_logic")
		m.planned("serial", 1)
		m.coded(1)
		m.pass("reviewer_quality")
		m.fails("reviewer_logic")
		m.phase("fixing")
		m.fixed()
		return m
	}
	pending := func(m *sim) []string {
		var roles []string
		for role, status := range m.s.ActiveReviews {
			if status == orchestrator.ReviewPending {
				roles = append(roles, role)
			}
		}
		slices.Sort(roles)
		return roles
	}
	t.Run("failed", func(t *testing.T) {
		m := start(t, "failed")
		if got := pending(m); !slices.Equal(got, []string{"reviewer_logic"}) {
			t.Fatalf("pending %v", got)
		}
		m.pass("reviewer_logic")
		if got := pending(m); !slices.Equal(got, []string{"reviewer_quality"}) {
			t.Fatalf("second step: %v", got)
		}
		m.fails("reviewer_quality") // a normal fail of this iteration
		m.phase("fixing")
		m.fixed()
		m.pass("reviewer_quality")
		m.pass("reviewer_logic")
		m.summary("reviewer_logic")
		m.phase(orchestrator.PhaseDone)
		if m.s.Completion.Draft || m.s.ReviewIteration != 2 {
			t.Errorf("draft %v, iteration %d", m.s.Completion.Draft, m.s.ReviewIteration)
		}
	})
	t.Run("the second step is told what it passed before", func(t *testing.T) {
		m := start(t, "failed")
		m.pass("reviewer_logic")
		for _, e := range m.done {
			if e.Type == orchestrator.EffStartAgent && e.Args.Launch == m.s.Agents["reviewer_quality"].Launch {
				if e.Args.Since != m.s.ReviewResults["reviewer_quality"].Tree {
					t.Errorf("since %q", e.Args.Since)
				}
			}
		}
	})
	t.Run("all", func(t *testing.T) {
		m := start(t, "all")
		if got := pending(m); !slices.Equal(got, []string{"reviewer_logic", "reviewer_quality"}) {
			t.Fatalf("pending %v", got)
		}
	})
	t.Run("trust", func(t *testing.T) {
		m := start(t, "trust")
		m.pass("reviewer_logic")
		m.summary("reviewer_logic")
		m.phase(orchestrator.PhaseDone)
		if !m.s.Completion.Draft {
			t.Error("a trusted pass made a draft ready")
		}
	})
	t.Run("a reviewer that timed out runs again after the fix", func(t *testing.T) {
		m := newSim(t, "feature", nil)
		m.architecture("reviewer_quality", "reviewer_logic")
		m.planned("serial", 1)
		m.coded(1)
		m.pass("reviewer_quality")
		m.fails("reviewer_logic")
		m.fixed()
		m.pass("reviewer_logic")
		m.timer("review") // the second step is silent: asked once more
		m.fails("reviewer_quality")
		m.fixed()
		if got := pending(m); !slices.Equal(got, []string{"reviewer_quality"}) {
			t.Fatalf("pending %v", got)
		}
	})
}

func TestProtocolP10SilentReviewerAndMissingSummary(t *testing.T) {
	t.Run("silent reviewer", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.toReview("serial", 1)
		m.timer("review")
		if got := m.s.Agents["reviewer_logic"]; got.Attempt != 2 || m.s.ActiveReviews["reviewer_logic"] != orchestrator.ReviewPending {
			t.Fatalf("not asked again: %+v %v", got, m.s.ActiveReviews)
		}
		m.timer("review")
		m.parked(orchestrator.ReasonReviewTimeout)
		m.resume("")
		if m.s.Agents["reviewer_logic"].Launch == "" {
			t.Fatal("not asked after the resume")
		}
		m.pass("reviewer_logic")
	})
	t.Run("any fail counts although another is silent", func(t *testing.T) {
		m := newSim(t, "feature", nil)
		m.architecture("reviewer_quality", "reviewer_logic")
		m.planned("serial", 1)
		m.coded(1)
		m.fails("reviewer_quality")
		m.timer("review")
		m.phase("fixing")
	})
	t.Run("summary never written", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.toReview("serial", 1)
		m.pass("reviewer_logic")
		m.timer("summary")
		m.phase(orchestrator.PhaseDone)
		m.fallback()
	})
	t.Run("the summary's agent gone twice, without retries", func(t *testing.T) {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.AgentRetries = 0 })
		m.toReview("serial", 1)
		m.pass("reviewer_logic")
		m.exit("reviewer_logic", 1)
		m.timer("relaunch/reviewer_logic")
		m.exit("reviewer_logic", 1)
		m.phase(orchestrator.PhaseDone)
		m.fallback()
	})
}

// fallback expects that the host wrote the summary.
func (m *sim) fallback() {
	m.t.Helper()
	for _, e := range m.done {
		if e.Args.Material == orchestrator.MaterialSummary {
			return
		}
	}
	m.t.Error("no fallback summary")
}

func TestProtocolP11ExhaustedReviewIsNeverApprovedByItself(t *testing.T) {
	exhausted := func(t *testing.T, change func(*orchestrator.State)) *sim {
		m := newSim(t, "quick", change)
		m.toReview("serial", 1)
		m.fails("reviewer_logic")
		for _, e := range m.done {
			if strings.HasSuffix(e.Args.Path, "approval.json") {
				t.Error("an approval was written")
			}
		}
		return m
	}
	for _, skip := range []bool{false, true} {
		t.Run(fmt.Sprint("interactive, skip ", skip), func(t *testing.T) {
			m := exhausted(t, func(s *orchestrator.State) { s.Interactive, s.Settings.SkipFinalApproval = true, skip })
			m.phase("completing")
			if m.s.Gate == nil {
				t.Fatal("no gate")
			}
			m.command("approve", nil)
			m.phase(orchestrator.PhaseDone)
			if m.s.Outcome != orchestrator.OutcomeDone || !m.s.Completion.Draft {
				t.Errorf("outcome %q, draft %v", m.s.Outcome, m.s.Completion.Draft)
			}
		})
	}
	t.Run("unattended", func(t *testing.T) {
		m := exhausted(t, nil)
		m.phase(orchestrator.PhaseDone)
		if m.s.Outcome != orchestrator.OutcomeNeedsHuman || m.s.OutcomeReason != orchestrator.ReasonReviewExhausted || !m.s.Completion.Draft {
			t.Errorf("outcome %q %q", m.s.Outcome, m.s.OutcomeReason)
		}
	})
	t.Run("unattended, stop", func(t *testing.T) {
		m := exhausted(t, func(s *orchestrator.State) { s.Settings.OnExhausted = "stop" })
		m.parked(orchestrator.ReasonReviewExhausted)
		m.resume("")
		if m.s.Gate == nil {
			t.Fatal("no gate after the resume")
		}
		m.command("approve", nil)
		m.phase(orchestrator.PhaseDone)
	})
}

func TestProtocolP13ResearchIsLostAndAskedAgain(t *testing.T) {
	m := newSim(t, "quick", nil)
	ask := map[string]any{"topic": "auth", "questions": []string{"where?"}}
	m.tool("research_dispatch_code", "planner", ask, nil)
	m.tool("research_dispatch_code", "planner", ask, nil)
	if m.count(orchestrator.EvInputIgnored) != 1 {
		t.Error("a running topic was dispatched again")
	}
	m.exit("code-researcher/auth", 1)
	if m.s.ResearchTasks["auth"] != orchestrator.ResearchFailed || m.s.Ended() || m.s.Agents["planner"].Launch == "" {
		t.Fatalf("topic %v, outcome %q", m.s.ResearchTasks, m.s.Outcome)
	}
	if n := len(m.s.Messages); n != 1 || m.s.Messages[0].To != "pipeline/planner" {
		t.Fatalf("the owner was not told: %+v", m.s.Messages)
	}
	m.tool("research_dispatch_code", "planner", ask, nil)
	if m.s.ResearchTasks["auth"] != orchestrator.ResearchDispatched {
		t.Fatal("a failed topic cannot be dispatched again")
	}
	m.planned("serial", 1)
	m.phase("implementing")
	if m.s.Agents["code-researcher/auth"].Launch == "" {
		t.Error("the researcher did not survive the phase change")
	}
	m.tool("submit_research_done", "code-researcher/auth", map[string]any{"topic": "auth", "type": "code"}, textArtifact("03_research/code-auth/summary.md"))
	if m.s.ResearchTasks["auth"] != orchestrator.ResearchDone || m.count(orchestrator.EvResearchDone) != 1 {
		t.Error("a submission of an earlier visit's researcher was not taken")
	}
	m.coded(1)
	m.phase("reviewing")
}

func TestProtocolP13ResearchersAreLimited(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.Research = 1 })
	m.tool("research_dispatch_code", "planner", map[string]any{"topic": "a", "questions": []string{"?"}}, nil)
	m.tool("research_dispatch_web", "planner", map[string]any{"topic": "b", "questions": []string{"?"}}, nil)
	if len(m.s.WebResearchTasks) != 0 || !strings.Contains(m.last(orchestrator.EvInputIgnored).Data["reason"].(string), "wait") {
		t.Error("more researchers than allowed")
	}
}

func TestProtocolP16ChangesTwice(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.architecture()
	m.planned("serial", 2)
	m.coded(1)
	m.coded(2)
	m.pass("reviewer_logic")
	m.summary("reviewer_logic")
	m.phase(orchestrator.PhaseDone)
	head, pr := m.s.Integrated.Commit, m.s.Completion.PRNumber
	m.command("changes", map[string]any{"text": "one more"})
	m.phase("planning")
	if m.s.ChangeRequest != "one more" || len(m.s.CompletedSubplans) != 0 || m.s.Schedule != nil || len(m.s.ReviewResults) != 0 || m.s.GroupTotal != 0 {
		t.Fatalf("change round starts with %q %v %v %v", m.s.ChangeRequest, m.s.CompletedSubplans, m.s.Schedule, m.s.ReviewResults)
	}
	if m.s.Workspaces["view/planner"].Base != head {
		t.Errorf("the planner works at %q, integrated is %q", m.s.Workspaces["view/planner"].Base, head)
	}
	prompt := func() string {
		for i := len(m.done) - 1; i >= 0; i-- {
			if m.done[i].Type == orchestrator.EffStartAgent {
				return m.done[i].Args.PromptFile
			}
		}
		return ""
	}
	if prompt() != "04_planning/changes_prompt.md" {
		t.Errorf("prompt %q", prompt())
	}
	m.tool("submit_plan", "planner", map[string]any{}, plan("serial", 1, false))
	if m.s.ChangeRequest != "" {
		t.Error("an accepted plan does not clear the change request")
	}
	m.coded(1)
	m.pass("reviewer_logic")
	m.summary("reviewer_logic")
	m.phase(orchestrator.PhaseDone)
	if m.s.Completion.PRNumber != pr || m.s.ChangeRound != 1 || m.s.Integrated.Commit == head {
		t.Errorf("pull request %d, round %d", m.s.Completion.PRNumber, m.s.ChangeRound)
	}
	m.resume("and again")
	m.phase("planning")
	if m.s.ChangeRequest != "and again" || m.s.ChangeRound != 2 || m.s.ResumeCount != 1 {
		t.Errorf("%q round %d resumes %d", m.s.ChangeRequest, m.s.ChangeRound, m.s.ResumeCount)
	}
	m.command("stop", nil)
	m.resume("")
	m.exit("planner", 1)
	m.timer("relaunch/planner")
	m.exit("planner", 1)
	m.parked(orchestrator.ReasonAgentStalled)
	m.command("changes", map[string]any{"text": "third"})
	if m.s.ChangeRequest != "and again\n\nthird" {
		t.Errorf("a request was lost: %q", m.s.ChangeRequest)
	}
}

func TestProtocolP18ViewsHoldAllResults(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.architecture()
	m.planned("parallel", 2)
	for _, id := range []string{"1", "2"} {
		if w := m.s.Workspaces[id]; w.Base != "base" {
			t.Errorf("workspace %s at %q", id, w.Base)
		}
	}
	m.coded(1)
	m.coded(2)
	if w := m.s.Workspaces["view/reviewer_logic"]; w.Base != m.s.Integrated.Commit {
		t.Errorf("the reviewer sees %q, integrated is %q", w.Base, m.s.Integrated.Commit)
	}
	m.fails("reviewer_logic")
	if _, kept := m.s.Workspaces["view/reviewer_logic"]; kept {
		t.Error("the view outlived its visit")
	}
	if w := m.s.Workspaces["session"]; w.Base != m.s.Integrated.Commit {
		t.Errorf("the fixer works at %q, integrated is %q", w.Base, m.s.Integrated.Commit)
	}
	m.fixed()
	for _, e := range m.done {
		if e.Type == orchestrator.EffIntegrate && strings.HasPrefix(e.Args.Workspace, "view/") {
			t.Errorf("a view was integrated: %+v", e.Args)
		}
	}
}

func TestUnsubmittedWorkOfAnotherPlanIsNotBuiltOn(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.planned("serial", 2)
	m.coded(1)
	half := m.s.Workspaces["session"]
	m.exit("coder/2", 1)
	m.timer("relaunch/coder/2")
	if got := m.s.Workspaces["session"]; got.Visit != half.Visit || got.Base != half.Base {
		t.Fatalf("a relaunch does not go on in the same workspace: %+v", got)
	}
	m.exit("coder/2", 1)
	m.parked(orchestrator.ReasonAgentStalled)
	m.command("changes", map[string]any{"text": "otherwise"})
	m.planned("serial", 1)
	if got := m.s.Workspaces["session"]; got.Visit != m.s.Visit {
		t.Fatalf("the new plan starts on unsubmitted work: %+v", got)
	}
}

func TestProtocolP16AChangeRoundStartsFromTheBranch(t *testing.T) {
	theirs := orchestrator.Result{Commit: "theirs", Tree: "treetheirs"}
	start := func(t *testing.T) *sim {
		m := newSim(t, "quick", nil)
		m.toEnd()
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffAdopt }
		m.command("changes", map[string]any{"text": "more"})
		m.phase("planning")
		if len(m.live()) != 0 {
			t.Fatal("the planner was started on an old base")
		}
		return m
	}
	t.Run("merged", func(t *testing.T) {
		m := start(t)
		m.hold, m.result = nil, completion(orchestrator.EffAdopt, theirs)
		m.settle()
		if w := m.s.Workspaces["view/planner"]; w.Base != "theirs" || m.s.Integrated.Tree != "treetheirs" {
			t.Errorf("the planner works at %q", w.Base)
		}
	})
	t.Run("paused, killed and taken up", func(t *testing.T) {
		m := start(t)
		m.command("pause", nil)
		m.command("resume", nil)
		m.command("stop", nil)
		m.hold, m.result = nil, completion(orchestrator.EffAdopt, theirs)
		m.resume("")
		if w := m.s.Workspaces["view/planner"]; w.Base != "theirs" || m.s.Agents["planner"].Launch == "" {
			t.Errorf("the planner works at %q: %+v", w.Base, m.s.Agents["planner"])
		}
	})
	t.Run("conflict, or no answer", func(t *testing.T) {
		m := start(t)
		base := m.s.Integrated.Commit
		m.hold, m.result = nil, completion(orchestrator.EffAdopt, orchestrator.Result{Conflicts: []string{"a"}})
		m.settle()
		if m.s.Integrated.Commit != base || m.s.Agents["planner"].Launch == "" || m.count(orchestrator.EvMergeConflict) != 1 {
			t.Errorf("integrated %q, planner %+v", m.s.Integrated.Commit, m.s.Agents["planner"])
		}
		m = start(t)
		m.failing(orchestrator.EffAdopt, orchestrator.FailNever)
		if m.s.Ended() || m.s.Agents["planner"].Launch == "" {
			t.Errorf("outcome %q", m.s.Outcome)
		}
	})
}

func TestProtocolG4TheServersFindingIsOne(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.result = completion(orchestrator.EffPush, orchestrator.Result{Refused: "x", Findings: []string{"secret: a.go"}})
	m.toEnd()
	m.parked(orchestrator.ReasonOutputGate)
	m.resume("")
	m.phase("planning")
}
