package decide_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows/message"
)

// move continues the session on another machine, which has the workspaces that came.
func (m *sim) move(came func(name string) bool) {
	m.t.Helper()
	settings := m.s.Settings
	to := &orchestrator.Move{
		Host: "h_0123456789abcdef", Checkpoint: "c1", Age: orchestrator.Duration(90 * time.Second), LeftOut: []string{"work/2.1/x: is a link"},
		Dir: "/here/s1", Work: map[string]orchestrator.Moved{},
	}
	for name, w := range m.s.Workspaces {
		if came(name) && !strings.Contains(name, orchestrator.WorkspaceView) {
			to.Work[name] = orchestrator.Moved{Path: "/here/w/" + name, Tree: string(w.Snapshot)}
		}
	}
	before := m.s.Clone()
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartMoved, Settings: &settings, Moved: to}})
	m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{Live: []orchestrator.Launch{}}})
	if m.s.FeatureDir != to.Dir || m.s.Visit != before.Visit || m.s.ResumeCount != before.ResumeCount+1 {
		m.t.Errorf("at %q in visit %d, resumed %d times", m.s.FeatureDir, m.s.Visit, m.s.ResumeCount)
	}
	d, _ := m.last(orchestrator.EvMoved).Data.(orchestrator.MovedRecord)
	if d.FromHost != to.Host || d.Checkpoint != "c1" || d.Age != 90 || len(d.LeftOut) != 1 || m.count(orchestrator.EvResumed) != 0 {
		m.t.Errorf("recorded %+v", d)
	}
	for key, a := range m.s.Agents {
		if old := before.Agents[key]; old.Launch != "" && (a.Launch == old.Launch || a.Retries != 0) {
			m.t.Errorf("%s had %s and has %s, %d retries", key, old.Launch, a.Launch, a.Retries)
		}
	}
	for name, at := range to.Work {
		if w, ok := m.s.Workspaces[name]; ok && w.Path != at.Path {
			m.t.Errorf("the workspace %s is at %q", name, w.Path)
		}
	}
	for _, e := range m.s.Pending {
		if strings.HasPrefix(e.Args.Dir, "/w/") && before.Workspaces[e.Args.Workspace].Path == e.Args.Dir {
			m.t.Errorf("%s of %s is in %s", e.Type, e.Args.Workspace, e.Args.Dir)
		}
	}
}

// A session continues in each phase on another machine: what agents did is there, their launches
// are not, and the phase ends as it would have.
func TestProtocolR7EachPhaseContinuesElsewhere(t *testing.T) {
	last := len(stages) - 1 // ends the session
	for i, at := range stages[:last] {
		t.Run(at.phase, func(t *testing.T) {
			m := newSim(t, "feature", func(s *orchestrator.State) { s.ProductManager = true })
			for _, stage := range stages[:i+1] {
				stage.reach(m)
			}
			m.phase(at.phase)
			m.move(func(string) bool { return true })
			m.phase(at.phase)
			for _, stage := range stages[i+1:] {
				stage.reach(m)
			}
			m.phase(orchestrator.PhaseDone)
		})
	}
}

// A dialog is on a screen of the other machine: neither its question nor its answer travels.
func TestProtocolR7NoDialogIsAnsweredElsewhere(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.report("planner", standing("Run ls?"))
	id := m.asked().ID
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffAnswerDialog }
	m.command("answer", map[string]any{"id": id, "text": "1"})
	m.s.Questions = append(m.s.Questions, orchestrator.Question{ID: "d900", Kind: orchestrator.KindDialog, Role: "planner", Text: "Run rm?", Options: []string{"yes"}, AskedAt: orchestrator.At(m.now)})
	m.move(func(string) bool { return true })
	for _, e := range m.s.Pending {
		if e.Type == orchestrator.EffAnswerDialog {
			t.Errorf("pending: %+v", e)
		}
	}
	if a := m.s.Agents["planner"]; m.s.Questions[1].Open() || a.Waiting != "" || a.Launch == "" {
		t.Errorf("%+v, %+v", m.s.Questions[1], a)
	}
}

