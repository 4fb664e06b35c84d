package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows/message"
)

// completion answers one step of the completion; all else succeeds.
func completion(step string, res orchestrator.Result) func(orchestrator.Effect) orchestrator.Result {
	return func(e orchestrator.Effect) orchestrator.Result {
		if e.Type == step {
			return res
		}
		return orchestrator.Result{}
	}
}

// parks brings a session to a park for each reason; after leaves what a resume
// leads to, once that is checked.
var parks = []struct {
	reason string
	park   func(*sim)
	check  func(*testing.T, *sim) // after a resume
}{
	{orchestrator.ReasonReviewExhausted, func(m *sim) {
		m.s.Settings.OnExhausted = "stop"
		m.toReview("serial", 1)
		m.fails("reviewer_logic")
	}, gateOpens},
	{orchestrator.ReasonNothingToCommit, func(m *sim) {
		m.result = completion(orchestrator.EffCommit, orchestrator.Result{Empty: true})
		m.toEnd()
	}, staysEmpty},
	{orchestrator.ReasonReviewTimeout, func(m *sim) {
		m.toReview("serial", 1)
		m.timer("review")
		m.timer("review")
	}, runs("reviewer_logic")},
	{orchestrator.ReasonMergeUnresolved, func(m *sim) {
		m.result = func(e orchestrator.Effect) orchestrator.Result {
			switch {
			case e.Type == orchestrator.EffIntegrate && e.Args.Workspace == "2.1":
				return orchestrator.Result{Conflicts: []string{"a"}}
			case e.Type == orchestrator.EffIntegrate && e.Args.Workspace == "2.resolve-1":
				return orchestrator.Result{Empty: true, Commit: "c", Tree: "t"}
			}
			return orchestrator.Result{}
		}
		m.planned("parallel", 1)
		m.coded(1)
		m.tool("submit_done", "coder/resolve-1", map[string]any{"subplan_index": 1}, nil)
	}, runs("coder/resolve-1")},
	{orchestrator.ReasonScope, func(m *sim) {
		m.s.Settings.ScopePolicy = "fail"
		m.work = strays("x")
		m.planned("serial", 1)
		m.coded(1)
		m.coded(1)
		m.coded(1)
	}, runs("coder/1")},
	{orchestrator.ReasonAgentDialog, func(m *sim) { m.report("planner", orchestrator.AgentReport{Dialog: "?"}) }, runs("planner")},
	{orchestrator.ReasonAgentStalled, func(m *sim) {
		m.exit("planner", 1)
		m.timer("relaunch/planner")
		m.exit("planner", 1)
	}, runs("planner")},
	{orchestrator.ReasonQuestion, func(m *sim) {
		m.s.Settings.QuestionTimeout = "park"
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "?"}, nil)
		m.exit("planner", 0)
		m.timer("question/q1")
	}, armed("question/q1")},
	{orchestrator.ReasonGateTimeout, func(m *sim) {
		m.s.Settings.ApprovePlan = true
		m.planned("serial", 1)
		m.timer("gate")
	}, armed("gate")},
	{orchestrator.ReasonOutputGate, func(m *sim) {
		m.result = completion(orchestrator.EffCommit, orchestrator.Result{Findings: []string{"secret in a.go:3"}})
		m.toEnd()
	}, func(t *testing.T, m *sim) {
		m.phase("planning") // scanned again, still a finding: it is what is to be changed
		if !strings.Contains(string(m.s.ChangeRequest), "secret in a.go:3") {
			t.Errorf("change request %q", m.s.ChangeRequest)
		}
	}},
	{orchestrator.ReasonPushRejected, func(m *sim) {
		m.result = completion(orchestrator.EffPush, orchestrator.Result{Refused: "protected"})
		m.toEnd()
	}, again(orchestrator.ReasonPushRejected, orchestrator.EffPush, 2)},
	{orchestrator.ReasonCommitRefused, func(m *sim) {
		m.result = completion(orchestrator.EffCommit, orchestrator.Result{Refused: "conflict"})
		m.toEnd()
	}, again(orchestrator.ReasonCommitRefused, orchestrator.EffCommit, 2)},
	{orchestrator.ReasonPRRefused, func(m *sim) {
		m.result = completion(orchestrator.EffPR, orchestrator.Result{Refused: "closed"})
		m.toEnd()
	}, again(orchestrator.ReasonPRRefused, orchestrator.EffPR, 2)},
}

