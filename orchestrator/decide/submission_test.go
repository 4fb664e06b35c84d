package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
)

// noEnd keeps every launch alive: what its stop leads to does not happen yet.
func noEnd(e orchestrator.Effect) bool { return e.Type == orchestrator.EffStopAgent }

// wanted returns the pending effects of a type.
func (m *sim) wanted(kind string) []orchestrator.Effect {
	return slices.DeleteFunc(slices.Clone(m.s.Pending), func(e orchestrator.Effect) bool { return e.Type != kind })
}

func TestProtocolC8TheNextAgentStartsBesideTheOneThatLeaves(t *testing.T) {
	for name, c := range map[string]struct {
		reach  func(*sim)
		submit func(*sim)
		leaves orchestrator.Launch
		next   orchestrator.Launch
	}{
		"an author, the next phase": {func(*sim) {}, func(m *sim) { m.architecture() }, "1.architect.1", "2.planner.1"},
		"the planner, a coder":      {func(m *sim) { m.architecture() }, func(m *sim) { m.planned("serial", 2) }, "2.planner.1", "3.coder.1.1"},
		"a coder, the next of its group": {
			func(m *sim) { m.architecture(); m.planned("serial", 2) }, func(m *sim) { m.coded(1) }, "3.coder.1.1", "3.coder.2.1",
		},
		"the last coder, a reviewer": {
			func(m *sim) { m.architecture(); m.planned("serial", 1) }, func(m *sim) { m.coded(1) }, "3.coder.1.1", "4.reviewer_logic.1",
		},
		"a reviewer, the fixer": {
			func(m *sim) { m.toReview("serial", 1) }, func(m *sim) { m.fails("reviewer_logic") }, "4.reviewer_logic.1", "5.coder.1",
		},
		"the fixer, a reviewer": {
			func(m *sim) { m.toReview("serial", 1); m.fails("reviewer_logic") }, func(m *sim) { m.fixed() }, "5.coder.1", "6.reviewer_logic.1",
		},
		"a reviewer, its summary": {
			func(m *sim) { m.toReview("serial", 1) }, func(m *sim) { m.pass("reviewer_logic") }, "4.reviewer_logic.1", "4.reviewer_logic.2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "feature", nil)
			c.reach(m)
			m.hold = noEnd
			c.submit(m)
			if ran := m.ran(); ran[len(ran)-1] != c.next {
				t.Errorf("ran %v, want %s at the end", ran, c.next)
			}
			stops := m.wanted(orchestrator.EffStopAgent)
			if _, leaving := m.s.Leaving[c.leaves]; !leaving || len(stops) != 1 || stops[0].Args.Launch != c.leaves || !stops[0].Args.Leaving {
				t.Errorf("leaving %v, stops %+v", m.s.Leaving, stops)
			}
			said := m.last(orchestrator.EvSubmission).Data.(orchestrator.SubmissionRecord)
			if said.Launch != c.leaves || said.Line != fmt.Sprint("id", m.line) || said.Tool == "" {
				t.Errorf("recorded %+v", said)
			}
			m.hold = nil
			m.settle()
			if len(m.s.Leaving) != 0 || m.count(orchestrator.EvLateChanges) != 0 {
				t.Errorf("leaving %v, %d late changes", m.s.Leaving, m.count(orchestrator.EvLateChanges))
			}
		})
	}
}

func TestProtocolC8TheTreeOfThatMomentCounts(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ScopePolicy = "fail" })
	m.planned("parallel", 2)
	m.hold = noEnd
	m.coded(1)
	merged := m.effects(orchestrator.EffIntegrate)
	if merged[0].Args.Strict {
		t.Error("its scope is judged twice")
	}
	if len(merged) != 1 || merged[0].Args.Tree != "work of 2.1" || merged[0].Args.Workspace != "2.1" || !slices.Equal(merged[0].Args.Owned, []string{"f1/"}) {
		t.Fatalf("merged %+v", merged)
	}
	stop, late, gone := m.wanted(orchestrator.EffStopAgent), m.wanted(orchestrator.EffKeepLate), m.wanted(orchestrator.EffRemoveWorkspace)
	if len(late) != 1 || late[0].Args.Tree != "work of 2.1" || late[0].Args.Dir != "/w/2.1" || !slices.Equal(late[0].After, []string{stop[0].ID}) {
		t.Errorf("late work %+v after %+v", late, stop)
	}
	if len(gone) != 1 || gone[0].Args.Dir != "/w/2.1" || !slices.Contains(gone[0].After, stop[0].ID) || !slices.Contains(gone[0].After, late[0].ID) {
		t.Errorf("the workspace goes %+v", gone)
	}
	m.hold = nil
	m.settle()
	if _, kept := m.s.Workspaces["2.1"]; kept || len(m.wanted(orchestrator.EffRemoveWorkspace)) != 0 {
		t.Errorf("workspaces %v", m.s.Workspaces)
	}
}

