package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

// ends lets an agent end because its service stopped it.
func (m *sim) ends(key orchestrator.AgentKey, fault orchestrator.ServiceFault) {
	m.t.Helper()
	code := 1
	m.do(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &orchestrator.AgentReport{
		Key: key, Launch: m.s.Agents[key].Launch, Condition: orchestrator.AgentDead, ExitCode: &code, Fault: fault, Tail: "its last words",
	}})
}

func TestALimitOfTheServiceIsWaitedForAndUsesNoRetry(t *testing.T) {
	for _, fault := range []orchestrator.ServiceFault{orchestrator.ServiceLimit, orchestrator.ServiceOutage} {
		t.Run(string(fault), func(t *testing.T) {
			m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.AgentRetries = 0 })
			for _, pause := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, 30 * time.Minute} {
				m.ends("planner", fault)
				if got, a := m.due("relaunch/planner"), m.s.Agents["planner"]; got != pause || a.Retries != 0 || !a.Limited || !duty.StandsStill(m.def, m.s) {
					t.Fatalf("%s: again after %s, want %s; %+v", fault, got, pause, a)
				}
				m.timer("relaunch/planner")
				if m.s.Agents["planner"].Limited {
					t.Fatalf("%s: it waits while it is started", fault)
				}
			}
		})
	}
}

// A start that the cool-down of its provider holds back is owed for as long as that takes: no try, retry or limit counts.
func TestProtocolP21AStartWaitsForItsProvider(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffStartAgent }
	m.planned("serial", 1)
	limit := m.due("phase")
	for range 20 {
		i := slices.IndexFunc(m.s.Pending, func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffStartAgent })
		e := m.s.Pending[i]
		until := orchestrator.At(m.now.Add(20 * time.Minute))
		m.do(orchestrator.Input{Kind: orchestrator.InEffectFailed, Effect: &orchestrator.Outcome{ID: e.ID, Error: "it refuses more", Class: orchestrator.FailCooling, Until: until}})
		if a := m.s.Agents["coder/1"]; !a.Limited || a.Until != until || m.s.Pending[i].Attempt != 0 || !m.s.Pending[i].NotBefore.After(m.now) {
			t.Fatalf("agent %+v, start %+v", a, m.s.Pending[i])
		}
		m.wait(20 * time.Minute)
	}
	if n := m.count(orchestrator.EvAgentWaiting); n != 20 || m.count(orchestrator.EvEffectFailed) != 0 || m.s.Ended() {
		t.Errorf("%d records until when it waits, %d of a failure, ended %v", n, m.count(orchestrator.EvEffectFailed), m.s.Ended())
	}
	m.hold = nil
	m.settle()
	if a := m.s.Agents["coder/1"]; a.Limited || !a.Until.IsZero() || a.Attempt != 1 || a.Retries != 0 {
		t.Errorf("agent %+v", a)
	}
	if left := m.due("phase"); left < limit-time.Minute {
		t.Errorf("%s are left of the limit of the phase, %s before", left, limit)
	}
	m.coded(1)
	m.phase("reviewing")
}

// An agent that its provider lets wait in its pane continues once the provider may take more, each time.
func TestProtocolP21AnAgentInItsPaneContinues(t *testing.T) {
	m := newSim(t, "quick", nil)
	for i := range 5 {
		m.report("planner", orchestrator.AgentReport{RateLimited: true})
		if !m.s.Agents["planner"].Limited || !duty.StandsStill(m.def, m.s) {
			t.Fatal("its limits count")
		}
		m.report("planner", orchestrator.AgentReport{RateLimited: true, Fault: orchestrator.ServiceLimit, TurnEnded: fmt.Sprint("limit ", i)})
		if got := m.due("relaunch/planner"); got > 2*time.Second {
			t.Fatalf("again after %s", got)
		}
		m.timer("relaunch/planner")
		if a := m.s.Agents["planner"]; a.Launch == "" || a.Retries != 0 || m.s.Ended() || len(m.s.Messages) != 0 {
			t.Fatalf("agent %+v, messages %+v", a, m.s.Messages)
		}
	}
}

