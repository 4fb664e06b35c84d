package decide_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
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
	call := func(id string) duty.Judgement {
		index := orchestrator.Index(id)
		return duty.Accepts(m.def, m.s, duty.Call{Tool: "submit_done", Role: "coder", Payload: orchestrator.Payload{SubplanIndex: &index}})
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
	if j := duty.Accepts(m.def, m.s, duty.Call{Tool: "submit_done", Role: "coder"}); j.OK || !strings.Contains(j.Reason, "subplan_index") {
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
		case e.Type == orchestrator.EffIntegrate && e.Args.Workspace == "2.1":
			return orchestrator.Result{Conflicts: []string{"a.go", "b.bin"}}
		case e.Type == orchestrator.EffIntegrate && e.Args.Workspace == "2.resolve-1" && resolveEmpty:
			return orchestrator.Result{Empty: true, Commit: "c", Tree: "t"}
		case e.Type == orchestrator.EffIntegrate && e.Args.Workspace == "2.resolve-1":
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
		if w := m.s.Workspaces[m.own("resolve-1")]; w.Base != m.s.Integrated.Commit {
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
	name := m.own(orchestrator.FixTask)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffPreserve }
	m.fixed()
	for _, e := range m.s.Pending { // what it keeps is in no workspace any more
		if e.Type != orchestrator.EffPreserve && (e.Type != orchestrator.EffCheckpoint || len(e.After) != 1) {
			t.Errorf("pending: %s after %v", e.Type, e.After)
		}
	}
	if len(m.s.Pending) != 2 {
		t.Errorf("%d are pending", len(m.s.Pending))
	}
	m.hold = nil
	m.settle()
	m.parked(orchestrator.ReasonMergeUnresolved)
	if kept := m.effects(orchestrator.EffPreserve); len(kept) != 1 || kept[0].Args.Tree != "work of "+name || kept[0].Args.Task != orchestrator.FixTask {
		t.Errorf("kept %+v", kept)
	}
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
		for name, work := range map[string]func(orchestrator.Taking) *orchestrator.Snapshot{"taken": strays("other.go"), "as it is": untaken} {
			m := newSim(t, "quick", nil)
			m.result, m.work = violate, work
			m.planned("serial", 1)
			m.coded(1)
			m.phase("reviewing")
			if m.count(orchestrator.EvScopeViolation) != 1 {
				t.Errorf("%s: no record", name)
			}
		}
	})
	t.Run("fail, of work as it is", func(t *testing.T) {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ScopePolicy = "fail" })
		m.result, m.work = violate, untaken
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

// fallback expects that the host wrote the summary.
