// Package ending says how launches ended, in words, and how long a service that ended one is
// waited for. It is pure.
package ending

import (
	"fmt"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// Clean reports whether a launch ended by itself, with 0.
func Clean(rep *orchestrator.AgentReport) bool { return rep.ExitCode != nil && *rep.ExitCode == 0 }

// Text says how a launch ended.
func Text(rep *orchestrator.AgentReport) string {
	switch {
	case rep.Signal != "":
		return "signal " + rep.Signal
	case rep.ExitCode != nil:
		return fmt.Sprintf("exit %d", *rep.ExitCode)
	}
	return "its pane is gone"
}

// Words returns a fault in the words of a reason.
func Words(f orchestrator.ServiceFault) string {
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

// Pause is how long an unattended session waits for a service that has stopped an agent of the
// phase so often. To start the agent again at once would be refused again.
func Pause(times int) time.Duration {
	pauses := []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute}
	return pauses[min(max(times, 1), len(pauses))-1]
}

// Later returns the later of two moments, of which the second may be unknown.
func Later(at, known orchestrator.Time) orchestrator.Time {
	if known.After(at.Time) {
		return known
	}
	return at
}

// Backoff is how long a session waits before it starts a lost agent again: twice as long with
// every retry, at most about three hours.
func Backoff(retries int) orchestrator.Duration {
	const first, maxDoublings = 10 * time.Second, 10
	return orchestrator.Duration(first << min(retries, maxDoublings))
}

// Seen names the memory of a launch's recorded exit.
func Seen(launch orchestrator.Launch) string { return "exit/" + string(launch) }

// ServerSeen names the memory of a launch that ended with its tmux server.
func ServerSeen(launch orchestrator.Launch) string { return "server/" + string(launch) }

const (
	serverWindow = 10 * time.Minute
	// ServerFailures is how many failures of the tmux server within ten minutes park the session.
	ServerFailures = 3
)

// ServerFailed counts a failure, marks the launches that it ended, and returns
// how many failures the last ten minutes saw.
func ServerFailed(s *orchestrator.State, now orchestrator.Time) int {
	starting := map[orchestrator.Launch]bool{}
	for _, e := range s.Pending {
		starting[e.Args.Launch] = starting[e.Args.Launch] || e.Type == orchestrator.EffStartAgent
	}
	for _, a := range s.Agents {
		if a.Launch != "" && !starting[a.Launch] {
			s.Seen[ServerSeen(a.Launch)] = "lost"
		}
	}
	newer := orchestrator.Counter{N: 1, Since: now}
	seen := 1
	for i := range ServerFailures - 1 {
		rule := fmt.Sprintf("server/%d", i)
		former := s.Counters[rule]
		s.Counters[rule] = newer
		if former.N == 0 || now.Sub(former.Since.Time) > serverWindow {
			return seen
		}
		newer = former
		seen++
	}
	return seen
}