// In its pane or ended, the agent of the summary waits as any other: no try of the two counts, and its limit stands still.
func TestProtocolP21ASummaryIsWaitedFor(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.toReview("serial", 1)
	m.pass("reviewer_logic")
	limit := m.due("summary")
	for i := range 3 {
		m.report("reviewer_logic", orchestrator.AgentReport{RateLimited: true, Fault: orchestrator.ServiceLimit, TurnEnded: fmt.Sprint("limit ", i)})
		m.timer("relaunch/reviewer_logic")
		m.ends("reviewer_logic", orchestrator.ServiceLimit)
		if !duty.StandsStill(m.def, m.s) {
			t.Fatal("the limit of the summary counts")
		}
		m.timer("relaunch/reviewer_logic")
	}
	if a := m.s.Agents["reviewer_logic"]; !m.s.AwaitingSummary || a.Launch == "" || a.Attempt != 8 || a.Retries != 0 || len(m.s.Messages) != 0 {
		t.Errorf("awaited %v, agent %+v, messages %+v", m.s.AwaitingSummary, a, m.s.Messages)
	}
	if left := m.due("summary"); left < limit-time.Minute {
		t.Errorf("%s are left of the limit of the summary, %s before", left, limit)
	}
	m.summary("reviewer_logic")
	m.phase("done")
}

func TestProtocolP21AResearcherIsWaitedFor(t *testing.T) {
	const key = orchestrator.AgentKey("code-researcher/auth")
	dispatched := func(t *testing.T) *sim {
		m := newSim(t, "quick", nil)
		m.tool("research_dispatch_code", "planner", map[string]any{"topic": "auth", "questions": []string{"where?"}}, nil)
		m.ends(key, orchestrator.ServiceLimit)
		if a := m.s.Agents[key]; m.s.ResearchTasks["auth"] != orchestrator.ResearchDispatched || !a.Limited || a.Retries != 0 || m.count(orchestrator.EvAgentWaiting) != 1 {
			t.Fatalf("topic %v, agent %+v", m.s.ResearchTasks, a)
		}
		return m
	}
	t.Run("continues", func(t *testing.T) {
		m := dispatched(t)
		m.timer("relaunch/" + string(key))
		if e := m.done[len(m.done)-1]; e.Args.Launch != "1.code-researcher.auth.2" || !e.Args.Continue {
			t.Errorf("started %+v", e.Args)
		}
		m.tool("submit_research_done", key, map[string]any{"topic": "auth", "type": "code"}, textArtifact("03_research/code-auth/summary.md"))
		if m.s.ResearchTasks["auth"] != orchestrator.ResearchDone {
			t.Errorf("topics %v", m.s.ResearchTasks)
		}
	})
	t.Run("waits through a change of the phase", func(t *testing.T) {
		m := dispatched(t)
		at := m.s.Deadlines["relaunch/"+string(key)]
		m.planned("serial", 1)
		m.phase("implementing")
		if a := m.s.Agents[key]; a.Launch != "" || !a.Limited || m.s.Deadlines["relaunch/"+string(key)] != at {
			t.Fatalf("agent %+v, deadlines %v", a, m.s.Deadlines)
		}
		m.timer("relaunch/" + string(key))
		if m.s.Agents[key].Launch == "" {
			t.Error("it was not started again")
		}
	})
}

// A person who looks on has nothing to decide about a limit.
func TestProtocolP21AttendedALimitIsWaitedFor(t *testing.T) {
	m := newSim(t, "quick", interactive)
	m.ends("planner", orchestrator.ServiceLimit)
	if a := m.s.Agents["planner"]; len(m.s.Questions) != 0 || !a.Limited || a.Retries != 0 {
		t.Fatalf("agent %+v, questions %+v", a, m.s.Questions)
	}
	m.timer("relaunch/planner")
	if e := m.done[len(m.done)-1]; e.Args.Launch != "1.planner.2" || !e.Args.Continue {
		t.Errorf("started %+v", e.Args)
	}
}

// However often an agent was lost before, it continues with its own session after a limit.
func TestProtocolP21AnAgentThatWasLostContinuesAfterALimit(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.AgentRetries = 3 })
	for range 2 {
		m.exit("planner", 1)
		m.timer("relaunch/planner")
	}
	m.ends("planner", orchestrator.ServiceLimit)
	m.timer("relaunch/planner")
	if e := m.done[len(m.done)-1]; e.Args.Launch != "1.planner.4" || !e.Args.Continue {
		t.Errorf("started %+v", e.Args)
	}
}

// What another agent of the phase does ends nobody's wait.
func TestProtocolP21AnAgentWaitsWhileOthersWork(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.Parallel = 2 })
	m.planned("parallel", 3)
	m.ends("coder/1", orchestrator.ServiceLimit)
	m.coded(2)
	if a := m.s.Agents["coder/1"]; a.Launch != "" || !a.Limited || m.s.Agents["coder/3"].Launch == "" {
		t.Errorf("agents %+v", m.s.Agents)
	}
}

