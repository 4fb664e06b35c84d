package decide_test

import (
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// limited lets an agent end because its provider refuses more until a time; zero: it names none.
func (m *sim) limited(key orchestrator.AgentKey, wait time.Duration, fallbacks ...string) {
	m.t.Helper()
	code := 1
	rep := orchestrator.AgentReport{Key: key, Launch: m.s.Agents[key].Launch, Condition: orchestrator.AgentDead, ExitCode: &code, Fault: orchestrator.ServiceLimit, Fallbacks: fallbacks}
	if wait > 0 {
		rep.Until = orchestrator.At(m.now.Add(wait))
	}
	m.do(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &rep})
}

// replaced expects that the newest launch has a provider, begins afresh and counts no retry.
func (m *sim) replaced(key orchestrator.AgentKey, launch orchestrator.Launch, provider string) {
	m.t.Helper()
	a, e := m.s.Agents[key], m.done[len(m.done)-1]
	for i := len(m.done) - 1; i >= 0 && e.Type != orchestrator.EffStartAgent; i-- {
		e = m.done[i]
	}
	if a.Launch != launch || a.Provider != provider || a.Retries != 0 || a.Limited || !a.LimitedSince.IsZero() || a.CLISession != "" {
		m.t.Errorf("agent %+v, want %s with %s", a, launch, provider)
	}
	if e.Args.Launch != launch || e.Args.Provider != provider || e.Args.Continue {
		m.t.Errorf("started %+v, want %s with %s", e.Args, launch, provider)
	}
}

func TestProtocolP21ALongWaitHasAFallbackTakeOver(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.AgentRetries = 0 })
	m.result = func(e orchestrator.Effect) orchestrator.Result {
		res := orchestrator.Result{Provider: "claude", CLISession: "own"}
		if e.Args.Provider != "" {
			res = orchestrator.Result{Provider: e.Args.Provider, FallbackFor: "claude"}
		}
		return res
	}
	m.planned("serial", 1)
	m.limited("coder/1", 20*time.Minute, "codex", "qwen") // not too long
	if a := m.s.Agents["coder/1"]; a.Provider != "" || !a.Limited {
		t.Fatalf("agent %+v", a)
	}
	m.timer("relaunch/coder/1")
	m.report("coder/1", orchestrator.AgentReport{Answered: true}) // the wait is over
	m.limited("coder/1", 5*time.Hour, "codex", "qwen")
	m.replaced("coder/1", "2.coder.1.3", "codex")
	if d := m.last(orchestrator.EvAgentStarted).Data.(orchestrator.AgentStartedRecord); d.Provider != "codex" || d.FallbackFor != "claude" {
		t.Errorf("told %+v", d)
	}
	// The fallback keeps the agent through what else befalls it.
	m.limited("coder/1", time.Minute, "qwen")
	m.timer("relaunch/coder/1")
	if a, e := m.s.Agents["coder/1"], m.done[len(m.done)-1]; a.Provider != "codex" || e.Args.Provider != "codex" || !e.Args.Continue {
		t.Errorf("agent %+v, started %+v", a, e.Args)
	}
	m.limited("coder/1", 2*time.Hour, "qwen")
	m.replaced("coder/1", "2.coder.1.5", "qwen")
	m.limited("coder/1", 2*time.Hour) // there is no other
	if a := m.s.Agents["coder/1"]; a.Provider != "qwen" || !a.Limited || m.s.Ended() {
		t.Errorf("agent %+v", a)
	}
	m.timer("relaunch/coder/1")
	m.coded(1)
	if a := m.s.Agents["coder/1"]; a.Provider != "" || !a.LimitedSince.IsZero() {
		t.Errorf("after its end: %+v", a)
	}
	m.phase("reviewing")
}

// Where no time is named, the waits add up; time that a person paused the session for is no wait.
func TestProtocolP21TheWaitsAddUp(t *testing.T) {
	m := newSim(t, "quick", nil)
	for _, wait := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute} {
		m.limited("planner", 0, "codex")
		if got, a := m.due("relaunch/planner"), m.s.Agents["planner"]; got != wait || a.Provider != "" {
			t.Fatalf("again after %s, want %s; %+v", got, wait, a)
		}
		m.command("pause", nil)
		m.wait(3 * time.Hour)
		m.command("resume", nil)
		m.timer("relaunch/planner")
		m.report("planner", orchestrator.AgentReport{}) // at work, but not answered
	}
	m.limited("planner", 0, "codex")
	m.replaced("planner", "1.planner.5", "codex")
	m.limited("planner", 0) // its pauses begin with the first
	if got := m.due("relaunch/planner"); got != time.Minute {
		t.Errorf("again after %s", got)
	}
}