// Submitted work that waits for its integration is integrated from the tree that came along.
func TestProtocolR7SubmittedWorkIsIntegratedElsewhere(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.planned("parallel", 2)
	m.hold = func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffIntegrate || e.Type == orchestrator.EffStopAgent
	}
	m.coded(1)
	m.hold = nil
	here := len(m.done)
	m.move(func(string) bool { return true })
	for _, e := range m.done[here:] { // of what was begun there
		if e.Type == orchestrator.EffStopAgent {
			t.Errorf("%s is stopped here", e.Args.Launch)
		}
	}
	if m.s.SubplanStatus["1"] != orchestrator.SubplanDone || m.count(orchestrator.EvWorkspaceLost) != 0 {
		t.Errorf("subplans %v", m.s.SubplanStatus)
	}
	if ran := m.ran(); ran[len(ran)-1] != "2.coder.2.2" {
		t.Errorf("launches %v", ran)
	}
	m.coded(2)
	m.phase("reviewing")
}

// A workspace that did not come along is made again, and its agent begins again there.
func TestProtocolR7AWorkspaceThatStayedIsMadeAgain(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.planned("parallel", 2)
	m.move(func(name string) bool { return name != "2.1" })
	if d, _ := m.last(orchestrator.EvWorkspaceLost).Data.(orchestrator.WorkspaceLostRecord); d.Workspace != "2.1" {
		t.Errorf("lost %+v", d)
	}
	m.coded(1)
	m.coded(2)
	m.phase("reviewing")
}

// A session that was parked stays so elsewhere; its answer has work begin in workspaces of that machine.
func TestProtocolR7AParkedSessionWaitsElsewhere(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.AgentRetries = 0 })
	m.planned("serial", 1)
	m.tool("ask_human", "coder", map[string]any{"id": "q1", "question": "Which?"}, nil)
	m.exit("coder", 0)
	m.s.Outcome, m.s.OutcomeReason = orchestrator.OutcomeNeedsHuman, orchestrator.ReasonQuestion
	m.s.Settings.AgentRetries = 99 // anybody who may push can have written that
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{
		Mode: orchestrator.StartMoved, Moved: &orchestrator.Move{Host: "h_0123456789abcdef", Checkpoint: "c1", Dir: "/here/s1", Work: map[string]orchestrator.Moved{}, Settings: orchestrator.DefaultSettings()},
	}})
	m.parked(orchestrator.ReasonQuestion)
	if m.s.Settings.AgentRetries == 99 {
		t.Error("the settings are those of the other machine")
	}
	if len(m.s.Workspaces) > 0 || m.s.FeatureDir != "/here/s1" {
		t.Errorf("at %q it believes in %+v", m.s.FeatureDir, m.s.Workspaces)
	}
}

// Attack 37: a state that came along has no authority over what leaves this machine. A push that is owed is judged by the
// output gate once more, what a person saw and approved elsewhere does not let findings pass.
func TestSecurity37AMovedStateAllowsNoPush(t *testing.T) {
	for name, owed := range map[string]string{"a commit is owed": orchestrator.EffCommit, "a push is owed": orchestrator.EffPush} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "feature", func(s *orchestrator.State) { s.ProductManager = true })
			m.hold = func(e orchestrator.Effect) bool { return e.Type == owed }
			for _, stage := range stages {
				stage.reach(m)
			}
			c := &m.s.Completion
			c.Approved, c.Shown, c.Attended, m.s.Interactive = true, true, true, true
			for i := range m.s.Pending {
				m.s.Pending[i].Args.Allowed, m.s.Pending[i].Args.Matches = true, true
			}
			m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCommit }
			settings := m.s.Settings
			m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{
				Mode: orchestrator.StartMoved, Moved: &orchestrator.Move{Dir: "/here/s1", Settings: settings}, Settings: &settings,
			}})
			m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{Live: []orchestrator.Launch{}}})
			wants := m.wanted(orchestrator.EffCommit)
			if len(wants) != 1 || wants[0].Args.Allowed || wants[0].Args.Matches || len(m.wanted(orchestrator.EffPush)) > 0 {
				t.Fatalf("owes the commits %+v and pushes %+v", wants, m.wanted(orchestrator.EffPush))
			}
			m.do(orchestrator.Input{Kind: orchestrator.InEffectDone, Effect: &orchestrator.Outcome{ID: wants[0].ID, Result: orchestrator.Result{Findings: []string{"secret"}}}})
			m.parked(orchestrator.ReasonOutputGate)
			if len(m.wanted(orchestrator.EffPush)) > 0 {
				t.Error("it is pushed")
			}
		})
	}
}

