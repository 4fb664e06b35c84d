package orchestrator

import "time"

// ServiceFault is why the service behind an agent's program stopped it.
type ServiceFault string

// The faults.
const (
	ServiceLogin  ServiceFault = "login"  // it refuses the login
	ServiceLimit  ServiceFault = "limit"  // it refuses more for now
	ServiceOutage ServiceFault = "outage" // it does not work
)

// said is how a fault stands in a reason.
func (f ServiceFault) said() string {
	switch f {
	case ServiceLogin:
		return "its provider refuses the login"
	case ServiceLimit:
		return "its provider refuses more for now"
	case ServiceOutage:
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
func (r *reducer) stoppedByService(rep *AgentReport) bool {
	key := rep.Key
	if _, owed := owedAgent(r.def, r.s, key); !owed || r.s.Interactive || r.s.AwaitingSummary || isResearcher(key) {
		return false
	}
	role, task := SplitKey(key)
	switch rep.Fault {
	case ServiceLogin:
		r.stop(key)
		r.event(EvAgentFailed, map[string]any{"role": role, "task": task, "attempts": r.s.Agents[key].Attempt, "tail": rep.Tail})
		r.park(ReasonLogin, "the "+key+" did not submit ("+rep.Fault.said()+")", "give its provider a login that counts, see agentmux doctor, then resume")
		return true
	case ServiceLimit, ServiceOutage:
		pauses := servicePauses()
		n := r.count("service/" + key)
		if n > len(pauses) {
			return false
		}
		r.stop(key)
		r.event(EvAgentWaiting, map[string]any{"role": role, "task": task, "launch": rep.Launch, "for": "provider"})
		r.deadline("relaunch/"+key, Duration(pauses[n-1]))
		return true
	}
	return false
}