// toEnd walks a session of the quick workflow to its completion.
func (m *sim) toEnd() {
	m.t.Helper()
	m.toReview("serial", 1)
	m.pass("reviewer_logic")
	m.summary("reviewer_logic")
}

func gateOpens(t *testing.T, m *sim) {
	t.Helper()
	if m.s.Gate == nil || m.s.Gate.Name != orchestrator.GateCompletion {
		t.Fatalf("gate %+v", m.s.Gate)
	}
	m.command("approve", nil)
	m.phase(orchestrator.PhaseDone)
	if m.s.Outcome != orchestrator.OutcomeDone {
		t.Errorf("outcome %q", m.s.Outcome)
	}
}

// staysEmpty expects that nobody was asked, so nothing was approved; a person at a terminal
// gets the gate.
func staysEmpty(t *testing.T, m *sim) {
	t.Helper()
	m.parked(orchestrator.ReasonNothingToCommit)
	m.resumeAtTerminal()
	if m.s.Gate == nil || m.s.Gate.Reason != orchestrator.GateNothing {
		t.Fatalf("gate %+v", m.s.Gate)
	}
	gateOpens(t, m)
}

func runs(key orchestrator.AgentKey) func(*testing.T, *sim) {
	return func(t *testing.T, m *sim) {
		t.Helper()
		if a := m.s.Agents[key]; a.Launch == "" || a.Retries != 0 {
			t.Fatalf("%s: %+v", key, a)
		}
	}
}

func armed(name string) func(*testing.T, *sim) {
	return func(t *testing.T, m *sim) {
		t.Helper()
		if got := m.s.Deadlines[name].Sub(m.now); got < 4*time.Hour-5*time.Second {
			t.Fatalf("%s is due in %s", name, got)
		}
		if len(m.live()) > 0 {
			t.Errorf("agents run: %v", m.live())
		}
	}
}

// again expects that a resume took the refused step again, and that success ends it.
func again(reason, effect string, times int) func(*testing.T, *sim) {
	return func(t *testing.T, m *sim) {
		t.Helper()
		m.parked(reason)
		n := 0
		for _, e := range m.done {
			if e.Type == effect {
				n++
			}
		}
		if n != times {
			t.Fatalf("%s was tried %d times", effect, n)
		}
		m.result = nil
		m.command("retry", nil)
		m.phase(orchestrator.PhaseDone)
	}
}

func TestProtocolP17WaysOutOfAPark(t *testing.T) {
	for _, p := range parks {
		at := func(t *testing.T) *sim {
			m := newSim(t, "quick", nil)
			p.park(m)
			m.parked(p.reason)
			if m.last(orchestrator.EvNeedsHuman).Data.(orchestrator.NeedsHumanRecord).Reason != p.reason {
				t.Fatal("no record of the reason")
			}
			return m
		}
		t.Run(p.reason+"/resume", func(t *testing.T) {
			m := at(t)
			m.resume("")
			p.check(t, m)
		})
		t.Run(p.reason+"/retry", func(t *testing.T) {
			m := at(t)
			m.command("resume", nil)
			p.check(t, m)
		})
		t.Run(p.reason+"/changes", func(t *testing.T) {
			m := at(t)
			m.command("changes", map[string]any{"text": "otherwise"})
			m.phase("planning")
			if m.s.Ended() || m.s.ChangeRequest != "otherwise" || m.s.Gate != nil || m.s.Agents["planner"].Launch == "" {
				t.Errorf("outcome %q, request %q, gate %v", m.s.Outcome, m.s.ChangeRequest, m.s.Gate)
			}
			m.result, m.work, m.s.Settings.ApprovePlan = nil, nil, false
			m.toEnd()
		})
		t.Run(p.reason+"/resume with changes", func(t *testing.T) {
			m := at(t)
			m.resume("otherwise")
			m.phase("planning")
			if m.s.Ended() || m.s.ChangeRequest != "otherwise" {
				t.Errorf("outcome %q, request %q", m.s.Outcome, m.s.ChangeRequest)
			}
		})
		t.Run(p.reason+"/stop", func(t *testing.T) {
			m := at(t)
			m.command("stop", nil)
			m.phase(orchestrator.PhaseFailed)
			if m.s.Outcome != orchestrator.OutcomeCanceled {
				t.Errorf("outcome %q", m.s.Outcome)
			}
		})
	}
}

