package decide_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// refusals are submissions that are refused, and what follows the third time.
var refusals = []struct {
	name  string
	work  func(orchestrator.Taking) *orchestrator.Snapshot
	says  string
	third string // reason of a park; "" = the work is taken
}{
	{"scope", strays("other.go"), "other.go does not belong", orchestrator.ReasonScope},
	{"gate", blocked, "a key in a.go:3", ""},
	{"resolution", empty, "was not resolved", orchestrator.ReasonMergeUnresolved},
}

// blocked is work that must not leave the machine.
func blocked(t orchestrator.Taking) *orchestrator.Snapshot {
	return &orchestrator.Snapshot{Tree: "work of " + t.Workspace, Files: 1, Findings: []string{"a key in a.go:3"}}
}

// empty is work that changes nothing.
func empty(t orchestrator.Taking) *orchestrator.Snapshot {
	return &orchestrator.Snapshot{Tree: "work of " + t.Workspace}
}

// toHandIn brings a session to a coder that may hand in work; of a resolution, to the coder
// that resolves.
func toHandIn(t *testing.T, resolves bool, change func(*orchestrator.State)) (m *sim, key orchestrator.AgentKey) {
	m = newSim(t, "quick", change)
	m.s.Settings.ScopePolicy = "fail"
	m.planned("parallel", 1)
	if !resolves {
		return m, "coder/1"
	}
	m.result = completion(orchestrator.EffIntegrate, orchestrator.Result{Conflicts: []string{"a.go"}})
	m.coded(1)
	m.result = nil
	return m, "coder/resolve-1"
}

func TestProtocolP7RefusedWorkStaysWithItsAgent(t *testing.T) {
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			m, key := toHandIn(t, c.name == "resolution", nil)
			m.work = c.work
			launch, taken := m.s.Agents[key].Launch, m.count(orchestrator.EvSubmission)
			handIn := func() { m.tool("submit_done", key, map[string]any{"subplan_index": 1}, nil) }
			for n := range 2 {
				handIn()
				said := m.last(orchestrator.EvInputRejected).Data.(orchestrator.InputRejectedRecord)
				if m.count(orchestrator.EvInputRejected) != n+1 || said.Line != fmt.Sprint("id", m.line) || !strings.Contains(strings.Join(said.Errors, "\n"), c.says) {
					t.Fatalf("refusal %d: %+v", n+1, said)
				}
				if strict := m.count(orchestrator.EvScopeViolation); (c.name == "scope") != (strict == n+1) || c.name != "scope" && strict != 0 {
					t.Errorf("refusal %d: %d records of the scope", n+1, strict)
				}
				a := m.s.Agents[key]
				if a.Launch != launch || a.Retries != 0 || m.s.SubplanStatus["1"] != orchestrator.SubplanRunning || m.count(orchestrator.EvSubmission) != taken {
					t.Fatalf("after refusal %d: %+v, %v", n+1, a, m.s.SubplanStatus)
				}
			}
			if len(m.s.Messages) != 0 {
				t.Errorf("the tool answers, and a message was sent: %+v", m.s.Messages)
			}
			handIn()
			if c.third == "" {
				m.phase("reviewing")
				if got := m.last(orchestrator.EvSubmission).Data.(orchestrator.SubmissionRecord).Warnings; len(got) != 1 || !strings.Contains(got[0], c.says) {
					t.Errorf("warnings %q", got)
				}
				return
			}
			m.parked(c.third)
			if m.count(orchestrator.EvInputRejected) != 3 {
				t.Error("the third refusal left no record")
			}
			m.resume("")
			handIn()
			if m.s.Ended() || m.count(orchestrator.EvInputRejected) != 4 {
				t.Errorf("a resume does not start at the first refusal: outcome %q", m.s.Outcome)
			}
			m.work = nil
			handIn()
			m.phase("reviewing")
		})
	}
	t.Run("the third of several kinds", func(t *testing.T) {
		m, _ := toHandIn(t, false, nil)
		for _, m.work = range []func(orchestrator.Taking) *orchestrator.Snapshot{blocked, blocked, strays("x")} {
			m.coded(1)
		}
		m.parked(orchestrator.ReasonScope)
	})
	t.Run("its agent gives up", func(t *testing.T) {
		m, key := toHandIn(t, false, func(s *orchestrator.State) { s.Settings.AgentRetries = 0 })
		m.work = strays("other.go")
		m.coded(1)
		m.exit(key, 0)
		m.parked(orchestrator.ReasonAgentStalled)
		if text := m.last(orchestrator.EvNeedsHuman).Data.(orchestrator.NeedsHumanRecord).Text; !strings.Contains(text, "refused: other.go does not belong") {
			t.Errorf("the cause is %q", text)
		}
	})
	t.Run("no tree", func(t *testing.T) {
		m, _ := toHandIn(t, false, nil)
		m.work = func(orchestrator.Taking) *orchestrator.Snapshot {
			return &orchestrator.Snapshot{Problem: "no space left"}
		}
		m.coded(1)
		m.coded(1)
		if m.s.Ended() {
			t.Fatalf("outcome %q", m.s.Outcome)
		}
		m.coded(1)
		m.phase(orchestrator.PhaseFailed)
		if !strings.Contains(string(m.s.Cause), "no space left") {
			t.Errorf("cause %q", m.s.Cause)
		}
	})
	t.Run("of the fix", func(t *testing.T) {
		m := newSim(t, "feature", nil)
		m.toReview("serial", 1)
		m.fails("reviewer_logic")
		m.work = blocked
		m.fixed()
		m.fixed()
		m.phase("fixing")
		m.fixed()
		m.phase("reviewing")
	})
}