// Row R7 for a run of an agents file: work that was handed in and not committed is committed from the tree that came along, no step is
// taken as it was asked for there, and agents keep the rules by which they write to each other.
func TestProtocolR7AgentsOfAFileContinueElsewhere(t *testing.T) {
	rows := message.Rows{"base": {"complete": {"left": "go"}}}
	m := newTeam(t, diamond, func(s *orchestrator.State) { s.Settings.Msg.Rows = rows })
	m.submits("base")
	m.hold = func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffCommit && e.Args.Task == "alone" || e.Type == orchestrator.EffFetchBranch && e.Args.Task == "left"
	}
	m.submits("alone")
	m.submits("left")
	m.hold = nil
	here := len(m.done)
	cut := func(tree string) string { return tree + "-without-secrets" }
	settings := m.s.Settings
	settings.Msg.Rows = nil
	to := &orchestrator.Move{Host: "h_0123456789abcdef", Checkpoint: "c1", Dir: "/here/s1", Settings: settings, Work: map[string]orchestrator.Moved{}}
	for name, w := range m.s.Workspaces {
		to.Work[name] = orchestrator.Moved{Path: "/here/" + name, Tree: cut(string(w.Snapshot))}
	}
	want, commit := cut(m.s.Team["alone"].Tree), m.s.Team["left"].Commit
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartMoved, Settings: &settings, Moved: to}})
	m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{Live: []orchestrator.Launch{}}})
	if got := m.statuses(); got != "done done running waiting done" {
		t.Errorf("statuses %s", got)
	}
	started := map[string]int{}
	for _, e := range m.done[here:] {
		switch e.Type {
		case orchestrator.EffCommit:
			started["commit"]++
			if e.Args.Task != "alone" || e.Args.Tree != want {
				t.Errorf("%s is committed from %s, want alone from %s", e.Args.Task, e.Args.Tree, want)
			}
		case orchestrator.EffFetchBranch:
			if e.Args.Task == "left" && e.Args.Commit != commit {
				t.Errorf("left is fetched at %s", e.Args.Commit)
			}
		case orchestrator.EffStartAgent:
			started[e.Args.Task]++
		}
	}
	if !maps.Equal(started, map[string]int{"right": 1, "commit": 1}) || len(m.s.Settings.Msg.Rows) != len(rows) {
		t.Errorf("started %v, rules %v", started, m.s.Settings.Msg.Rows)
	}
}

// An agent that waits for an answer is not started elsewhere before it has it.
func TestProtocolR7AnAgentThatAskedWaitsElsewhere(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.Reachable = true })
	m.planned("serial", 1)
	m.tool("ask_human", "coder/1", map[string]any{"id": "q1", "question": "Which one?"}, nil)
	m.exit("coder/1", 0)
	if a := m.s.Agents["coder/1"]; a.Waiting == "" {
		t.Fatalf("it does not wait: %+v", a)
	}
	before := m.count(orchestrator.EvAgentStarted)
	m.move(func(string) bool { return true })
	if n := m.count(orchestrator.EvAgentStarted); n != before {
		t.Errorf("%d agents were started", n-before)
	}
	m.command("answer", map[string]any{"id": "q1", "text": "this one"})
	if n := m.count(orchestrator.EvAgentStarted); n != before+1 {
		t.Errorf("%d agents were started by the answer", n-before)
	}
	m.coded(1)
	m.phase("reviewing")
}