func TestAWorkspaceInConflictStaysUntilItIsResolved(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.result = func(e orchestrator.Effect) orchestrator.Result {
		if e.Type == orchestrator.EffIntegrate && e.Args.Workspace == "2.1" {
			return orchestrator.Result{Conflicts: []string{"a.go"}}
		}
		return orchestrator.Result{}
	}
	m.planned("parallel", 1)
	base := m.s.Workspaces["2.1"].Base
	m.hold = noEnd
	m.coded(1)
	kept := m.effects(orchestrator.EffPreserve)
	if len(kept) != 1 || kept[0].Args.Tree != "work of 2.1" {
		t.Fatalf("kept %+v", kept)
	}
	for _, e := range m.effects(orchestrator.EffMaterialise) {
		if e.Args.Material == orchestrator.MaterialConflict && e.Args.Base != base {
			t.Errorf("the conflict is shown against %q, the work began at %q", e.Args.Base, base)
		}
	}
	if m.s.Workspaces["2.1"].Path == "" || m.s.Agents["coder/resolve-1"].Launch == "" {
		t.Fatalf("workspaces %v, agents %v", m.s.Workspaces, m.s.Agents)
	}
	m.hold = nil
	m.settle()
	m.tool("submit_done", "coder/resolve-1", map[string]any{"subplan_index": 1}, nil)
	m.phase("reviewing")
	last := m.effects(orchestrator.EffIntegrate)
	if got := last[len(last)-1].Args; !slices.Equal(got.Owned, []string{"f1/", "a.go"}) || got.Tree != "work of 2.resolve-1" {
		t.Errorf("the resolution is %+v", got)
	}
	for _, name := range []string{"2.1", "2.resolve-1"} {
		if _, kept := m.s.Workspaces[name]; kept {
			t.Errorf("the workspace %s stays", name)
		}
	}
}

// writesOn lets a launch that leaves write on.
func writesOn(e orchestrator.Effect) orchestrator.Result {
	if e.Type == orchestrator.EffKeepLate {
		return orchestrator.Result{Late: []string{"a.go", "b.go"}, Path: "refs/late/" + string(e.Args.Launch)}
	}
	return orchestrator.Result{}
}

func TestProtocolC14LateChangesAreRecordedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*sim)
		phase     string
	}{
		"the session goes on":             {func(*sim) {}, "implementing"},
		"its phase is left":               {func(m *sim) { m.coded(2) }, "reviewing"},
		"the session ends":                {func(m *sim) { m.command("stop", nil) }, orchestrator.PhaseFailed},
		"it ends and is resumed":          {func(m *sim) { m.command("stop", nil); m.resume("") }, "implementing"},
		"its host is killed, and another": {func(m *sim) { m.resume(""); m.resume("") }, "implementing"},
		"it is parked": {func(m *sim) {
			m.report("coder/2", orchestrator.AgentReport{Dialog: "?"})
		}, "implementing"},
		"it cannot be compared at first": {func(m *sim) {
			m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffKeepLate }
			m.settle()
			m.failing(orchestrator.EffKeepLate, orchestrator.FailLocal)
		}, "implementing"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "quick", nil)
			m.result = writesOn
			m.planned("parallel", 2)
			m.hold = func(e orchestrator.Effect) bool { return noEnd(e) && e.Args.Launch == "2.coder.1.1" }
			m.coded(1)
			c.meanwhile(m)
			if len(m.s.Leaving) == 0 || m.count(orchestrator.EvLateChanges) > 1 {
				t.Fatalf("leaving %v, %d late changes", m.s.Leaving, m.count(orchestrator.EvLateChanges))
			}
			m.hold = nil
			m.settle()
			m.resumed()
			m.phase(c.phase)
			var late []orchestrator.LateChangesRecord
			for _, e := range m.events {
				if d, ok := e.Data.(orchestrator.LateChangesRecord); ok && d.Launch == "2.coder.1.1" {
					late = append(late, d)
				}
			}
			if len(late) != 1 || late[0].Task != "1" || late[0].Role != "coder" || len(late[0].Paths) != 2 || late[0].Ref != "refs/late/2.coder.1.1" {
				t.Errorf("late changes %+v", late)
			}
			if len(m.s.Leaving) != 0 {
				t.Errorf("leaving %v", m.s.Leaving)
			}
		})
	}
}