// What has a parked session continue takes the settings as they are by then. All others are as the session began.
func TestACommandThatContinuesTakesTheSettings(t *testing.T) {
	parked := func(m *sim) {
		m.s.Settings.ApprovePlan = true
		m.planned("serial", 1)
		m.timer("gate")
	}
	atGate := func(m *sim) {
		m.s.Settings.ApprovePlan = true
		m.planned("serial", 1)
	}
	for name, c := range map[string]struct {
		to    func(*sim)
		args  map[string]any
		fresh bool
	}{
		"resume": {parked, nil, true}, "retry": {parked, nil, true}, "approve": {parked, nil, true}, "changes": {parked, map[string]any{"text": "otherwise"}, true},
		"stop": {parked, nil, false}, "pause": {atGate, nil, false}, "changes at a gate": {atGate, map[string]any{"text": "otherwise"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "quick", nil)
			m.s.Settings.Msg.Rows = message.Rows{"red": {}}
			c.to(m)
			now := m.s.Settings
			now.LimitStall, now.Msg.Rows = orchestrator.Duration(77*time.Second), nil
			word, _, _ := strings.Cut(name, " ")
			in := m.commandInput(word, c.args)
			in.Settings = &now
			m.do(in)
			if got := m.s.Settings.LimitStall.D() == 77*time.Second; got != c.fresh {
				t.Errorf("taken: %v, want %v", got, c.fresh)
			}
			if m.s.Settings.Msg.Rows == nil {
				t.Error("the routes that the agents were told of are gone")
			}
		})
	}
}

func TestProtocolP17NoLoopOfParks(t *testing.T) {
	t.Run("nothing to commit, the host dies at the gate", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.result = completion(orchestrator.EffCommit, orchestrator.Result{Empty: true})
		m.toEnd()
		m.resumeAtTerminal()
		m.resumeAtTerminal()
		m.command("approve", nil)
		m.phase(orchestrator.PhaseDone)
		if m.s.Completion.PRNumber != 0 || m.count(orchestrator.EvBranchPushed) != 0 {
			t.Error("a branch or pull request was made of nothing")
		}
	})
	t.Run("output gate, second round", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.result = completion(orchestrator.EffCommit, orchestrator.Result{Findings: []string{"x"}})
		m.toEnd()
		m.resume("")
		m.phase("planning")
		m.toEnd()
		m.parked(orchestrator.ReasonOutputGate) // a new round asks a person again
	})
	t.Run("output gate, the finding is gone", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.result = completion(orchestrator.EffCommit, orchestrator.Result{Findings: []string{"x"}})
		m.toEnd()
		m.result = nil
		m.resume("")
		m.phase(orchestrator.PhaseDone)
	})
	t.Run("output gate with the person at hand", func(t *testing.T) {
		m := newSim(t, "quick", interactive)
		allowed := []bool{}
		m.result = func(e orchestrator.Effect) orchestrator.Result {
			if e.Type != orchestrator.EffCommit {
				return orchestrator.Result{}
			}
			allowed = append(allowed, e.Args.Allowed)
			if e.Args.Allowed {
				return orchestrator.Result{}
			}
			return orchestrator.Result{Findings: []string{"x"}}
		}
		m.toEnd()
		m.command("approve", nil) // given before the finding was known
		m.parked(orchestrator.ReasonOutputGate)
		m.resume("")
		if m.s.Gate == nil || !m.s.Completion.Shown {
			t.Fatalf("the finding is not shown at the gate: %+v", m.s.Completion)
		}
		m.command("approve", nil)
		m.phase(orchestrator.PhaseDone)
		if !slices.Equal(allowed, []bool{false, false, true}) {
			t.Errorf("lifted: %v", allowed)
		}
	})
}

