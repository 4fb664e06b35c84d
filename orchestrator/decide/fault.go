package decide

import (
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// faultWords is how a fault stands in a reason.
func faultWords(f orchestrator.ServiceFault) string {
	switch f {
	case orchestrator.ServiceLogin:
		return "its provider refuses the login"
	case orchestrator.ServiceLimit:
		return "its provider refuses more for now"
	case orchestrator.ServiceOutage:
		return "its provider does not work"
	}
	return ""
}

// servicePauses are how long an unattended session waits for a service, each time it
// stops an agent of the phase. To start the agent again at once would be refused again.
func servicePauses() []time.Duration {
	return []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute}
}

// stoppedByService goes on after an agent whose service stopped it, and reports whether
// that was done: no other launch changes a refused login, and a limit or an outage may
// pass and uses up no retry.
func (r *reducer) stoppedByService(rep *orchestrator.AgentReport) bool {
	key := rep.Key
	if _, owed := owedAgent(r.def, r.s, key); !owed || r.s.Interactive || r.s.AwaitingSummary || isResearcher(key) {
		return false
	}
	role, task := orchestrator.SplitKey(key)
	switch rep.Fault {
	case orchestrator.ServiceLogin:
		r.stop(key)
		r.event(orchestrator.AgentFailedRecord{Role: role, Task: task, Attempts: r.s.Agents[key].Attempt, Tail: rep.Tail})
		r.park(orchestrator.ReasonLogin, "the "+key+" did not submit ("+faultWords(rep.Fault)+")", "give its provider a login that counts, see agentmux doctor, then resume")
		return true
	case orchestrator.ServiceLimit, orchestrator.ServiceOutage:
		pauses := servicePauses()
		n := r.count("service/" + key)
		if n > len(pauses) {
			return false
		}
		r.stop(key)
		r.event(orchestrator.AgentWaitingRecord{Role: role, Task: task, Launch: rep.Launch, For: "provider"})
		r.deadline("relaunch/"+key, orchestrator.Duration(pauses[n-1]))
		return true
	}
	return false
}