// resumed gives the state to another host, as it would read it.
func (m *sim) resumed() {
	m.t.Helper()
	data, err := m.s.Encode()
	if err != nil {
		m.t.Fatal(err)
	}
	if m.s, err = orchestrator.Decode(data); err != nil {
		m.t.Fatal(err)
	}
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}})
}

func TestProtocolC14ALeavingLaunchOwesNothing(t *testing.T) {
	start := func(t *testing.T) (m *sim, line func(tool, payload string) orchestrator.Input) {
		m = newSim(t, "quick", func(s *orchestrator.State) { s.Settings.Parallel = 1 })
		m.planned("parallel", 3)
		m.hold = noEnd
		m.tool("ask_human", "coder/1", map[string]any{"id": "q1", "question": "Which?"}, nil)
		visit := m.s.Visit
		m.coded(1)
		n := 0
		return m, func(tool, payload string) orchestrator.Input {
			n++
			return orchestrator.Input{Kind: orchestrator.InTool, Line: &orchestrator.Line{
				Tool: tool, ID: fmt.Sprint("more", n), Role: "coder", Task: "1", Launch: "2.coder.1.1", Visit: &visit, Payload: []byte(payload), At: orchestrator.At(m.now),
			}}
		}
	}
	t.Run("no place of the group, no question", func(t *testing.T) {
		m, _ := start(t)
		if m.s.Agents["coder/2"].Launch == "" {
			t.Errorf("active %v", m.s.ActivePlanIDs)
		}
		if q := m.s.Questions[0]; q.Open() || m.last(orchestrator.EvQuestionAnswered).Data.(orchestrator.QuestionAnsweredRecord).Source != orchestrator.SourceWithdrawn {
			t.Errorf("question %+v", q)
		}
		if _, armed := m.s.Deadlines["question/q1"]; armed {
			t.Error("the question has a deadline")
		}
	})
	t.Run("no reminder, retry or stall", func(t *testing.T) {
		m, _ := start(t)
		before := m.s.Seq
		code := 1
		for _, rep := range []orchestrator.AgentReport{
			{Condition: orchestrator.AgentLive, TurnEnded: "turn 1"}, {Condition: orchestrator.AgentLive, Silence: orchestrator.Duration(9 * time.Hour)},
			{Condition: orchestrator.AgentLive, Dialog: "?"}, {Condition: orchestrator.AgentLive, RateLimited: true},
			{Condition: orchestrator.AgentDead, ExitCode: &code, Fault: orchestrator.ServiceLogin}, {Condition: orchestrator.AgentAbsent, ServerLost: true},
		} {
			rep.Key, rep.Launch = "coder/1", "2.coder.1.1"
			m.do(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &rep})
		}
		if m.s.Seq != before || m.s.Ended() || m.s.Agents["coder/1"].Launch != "" {
			t.Errorf("%d records, outcome %q", m.s.Seq-before, m.s.Outcome)
		}
	})
	t.Run("what it says more is ignored", func(t *testing.T) {
		m, line := start(t)
		ignored := func(in orchestrator.Input, want string) {
			t.Helper()
			taken := m.count(orchestrator.EvSubmission)
			m.do(in)
			said := m.last(orchestrator.EvInputIgnored).Data.(orchestrator.InputIgnoredRecord)
			if !strings.Contains(said.Reason, want) || m.count(orchestrator.EvSubmission) != taken {
				t.Errorf("%s: %+v", in.Line.Tool, said)
			}
			if in.Line.Tool == "submit_done" && said.Line != in.Line.ID {
				t.Errorf("the record names line %q", said.Line)
			}
		}
		ignored(line("submit_done", `{"subplan_index": 1}`), "already submitted")
		ignored(line("ask_human", `{"question": "And now?"}`), "not at work")
		m.coded(2)
		m.coded(3)
		m.phase("reviewing")
		ignored(line("submit_done", `{"subplan_index": 1}`), "stale")
		ignored(line("ask_human", `{"question": "And now?"}`), "not at work")
		if len(m.effects(orchestrator.EffIntegrate)) != 3 {
			t.Errorf("merged %+v", m.effects(orchestrator.EffIntegrate))
		}
	})
}