// What the completion gate shows when it opens is what approve is about: the person at hand lifts it
// at once, the approval of a run without one lets pass what only looks like a secret.
func TestProtocolG4AnApprovalLiftsWhatItsGateShowed(t *testing.T) {
	for name, c := range map[string]struct {
		change           func(*orchestrator.State)
		found            []string
		allowed, matches bool
	}{
		"with the person at hand": {interactive, []string{"x"}, true, true},
		"without one":             {func(s *orchestrator.State) { s.Settings.ApproveCompletion = true }, []string{"x"}, false, true},
		"where nothing was found": {interactive, nil, false, false},
		"where no gate asks":      {func(s *orchestrator.State) { s.Interactive, s.Settings.SkipFinalApproval = true, true }, []string{"x"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "quick", c.change)
			m.result = completion(orchestrator.EffInspect, orchestrator.Result{Findings: c.found})
			m.toEnd()
			if m.s.Gate != nil {
				m.command("approve", nil)
			}
			m.phase(orchestrator.PhaseDone)
			for _, e := range m.done {
				if e.Type == orchestrator.EffCommit && (e.Args.Allowed != c.allowed || e.Args.Matches != c.matches) {
					t.Errorf("lifted: all %v, matches %v", e.Args.Allowed, e.Args.Matches)
				}
			}
		})
	}
}

func TestProtocolK6ApprovalFiles(t *testing.T) {
	gate := func(t *testing.T) *sim {
		m := newSim(t, "quick", interactive)
		m.toEnd()
		return m
	}
	t.Run("bad approval", func(t *testing.T) {
		m := gate(t)
		m.see(orchestrator.Observation{What: orchestrator.ObserveApproval, Evidence: "a", Problems: []string{"action: expected approve"}})
		m.phase("completing")
		last := m.done[len(m.done)-1]
		if m.count(orchestrator.EvInputRejected) != 1 || m.s.Gate == nil || last.Type != orchestrator.EffMoveAside || !slices.Equal(last.Args.Paths, []string{"08_completion/approval.json"}) {
			t.Errorf("gate %v, last effect %+v", m.s.Gate, last)
		}
	})
	t.Run("good approval", func(t *testing.T) {
		m := gate(t)
		m.see(orchestrator.Observation{What: orchestrator.ObserveApproval, Evidence: "a", Approval: &orchestrator.Approval{
			ExcludeFiles: []string{"tmp/x"}, CommitMessage: "feat: y", Of: m.s.GateDigest(),
		}})
		m.phase(orchestrator.PhaseDone)
		for _, e := range m.done {
			if e.Type == orchestrator.EffCommit && (e.Args.Message != "feat: y" || !slices.Equal(e.Args.Exclude, []string{"tmp/x"})) {
				t.Errorf("commit %+v", e.Args)
			}
		}
	})
	t.Run("changes file", func(t *testing.T) {
		m := gate(t)
		m.see(orchestrator.Observation{What: orchestrator.ObserveChanges, Evidence: "b", Approval: &orchestrator.Approval{Text: "  "}})
		m.phase("completing")
		m.see(orchestrator.Observation{What: orchestrator.ObserveChanges, Evidence: "c", Approval: &orchestrator.Approval{Text: "more"}})
		m.phase("planning")
		if m.s.ChangeRequest != "more" {
			t.Errorf("request %q", m.s.ChangeRequest)
		}
		consumed := slices.ContainsFunc(m.done, func(e orchestrator.Effect) bool {
			return e.Type == orchestrator.EffRemoveFiles && slices.Equal(e.Args.Paths, []string{"08_completion/changes.md"})
		})
		if !consumed {
			t.Error("changes.md was not consumed")
		}
	})
	t.Run("without a gate", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.see(orchestrator.Observation{What: orchestrator.ObserveApproval, Evidence: "a", Approval: &orchestrator.Approval{}})
		m.see(orchestrator.Observation{What: orchestrator.ObserveChanges, Evidence: "c", Approval: &orchestrator.Approval{Text: "more"}})
		m.phase("planning")
		m.refused("approve", nil)
		m.refused("changes", map[string]any{"text": "more"})
		m.refused("changes", nil)
	})
}