// The records tell until when an agent waits: once for each time, and again where the agent waits in its pane.
func TestProtocolP21TheRecordsTellUntilWhen(t *testing.T) {
	m := newSim(t, "quick", nil)
	told := func(want orchestrator.Time) {
		t.Helper()
		d := m.last(orchestrator.EvAgentWaiting).Data.(orchestrator.AgentWaitingRecord)
		if d.For != "rate_limit" || d.Until != want || d.Launch == "" || m.s.Agents["planner"].Until != want {
			t.Errorf("told %+v, want until %s; %+v", d, want, m.s.Agents["planner"])
		}
	}
	hour := orchestrator.At(m.now.Add(time.Hour))
	for range 3 {
		m.report("planner", orchestrator.AgentReport{RateLimited: true, Until: hour})
	}
	told(hour)
	m.report("planner", orchestrator.AgentReport{RateLimited: true, Until: hour.Later(time.Hour)})
	told(hour.Later(time.Hour))
	m.report("planner", orchestrator.AgentReport{})
	m.do(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &orchestrator.AgentReport{
		Key: "planner", Launch: "1.planner.1", Condition: orchestrator.AgentDead, Signal: "KILL", Fault: orchestrator.ServiceLimit, Until: hour,
	}})
	told(hour)
	m.timer("relaunch/planner")
	m.ends("planner", orchestrator.ServiceOutage) // it names no time: the pause counts
	told(orchestrator.At(m.began.Add(5 * time.Minute)))
	if n := m.count(orchestrator.EvAgentWaiting); n != 4 {
		t.Errorf("%d records", n)
	}
}

func TestARefusedLoginParksAtOnce(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.ends("planner", orchestrator.ServiceLogin)
	m.parked(orchestrator.ReasonLogin)
	if m.count(orchestrator.EvAgentFailed) != 1 || len(m.ran()) != 1 {
		t.Errorf("ran %v", m.ran())
	}
}

// In its terminal a program stays when its service stops it.
func TestATurnThatTheServiceStoppedIsNotRemindedOf(t *testing.T) {
	for fault, want := range map[orchestrator.ServiceFault]string{orchestrator.ServiceLogin: orchestrator.ReasonLogin, orchestrator.ServiceLimit: ""} {
		t.Run(string(fault), func(t *testing.T) {
			m := newSim(t, "quick", nil)
			m.do(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &orchestrator.AgentReport{
				Key: "planner", Launch: m.s.Agents["planner"].Launch, Condition: orchestrator.AgentLive, TurnEnded: "turn 1", Fault: fault,
			}})
			if len(m.s.Messages) > 0 || string(m.s.OutcomeReason) != want {
				t.Errorf("%s: ended with %q, messages %+v", fault, m.s.OutcomeReason, m.s.Messages)
			}
			if want == "" && m.due("relaunch/planner") != time.Minute {
				t.Errorf("%s: again after %s", fault, m.due("relaunch/planner"))
			}
		})
	}
}

func TestAttendedAFaultOfTheServiceIsAQuestionToThePerson(t *testing.T) {
	m := newSim(t, "quick", interactive)
	m.ends("planner", orchestrator.ServiceLogin)
	if m.s.Ended() || len(m.s.Questions) != 1 || !strings.Contains(m.s.Questions[0].Text, "refuses the login") {
		t.Errorf("questions %+v", m.s.Questions)
	}
}

// An agent of an agents file whose turn its provider ended in its terminal waits, as any other.
func TestProtocolP21AnAgentOfATeamIsWaitedForInItsTerminal(t *testing.T) {
	m := newTeam(t, diamond, nil)
	key := m.member("base")
	m.report(key, orchestrator.AgentReport{Condition: orchestrator.AgentLive, TurnEnded: "screen 1", Fault: orchestrator.ServiceLimit})
	if a := m.s.Agents[key]; !a.Limited || a.Launch != "" || m.s.Team["base"].Marker != "" || len(m.s.Messages) > 0 {
		t.Errorf("agent %+v, messages %+v", a, m.s.Messages)
	}
}

// A park for a login says what a person does about it.
func TestARefusedLoginNamesWhatMendsIt(t *testing.T) {
	m := newSim(t, "quick", nil)
	code := 1
	m.report("planner", orchestrator.AgentReport{Condition: orchestrator.AgentDead, ExitCode: &code, Fault: orchestrator.ServiceLogin, Repair: "set X"})
	if next := m.last(orchestrator.EvNeedsHuman).Data.(orchestrator.NeedsHumanRecord).Next; next != "set X, then resume" {
		t.Errorf("next %q", next)
	}
}
