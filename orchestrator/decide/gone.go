package decide

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

func (r *reducer) agentGone(rep *orchestrator.AgentReport) {
	if rep.ServerLost {
		r.serverLost(rep)
		return
	}
	role, task := orchestrator.SplitKey(rep.Key)
	exit := exitText(rep)
	if r.news(exitSeen(rep.Launch), exit) {
		a := r.s.Agents[rep.Key]
		a.LastExit = orchestrator.Optional(exit)
		r.s.Agents[rep.Key] = a
		r.event(orchestrator.AgentExitedRecord{Role: role, Task: task, Launch: rep.Launch, Signal: rep.Signal, ExitCode: rep.ExitCode})
	}
	if r.s.Paused {
		return
	}
	if cleanExit(rep) && r.waits(rep) {
		r.stopWaiting(rep.Key) // what its launch left goes now: the next one has another name
		return
	}
	if o, owed := owedAgent(r.def, r.s, rep.Key); owed && cleanExit(rep) && r.missed(rep.Key) {
		r.launch(o, true)
		return
	}
	if r.stoppedByService(rep) {
		return
	}
	if said := faultWords(rep.Fault); said != "" {
		exit = said + ", " + exit
	}
	r.lost(rep.Key, exit, rep.Tail)
}

// missed reports whether an agent ended to wait for what had come just before. Each
// answer excuses one end.
func (r *reducer) missed(key string) bool {
	to := agentAddress(key)
	for _, m := range r.s.Messages {
		awaited := m.Type == "ask-response" || m.From == systemAddress && strings.HasPrefix(m.Headline, researchHeadline)
		if m.To == to && m.State == orchestrator.MessageQueued && awaited && r.count("missed/"+strconv.Itoa(m.Seq)) == 1 {
			return true
		}
	}
	return false
}

// exitSeen names the memory of a launch's recorded exit.
func exitSeen(launch string) string { return "exit/" + launch }

func cleanExit(rep *orchestrator.AgentReport) bool { return rep.ExitCode != nil && *rep.ExitCode == 0 }

func exitText(rep *orchestrator.AgentReport) string {
	switch {
	case rep.Signal != "":
		return "signal " + rep.Signal
	case rep.ExitCode != nil:
		return fmt.Sprintf("exit %d", *rep.ExitCode)
	}
	return "its pane is gone"
}

// lost decides what follows when an agent will not submit.
func (r *reducer) lost(key, cause, tail string) {
	r.stop(key)
	if _, owed := owedAgent(r.def, r.s, key); !owed {
		return // nobody waits for it
	}
	a := r.s.Agents[key]
	switch {
	case isResearcher(key):
		r.researchFailed(key, cause)
	case r.s.AwaitingSummary && r.isKind(workflows.KindReview) && r.count("summary") > 1:
		r.leaveReview() // the completion phase writes the fallback
	case r.s.Interactive:
		r.askRetry(key, cause)
	case a.Retries >= r.s.Settings.AgentRetries && !r.s.AwaitingSummary:
		role, task := orchestrator.SplitKey(key)
		r.event(orchestrator.AgentFailedRecord{Role: role, Task: task, Attempts: a.Attempt, Tail: tail})
		r.park(orchestrator.ReasonAgentStalled, "the "+key+" did not submit ("+cause+")", "agentmux attach, then resume")
	default:
		r.deadline("relaunch/"+key, orchestrator.Duration(relaunchPause<<min(a.Retries, maxDoublings)))
		a.Retries++
		r.s.Agents[key] = a
	}
}

// maxDoublings bounds the pause before a relaunch to about three hours.
const maxDoublings = 10

const (
	serverWindow = 10 * time.Minute
	// serverFailures is how many failures of the tmux server within serverWindow park
	// the session.
	serverFailures = 3
)

// serverLost starts the launch anew on a new server; the agent is not to blame. One
// failure takes every launch that was running.
func (r *reducer) serverLost(rep *orchestrator.AgentReport) {
	if r.s.Paused {
		return // reported again when the pause is over
	}
	if r.s.Seen["server/"+rep.Launch] == "" && r.serverFailed() >= serverFailures {
		r.park(orchestrator.ReasonAgentStalled, "the tmux server failed three times in ten minutes", "look at agentmux doctor, then resume")
		return
	}
	o, ok := owedAgent(r.def, r.s, rep.Key)
	if !ok {
		r.stop(rep.Key)
		return
	}
	r.launch(o, true)
}

// serverFailed counts a failure, marks the launches that went with it, and returns
// how many failures the last ten minutes saw.
func (r *reducer) serverFailed() int {
	starting := map[string]bool{}
	for _, e := range r.s.Pending {
		starting[e.Args.Launch] = starting[e.Args.Launch] || e.Type == orchestrator.EffStartAgent
	}
	for _, a := range r.s.Agents {
		if a.Launch != "" && !starting[a.Launch] {
			r.s.Seen["server/"+a.Launch] = "lost"
		}
	}
	last := orchestrator.Counter{N: 1, Since: r.now}
	seen := 1
	for i := range serverFailures - 1 {
		rule := fmt.Sprintf("server/%d", i)
		former := r.s.Counters[rule]
		r.s.Counters[rule] = last
		if former.N == 0 || r.now.Sub(former.Since.Time) > serverWindow {
			return seen
		}
		last = former
		seen++
	}
	return seen
}