func TestPlanGate(t *testing.T) {
	open := func(t *testing.T) *sim {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ApprovePlan = true })
		m.tool("research_dispatch_code", "planner", map[string]any{"topic": "a", "questions": []string{"?"}}, nil)
		m.planned("serial", 1)
		m.phase("planning")
		if m.s.Gate == nil || len(m.live()) != 0 {
			t.Fatalf("gate %v, live %v", m.s.Gate, m.live())
		}
		return m
	}
	t.Run("approve", func(t *testing.T) {
		m := open(t)
		m.command("approve", nil)
		m.phase("implementing")
		if m.s.Agents["code-researcher/a"].Launch == "" {
			t.Error("research does not go on")
		}
		m.refused("approve", nil)
	})
	t.Run("changes", func(t *testing.T) {
		m := open(t)
		m.command("changes", map[string]any{"text": "smaller"})
		m.phase("planning")
		if m.s.Gate != nil || m.s.ChangeRequest != "smaller" || m.s.Agents["planner"].Launch == "" {
			t.Errorf("gate %v, request %q", m.s.Gate, m.s.ChangeRequest)
		}
	})
	t.Run("a second submission is one already made", func(t *testing.T) {
		m := open(t)
		if j := duty.Accepts(m.def, m.s, duty.Call{Tool: "submit_plan", Role: "planner"}); !j.Already {
			t.Errorf("%+v", j)
		}
	})
	t.Run("a timeout parks, approve goes on", func(t *testing.T) {
		m := open(t)
		m.timer("gate")
		m.parked(orchestrator.ReasonGateTimeout)
		m.command("approve", nil)
		m.phase("implementing")
		if m.s.Ended() {
			t.Error("still parked")
		}
	})
	t.Run("answers of an earlier gate are moved aside", func(t *testing.T) {
		m := open(t)
		aside := slices.ContainsFunc(m.done, func(e orchestrator.Effect) bool {
			return e.Type == orchestrator.EffMoveAside && slices.Contains(e.Args.Paths, "08_completion/approval.json")
		})
		if !aside {
			t.Error("an old approval would open the gate")
		}
	})
}

func TestCompletionGateOfUnattendedSessions(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ApproveCompletion = true })
	m.toEnd()
	if m.s.Gate == nil {
		t.Fatal("no gate")
	}
	m.command("approve", map[string]any{"exclude": []any{"a", 1}, "message": "fix: b"})
	m.phase(orchestrator.PhaseDone)
	m = newSim(t, "quick", func(s *orchestrator.State) { s.Interactive, s.Settings.SkipFinalApproval = true, true })
	m.toEnd()
	m.phase(orchestrator.PhaseDone)
	approved := slices.ContainsFunc(m.done, func(e orchestrator.Effect) bool { return e.Args.Path == "08_completion/approval.json" })
	if !approved {
		t.Error("no approval by policy was written")
	}
	m.refused("changes", map[string]any{"text": ""})
	m.refused("stop", nil)
	m.refused("say", map[string]any{"text": "hello"})
	m.refused("pause", nil)
	m.refused("retry", nil)
	m.refused("resume", nil)
}

func TestProtocolG5ReadyOnlyForTheTreeThatPassed(t *testing.T) {
	for name, res := range map[string]orchestrator.Result{
		"a file left out or a human commit": {Commit: "f", Tree: "other"},
		"held path":                         {Commit: "f", Held: []string{"AGENTS.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "quick", nil)
			m.result = func(e orchestrator.Effect) orchestrator.Result {
				if e.Type == orchestrator.EffCommit {
					r := res
					if r.Tree == "" {
						r.Tree = e.Args.Tree
					}
					return r
				}
				return orchestrator.Result{}
			}
			m.toEnd()
			m.phase(orchestrator.PhaseDone)
			if !m.s.Completion.Draft {
				t.Error("the pull request is no draft")
			}
		})
	}
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.Ready = "never" })
	m.toEnd()
	if !m.s.Completion.Draft {
		t.Error("github.ready never")
	}
}

// A held path that a person approved at the gate that showed it leaves nothing to decide. Policy
// approves none, nor does a yes to a gate that did not show it.
func TestProtocolG7AnApprovedHeldPathIsReady(t *testing.T) {
	held := func(paths ...string) orchestrator.Result { return orchestrator.Result{Held: paths} }
	for name, c := range map[string]struct {
		interactive, gate bool
		shown             orchestrator.Result
		draft             bool
	}{
		"at a terminal":            {interactive: true, gate: true, shown: held("AGENTS.md", "b")},
		"at an open gate":          {gate: true, shown: held("AGENTS.md")},
		"at a gate without it":     {interactive: true, gate: true, shown: held("b"), draft: true},
		"at a gate with no list":   {interactive: true, gate: true, draft: true},
		"where nobody is asked":    {shown: held("AGENTS.md"), draft: true},
		"by policy, at a terminal": {interactive: true, shown: held("AGENTS.md"), draft: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "quick", func(s *orchestrator.State) {
				s.Interactive = c.interactive
				s.Settings.ApproveCompletion, s.Settings.SkipFinalApproval = c.gate, !c.gate
			})
			m.result = holding(c.shown, "AGENTS.md")
			m.toEnd()
			if c.gate {
				opened := m.last(orchestrator.EvGateOpened).Data.(orchestrator.GateOpenedRecord)
				if !slices.Equal(opened.Held, c.shown.Held) || opened.Tree == nil || *opened.Tree != m.s.Integrated.Tree {
					t.Errorf("opened %+v", opened)
				}
				m.command("approve", nil)
			}
			m.phase(orchestrator.PhaseDone)
			if m.s.Completion.Draft != c.draft {
				t.Errorf("draft: %v", m.s.Completion.Draft)
			}
		})
	}
}

