package decide_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
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
			for _, pause := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute} {
				m.ends("planner", fault)
				if got := m.due("relaunch/planner"); got != pause || m.s.Agents["planner"].Retries != 0 {
					t.Fatalf("%s: again after %s, want %s; %+v", fault, got, pause, m.s.Agents["planner"])
				}
				m.timer("relaunch/planner")
			}
			m.ends("planner", fault)
			m.parked(orchestrator.ReasonAgentStalled)
			if text := m.last(orchestrator.EvNeedsHuman).Data.(orchestrator.NeedsHumanRecord).Text; !strings.Contains(text, "its provider") {
				t.Errorf("%s: the cause is %q", fault, text)
			}
		})
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