// A tool call shows that the provider answers: what comes later is another wait.
func TestProtocolP21AnAnswerEndsTheWait(t *testing.T) {
	for name, answer := range map[string]func(m *sim){
		"a tool call": func(m *sim) { m.tool("report_status", "planner", map[string]any{"message": "at work"}, nil) },
		"a signal":    func(m *sim) { m.report("planner", orchestrator.AgentReport{Answered: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "quick", nil)
			m.limited("planner", 20*time.Minute, "codex")
			m.timer("relaunch/planner")
			answer(m)
			m.wait(time.Hour)
			m.limited("planner", 20*time.Minute, "codex")
			if a := m.s.Agents["planner"]; a.Provider != "" || !a.Limited {
				t.Errorf("agent %+v", a)
			}
		})
	}
}

// A start that its provider holds back is given to a fallback, once there is one.
func TestProtocolP21AHeldStartIsGivenToAFallback(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffStartAgent && e.Args.Provider == "" }
	m.planned("serial", 1)
	cools := func(fallbacks ...string) {
		i := slices.IndexFunc(m.s.Pending, func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffStartAgent })
		m.do(orchestrator.Input{Kind: orchestrator.InEffectFailed, Effect: &orchestrator.Outcome{
			ID: m.s.Pending[i].ID, Error: "it refuses more", Class: orchestrator.FailCooling, Until: orchestrator.At(m.now.Add(2 * time.Hour)), Fallbacks: fallbacks,
		}})
	}
	cools()
	if a := m.s.Agents["coder/1"]; a.Launch != "2.coder.1.1" || !a.Limited {
		t.Fatalf("agent %+v", a)
	}
	m.command("pause", nil)
	cools("codex")
	if a := m.s.Agents["coder/1"]; a.Launch != "2.coder.1.1" || a.Provider != "" {
		t.Fatalf("in a pause: %+v", a)
	}
	m.command("resume", nil)
	cools("codex")
	m.replaced("coder/1", "2.coder.1.2", "codex")
	if slices.Contains(m.ran(), "2.coder.1.1") {
		t.Error("the start that was held back was carried out")
	}
	m.coded(1)
	m.phase("reviewing")
}

// In its pane, too, an unattended agent does not wait for longer; one that waits for an answer does, and at a terminal the
// person decides.
func TestProtocolP21AWaitInThePaneIsReplaced(t *testing.T) {
	long := func(m *sim) {
		m.report("planner", orchestrator.AgentReport{RateLimited: true, Until: orchestrator.At(m.now.Add(time.Hour)), Fallbacks: []string{"codex"}})
	}
	m := newSim(t, "quick", nil)
	long(m)
	m.replaced("planner", "1.planner.2", "codex")
	for name, m := range map[string]*sim{"attended": newSim(t, "quick", interactive), "off": newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ProviderWait = 0 })} {
		long(m)
		if a := m.s.Agents["planner"]; a.Launch != "1.planner.1" || a.Provider != "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	asked := newSim(t, "quick", nil)
	asked.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
	asked.report("planner", orchestrator.AgentReport{TurnEnded: "turn 1"})
	long(asked)
	if a := asked.s.Agents["planner"]; a.Launch != "1.planner.1" || a.Waiting != "question" {
		t.Errorf("one that asked: %+v", a)
	}
}

// A refused login needs no wait: the fallback takes over at once, and only without one a person is needed.
func TestProtocolP21ARefusedLoginHasAFallbackTakeOver(t *testing.T) {
	m := newSim(t, "quick", nil)
	refused := func(fallbacks ...string) {
		code := 1
		m.do(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &orchestrator.AgentReport{
			Key: "planner", Launch: m.s.Agents["planner"].Launch, Condition: orchestrator.AgentDead, ExitCode: &code, Fault: orchestrator.ServiceLogin, Fallbacks: fallbacks,
		}})
	}
	refused("codex")
	m.replaced("planner", "1.planner.2", "codex")
	refused()
	m.parked(orchestrator.ReasonLogin)
	m.resume("") // a person has seen to the login
	if a := m.s.Agents["planner"]; a.Provider != "" || a.Launch != "1.planner.3" {
		t.Errorf("after the resume: %+v", a)
	}
}