// holding is the output gate: what it says of the work, and what of a commit is held.
func holding(shown orchestrator.Result, paths ...string) func(orchestrator.Effect) orchestrator.Result {
	return func(e orchestrator.Effect) orchestrator.Result {
		switch e.Type {
		case orchestrator.EffInspect:
			return shown
		case orchestrator.EffCommit:
			return orchestrator.Result{Commit: "f", Tree: e.Args.Tree, Held: paths}
		}
		return orchestrator.Result{}
	}
}

// A held path that nobody approved keeps the draft in later rounds, which do not touch it.
func TestSecurity13ALaterRoundApprovesNothingOfAnEarlierOne(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.result = holding(orchestrator.Result{}, "AGENTS.md")
	m.toEnd()
	m.phase(orchestrator.PhaseDone)
	m.result = holding(orchestrator.Result{})
	m.command("changes", map[string]any{"text": "Also b."})
	m.toEnd()
	m.phase(orchestrator.PhaseDone)
	if c := m.s.Completion; m.s.ChangeRound != 1 || len(c.Held) != 0 || !c.Draft {
		t.Errorf("round %d: %+v", m.s.ChangeRound, c)
	}
}

// The gate opens with what the output gate says, once and only if nothing was decided meanwhile.
func TestTheCompletionGateOpensWithItsList(t *testing.T) {
	begin := func() *sim {
		m := newSim(t, "quick", interactive)
		m.result = holding(orchestrator.Result{Held: []string{"AGENTS.md"}, Findings: []string{"size: large"}})
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffInspect }
		m.toEnd()
		if m.s.Gate != nil || m.s.Completion.Next != orchestrator.StepGate {
			t.Fatalf("the gate does not wait: %+v", m.s.Completion)
		}
		return m
	}
	goOn := func(m *sim) {
		m.hold = nil
		m.settle()
	}
	listed := func(m *sim) {
		t.Helper()
		if n := m.count(orchestrator.EvGateOpened); n != 1 || m.s.Gate == nil {
			t.Fatalf("%d gates, %+v", n, m.s.Gate)
		}
		opened := m.last(orchestrator.EvGateOpened).Data.(orchestrator.GateOpenedRecord)
		if !slices.Equal(opened.Held, []string{"AGENTS.md"}) || !slices.Equal(opened.Findings, []string{"size: large"}) || opened.Reason != orchestrator.GatePassed {
			t.Errorf("opened %+v", opened)
		}
	}
	m := begin()
	goOn(m)
	listed(m)

	m = begin()
	m.command("pause", nil)
	goOn(m)
	if m.s.Gate != nil {
		t.Error("a gate opens in a pause")
	}
	m.command("resume", nil)
	m.settle()
	listed(m)

	m = begin()
	m.command("stop", nil)
	goOn(m)
	if m.s.Gate != nil {
		t.Errorf("a gate of a session that was stopped: %+v", m.s.Gate)
	}

	m = begin()
	m.hold = nil
	m.failing(orchestrator.EffInspect, orchestrator.FailNever)
	if m.s.Gate == nil || m.count(orchestrator.EvGateOpened) != 1 {
		t.Errorf("no gate without a list: %+v", m.s)
	}
}

func TestProtocolG6WithoutPushThereIsNoPullRequest(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.result = completion(orchestrator.EffPush, orchestrator.Result{Skipped: "no remote"})
	m.toEnd()
	m.phase(orchestrator.PhaseDone)
	if m.count(orchestrator.EvPROpened) != 0 || m.s.Completion.Pushed {
		t.Errorf("completion %+v", m.s.Completion)
	}
	m = newSim(t, "quick", func(s *orchestrator.State) { s.GHAvailable = nil })
	m.toEnd()
	if m.s.Completion.PRNumber != 0 {
		t.Error("a pull request without GitHub")
	}
}