// Records of ignored lines are counted in one, but each tool that waits looks for its own.
func TestEachToolThatWaitsGetsItsRecord(t *testing.T) {
	for name, c := range map[string]struct {
		age     time.Duration
		records int
	}{"they wait": {0, 2}, "they have gone": {time.Minute, 1}} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "quick", nil)
			m.planned("serial", 2)
			m.coded(1)
			visit := m.s.Visit
			ignored := func(s *orchestrator.State, id string) decide.Step {
				step, err := decide.Reduce(m.def, s, orchestrator.Input{Kind: orchestrator.InTool, At: m.now, Line: &orchestrator.Line{
					Tool: "submit_done", ID: id, Role: "coder", Task: "1", Launch: "2.coder.1.1", Visit: &visit,
					Payload: []byte(`{"subplan_index": 1}`), At: orchestrator.At(m.now.Add(-c.age)),
				}})
				if err != nil || !step.Minor() {
					t.Fatalf("minor %v, %v", step.Minor(), err)
				}
				return step
			}
			first := ignored(m.s, "a")
			if got := decide.Join(first, ignored(first.State, "b")); len(got.Events) != c.records || got.State.Seq != m.s.Seq+c.records {
				t.Errorf("%d records: %+v", len(got.Events), got.Events)
			}
		})
	}
}

func TestProtocolC14APlanGateOpensBesideTheOneThatLeaves(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ApprovePlan = true })
	m.hold = noEnd
	m.planned("serial", 1)
	if m.s.Gate == nil || len(m.s.Leaving) != 1 || len(m.wanted(orchestrator.EffStopAgent)) != 1 {
		t.Fatalf("gate %+v, leaving %v", m.s.Gate, m.s.Leaving)
	}
	m.command("changes", map[string]any{"text": "smaller"})
	if got := m.ran(); got[len(got)-1] != "2.planner.1" {
		t.Fatalf("ran %v", got)
	}
}

// Two programs do not share a home; the session of the program lies in the one it was made in.
func TestALaunchBesideOneThatLeavesHasAnotherHome(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.toReview("serial", 1)
	m.report("reviewer_logic", orchestrator.AgentReport{CLISession: "talk"})
	homes := func() (out []string) {
		for _, e := range m.effects(orchestrator.EffStartAgent) {
			if e.Args.Role == "reviewer_logic" {
				out = append(out, e.Args.Home)
			}
		}
		return out
	}
	m.hold = noEnd
	m.pass("reviewer_logic")
	if got := homes(); !slices.Equal(got, []string{"", "2"}) || m.s.Agents["reviewer_logic"].CLISession != "" {
		t.Fatalf("homes %q, %+v", got, m.s.Agents["reviewer_logic"])
	}
	m.exit("reviewer_logic", 1)
	m.hold = func(e orchestrator.Effect) bool { return noEnd(e) && e.Args.Leaving }
	m.settle()
	m.timer("relaunch/reviewer_logic")
	if got := homes(); !slices.Equal(got, []string{"", "2", "2"}) {
		t.Fatalf("a relaunch goes on in another home: %q", got)
	}
	m.summary("reviewer_logic")
	m.phase(orchestrator.PhaseDone)
	m.command("changes", map[string]any{"text": "more"})
	m.planned("serial", 1)
	m.coded(1)
	if got := homes(); !slices.Equal(got, []string{"", "2", "2", "3"}) {
		t.Fatalf("homes beside two that leave: %q", got)
	}
	m.hold = nil
	m.settle()
	m.fails("reviewer_logic")
	m.fixed()
	if got := homes(); !slices.Equal(got, []string{"", "2", "2", "3", ""}) {
		t.Errorf("homes once all have left: %q", got)
	}
}