func TestProtocolP7WhatIsNoRefusalIsAWarning(t *testing.T) {
	some := func(s orchestrator.Snapshot) func(orchestrator.Taking) *orchestrator.Snapshot {
		return func(orchestrator.Taking) *orchestrator.Snapshot { s.Tree, s.Files = "w", 1; return &s }
	}
	for name, c := range map[string]struct {
		policy   string
		attended bool
		work     func(orchestrator.Taking) *orchestrator.Snapshot
		says     []string
	}{
		"scope under report":            {"report", false, strays("x.go", "y.go"), []string{"x.go", "y.go"}},
		"findings, attended":            {"fail", true, blocked, []string{"a key in a.go:3"}},
		"held paths":                    {"fail", false, some(orchestrator.Snapshot{Held: []string{"ci.yml"}}), []string{"ci.yml needs the approval"}},
		"paths that cannot be taken":    {"fail", false, some(orchestrator.Snapshot{Left: []string{"sock"}}), []string{"sock is left out"}},
		"an empty work of a subplan":    {"fail", false, empty, []string{"nothing in the workspace differs"}},
		"nothing that anybody has read": {"fail", false, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "quick", func(s *orchestrator.State) { s.Interactive = c.attended })
			m.s.Settings.ScopePolicy = c.policy
			m.planned("serial", 1)
			m.work = c.work
			m.coded(1)
			m.phase("reviewing")
			if left := m.effects(orchestrator.EffIntegrate)[0].Args.Left; (len(left) > 0) != (name == "paths that cannot be taken") {
				t.Errorf("the merge leaves out %v", left)
			}
			got := m.last(orchestrator.EvSubmission).Data.(orchestrator.SubmissionRecord).Warnings
			if len(got) != len(c.says) {
				t.Fatalf("warnings %q", got)
			}
			for i, want := range c.says {
				if !strings.Contains(got[i], want) {
					t.Errorf("warning %q, want %q", got[i], want)
				}
			}
		})
	}
}

func TestProtocolP7WhereNoToolWaitsTheAgentGetsAMessage(t *testing.T) {
	line := func(m *sim, change func(*orchestrator.Line)) {
		visit := m.s.Visit
		l := orchestrator.Line{
			Tool: "submit_done", ID: "late", Role: "coder", Task: "1", Launch: m.s.Agents["coder/1"].Launch, Visit: &visit,
			Payload: []byte(`{"subplan_index": 1}`), At: orchestrator.At(m.now),
		}
		change(&l)
		m.do(orchestrator.Input{Kind: orchestrator.InTool, Line: &l})
	}
	byHand := func(l *orchestrator.Line) {
		l.Role, l.Task, l.Launch, l.Visit, l.ID, l.Same = "", "", "", nil, "sha:2:ff", "ff"
	}
	for name, c := range map[string]struct {
		hand     func(*sim)
		messages int
	}{
		"its tool waits":     {func(m *sim) { line(m, func(*orchestrator.Line) {}) }, 0},
		"read late":          {func(m *sim) { line(m, func(l *orchestrator.Line) { l.At = orchestrator.At(m.now.Add(-time.Minute)) }) }, 1},
		"without a time":     {func(m *sim) { line(m, func(l *orchestrator.Line) { l.At = orchestrator.Time{} }) }, 1},
		"by a person's tool": {func(m *sim) { line(m, func(l *orchestrator.Line) { l.Launch = "" }) }, 1},
		"by hand":            {func(m *sim) { line(m, byHand) }, 1},
		"by a marker":        {func(m *sim) { m.see(marker("1", "v1")) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := toHandIn(t, false, nil)
			m.work = strays("other.go")
			launch := m.s.Agents["coder/1"].Launch
			c.hand(m)
			if m.count(orchestrator.EvInputRejected) != 1 || m.s.Agents["coder/1"].Launch != launch {
				t.Fatalf("%d refusals, %+v", m.count(orchestrator.EvInputRejected), m.s.Agents["coder/1"])
			}
			if len(m.s.Messages) != c.messages || c.messages > 0 && m.s.Messages[0].To != "pipeline/coder-1" {
				t.Errorf("messages %+v", m.s.Messages)
			}
		})
	}
	// The launch is ended before the tree of a late line is taken.
	for name, end := range map[string]orchestrator.AgentReport{"ended for it": {Signal: "terminated"}, "ended by itself": {ExitCode: new(int)}} {
		t.Run(name, func(t *testing.T) {
			m, _ := toHandIn(t, false, func(s *orchestrator.State) { s.Settings.AgentRetries = 0 })
			m.work = strays("other.go")
			m.result = completion(orchestrator.EffDeliver, orchestrator.Result{Delivery: orchestrator.DeliveryRefused})
			line(m, func(l *orchestrator.Line) { l.At = orchestrator.At(m.now.Add(-time.Minute)) })
			end.Condition = orchestrator.AgentDead
			m.report("coder/1", end)
			if a := m.s.Agents["coder/1"]; m.s.Ended() || a.Attempt != 2 || a.Retries != 0 || a.Launch == "" {
				t.Fatalf("outcome %q %q, %+v", m.s.Outcome, m.s.OutcomeReason, a)
			}
			starts := m.effects(orchestrator.EffStartAgent)
			if got := starts[len(starts)-1].Args; !got.Continue || got.Workspace != "2.1" {
				t.Errorf("started %+v", got)
			}
			m.report("coder/1", end)
			m.parked(orchestrator.ReasonAgentStalled) // one message excuses one end
		})
	}
}