// Attack 37: an approval of what another machine showed lifts that, once the output gate says the same here. What it
// says beyond that is asked about, and so is everything unless it is sure what was shown.
func TestSecurity37AnApprovalLiftsWhatAnotherMachineShowed(t *testing.T) {
	shown := orchestrator.Result{Held: []string{"AGENTS.md", "b.md"}, Findings: []string{"x", "y"}}
	digest := func(m *sim) string { return duty.GateDigest(m.s.Gate, m.s) }
	said := func(m *sim, change func(p *orchestrator.Payload, l *orchestrator.Line)) {
		in := m.commandInput("approve", nil)
		p := orchestrator.Payload{Name: "approve", Actor: "dev", Source: "issue", Args: orchestrator.CommandArgs{Of: m.s.GateDigest(), Seen: true}}
		in.Line.Cursor.Offset = 101
		change(&p, in.Line)
		body, err := json.Marshal(p)
		if err != nil {
			m.t.Fatal(err)
		}
		in.Line.Payload = body
		m.do(in)
	}
	for name, c := range map[string]struct {
		here   orchestrator.Result
		change func(m *sim) // of the state, by somebody who may push
		said   func(p *orchestrator.Payload, l *orchestrator.Line)
		lifts  bool
	}{
		"the same":                            {here: shown, lifts: true},
		"said at the machine":                 {here: shown, said: func(p *orchestrator.Payload, _ *orchestrator.Line) { p.Source, p.Args.Seen = "cli", false }, lifts: true},
		"less":                                {here: orchestrator.Result{Held: []string{"b.md"}, Findings: []string{"x"}}, lifts: true},
		"another held path":                   {here: orchestrator.Result{Held: []string{"AGENTS.md", "c.md"}, Findings: []string{"x"}}},
		"another finding":                     {here: orchestrator.Result{Findings: []string{"x", "z"}}},
		"its comment does not show it":        {here: shown, said: func(p *orchestrator.Payload, _ *orchestrator.Line) { p.Args.Seen = false }},
		"the command came along":              {here: shown, said: func(_ *orchestrator.Payload, l *orchestrator.Line) { l.Cursor.Offset = 100 }},
		"the findings are others by now":      {here: shown, change: func(m *sim) { m.s.Completion.Findings = []string{"x", "y", "z"} }},
		"the paths are others by now":         {here: shown, change: func(m *sim) { m.s.Completion.Asked = nil }},
		"the tree is another one by now":      {here: shown, change: func(m *sim) { m.s.Integrated.Tree = "other" }},
		"the answer came along, too":          {here: shown, change: func(m *sim) { m.s.Completion.Compare, m.s.Completion.Shown = digest(m), true }, said: func(p *orchestrator.Payload, _ *orchestrator.Line) { p.Args.Seen = false }},
		"it is not sure, and nothing is here": {said: func(p *orchestrator.Payload, _ *orchestrator.Line) { p.Args.Seen = false }, lifts: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ApproveCompletion = true })
			m.result = holding(shown, "AGENTS.md", "b.md")
			m.toEnd()
			m.s.Gate.Brought = 101
			if c.change != nil {
				c.change(m)
			}
			m.move(func(string) bool { return true })
			m.result = holding(c.here, c.here.Held...)
			opened, gate := m.count(orchestrator.EvGateOpened), m.s.GateDigest()
			if c.said == nil {
				c.said = func(*orchestrator.Payload, *orchestrator.Line) {}
			}
			said(m, c.said)
			if !c.lifts {
				if m.s.Gate == nil || m.s.GateDigest() == gate || m.s.Gate.Brought != 0 || m.count(orchestrator.EvGateOpened) != opened+1 || len(m.wanted(orchestrator.EffCommit)) > 0 {
					t.Fatalf("it is not asked again: %+v", m.s.Gate)
				}
				said(m, func(*orchestrator.Payload, *orchestrator.Line) {})
			}
			m.phase(orchestrator.PhaseDone)
			for _, e := range m.done {
				if found := len(c.here.Findings) > 0; e.Type == orchestrator.EffCommit && (e.Args.Allowed || e.Args.Matches != found) {
					t.Errorf("lifted: all %v, matches %v", e.Args.Allowed, e.Args.Matches)
				}
			}
			if done := m.s.Completion; !slices.Equal(done.Findings, nil) || len(done.Open) > 0 || !slices.Equal(done.Cleared, c.here.Held) {
				t.Errorf("completion %+v", done)
			}
		})
	}
}

// Attack 37: an approval that waits in the state of another machine for the output gate is asked for once more.
func TestSecurity37AnApprovalThatCameAlongIsAskedForAgain(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ApproveCompletion = true })
	m.result = holding(orchestrator.Result{Held: []string{"AGENTS.md"}}, "AGENTS.md")
	m.toEnd()
	c := &m.s.Completion
	m.s.Gate, c.Approved, c.Next, c.Compare = nil, true, orchestrator.StepGate, "d"
	m.move(func(string) bool { return true })
	if m.s.Gate == nil || m.s.Completion.Commit != "" || len(m.s.Completion.Cleared) > 0 {
		t.Errorf("gate %+v, %+v", m.s.Gate, m.s.Completion)
	}
}
