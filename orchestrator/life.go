package orchestrator

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/workflows"
)

const (
	relaunchPause  = 10 * time.Second // doubled with every retry
	serverWindow   = 10 * time.Minute // this long back, server failures count
	serverFailures = 3                // this many of them park the session
)

// agent judges the condition of a launch.
func (r *reducer) agent() {
	rep := r.in.Agent
	a, known := r.s.Agents[rep.Key]
	if !known || a.Launch == "" || a.Launch != rep.Launch || r.s.Ended() {
		return
	}
	starting := r.pending(func(e Effect) bool { return e.Type == EffStartAgent && e.Args.Launch == rep.Launch })
	if len(starting) > 0 {
		return
	}
	if rep.CLISession != "" && string(a.CLISession) != rep.CLISession {
		a.CLISession = Optional(rep.CLISession)
		r.s.Agents[rep.Key] = a
		r.changed = true
	}
	switch rep.Condition {
	case AgentLive:
		r.agentLive(rep)
	case AgentDead, AgentAbsent:
		r.agentGone(rep)
	}
}

func (r *reducer) agentLive(rep *AgentReport) {
	switch {
	case rep.Dialog != "" && !r.s.Interactive:
		r.park(ReasonAgentDialog, "the "+rep.Key+" shows a dialog nobody may answer for it: "+cut(rep.Dialog, 200), "attach and answer it, then resume")
	case rep.TurnEnded != "" && r.news("turn/"+rep.Launch, rep.TurnEnded):
		r.turnEnded(rep)
	case rep.Silence > 0:
		r.silent(rep)
	}
}

// turnEnded reminds an agent once that only a submission ends its task.
func (r *reducer) turnEnded(rep *AgentReport) {
	if r.waits(rep) || r.s.Interactive {
		return
	}
	if r.count("turn/"+rep.Key) > 1 {
		r.lost(rep.Key, "its turn ended without a submission", rep.Tail)
		return
	}
	r.message(rep.Key, Message{From: "system", Type: "update", Headline: "your task is not submitted"},
		"Your turn ended, but nothing was submitted. Finish the task and submit it with the tool your instructions name, or ask with ask_human.\n")
}

func (r *reducer) silent(rep *AgentReport) {
	limit := r.s.Settings.LimitStall
	a := r.s.Agents[rep.Key]
	if limit <= 0 || rep.Silence < limit || a.Waiting != "" || rep.RateLimited || r.s.Paused || r.waitsFor(rep.Key) != "" {
		return
	}
	name := "stall/" + rep.Launch
	c := r.s.Counters[name]
	if c.N > 0 && (r.s.Interactive || r.now.Sub(c.Since.Time) < limit.D()) {
		return
	}
	r.count(name)
	action := "nudged"
	switch {
	case r.s.Interactive:
		action = "shown"
	case c.N > 0:
		action = "relaunched"
	}
	role, task := SplitKey(rep.Key)
	r.event(EvAgentStalled, map[string]any{"role": role, "task": task, "seconds": int(rep.Silence.D().Seconds()), "action": action})
	switch action {
	case "nudged":
		r.message(rep.Key, Message{From: "system", Type: "update", Headline: "are you still at work?"},
			"Nothing was heard of you for a while. Go on with your task, submit it if it is finished, or ask with ask_human.\n")
	case "relaunched":
		r.lost(rep.Key, "it was silent for too long", rep.Tail)
	}
}

// waitsFor tells what an agent waits for, or "".
func (r *reducer) waitsFor(key string) string {
	role, task := SplitKey(key)
	for _, q := range r.s.Questions {
		if q.Open() && q.Role == role && q.Task == task && !strings.HasPrefix(q.ID, retryQuestion+"-") {
			return "question"
		}
	}
	if phase, ok := r.phase(); ok && phase.Research && phase.Role == role && runningResearch(r.s) > 0 {
		return "research"
	}
	return ""
}

// waits marks an agent whose turn ended while something it waits for is open.
func (r *reducer) waits(rep *AgentReport) bool {
	what := r.waitsFor(rep.Key)
	if what == "" {
		return false
	}
	a := r.s.Agents[rep.Key]
	if a.Waiting == "" {
		a.Waiting = Optional(what)
		r.s.Agents[rep.Key] = a
		role, task := SplitKey(rep.Key)
		r.event(EvAgentWaiting, map[string]any{"role": role, "task": task, "launch": rep.Launch, "for": what})
	}
	return true
}

func (r *reducer) agentGone(rep *AgentReport) {
	role, task := SplitKey(rep.Key)
	if rep.ServerLost {
		r.serverLost(rep)
		return
	}
	exit := exitText(rep)
	if !r.news("exit/"+rep.Launch, exit) {
		return
	}
	a := r.s.Agents[rep.Key]
	a.LastExit = Optional(exit)
	r.s.Agents[rep.Key] = a
	r.event(EvAgentExited, exitData(role, task, rep))
	if cleanExit(rep) && r.waits(rep) {
		a = r.s.Agents[rep.Key]
		a.Launch = ""
		r.s.Agents[rep.Key] = a
		return
	}
	r.lost(rep.Key, exit, rep.Tail)
}

func cleanExit(rep *AgentReport) bool { return rep.ExitCode != nil && *rep.ExitCode == 0 }

func exitText(rep *AgentReport) string {
	switch {
	case rep.Signal != "":
		return "signal " + rep.Signal
	case rep.ExitCode != nil:
		return fmt.Sprintf("exit %d", *rep.ExitCode)
	}
	return "its pane is gone"
}

func exitData(role, task string, rep *AgentReport) map[string]any {
	data := map[string]any{"role": role, "task": task, "launch": rep.Launch, "signal": rep.Signal, "expected": false, "exit_code": nil}
	if rep.ExitCode != nil {
		data["exit_code"] = *rep.ExitCode
	}
	return data
}

// serverLost starts the launch anew on a new server; the agent is not to blame.
func (r *reducer) serverLost(rep *AgentReport) {
	if !r.news("server/"+rep.Launch, "lost") {
		return
	}
	c := r.s.Counters["server"]
	if c.N > 0 && r.now.Sub(c.Since.Time) > serverWindow {
		delete(r.s.Counters, "server")
	}
	if r.s.Seen["server at"] != r.now.UTC().Format(time.RFC3339) {
		r.s.Seen["server at"] = r.now.UTC().Format(time.RFC3339)
		if r.count("server") >= serverFailures {
			r.park(ReasonAgentStalled, "the tmux server failed three times in ten minutes", "look at agentmux doctor, then resume")
			return
		}
	}
	if o, ok := owedAgent(r.def, r.s, rep.Key); ok {
		r.launch(o, true)
	}
}

// lost decides what follows when an agent will not submit.
func (r *reducer) lost(key, cause, tail string) {
	role, task := SplitKey(key)
	a := r.s.Agents[key]
	switch {
	case isResearcher(key):
		r.researchFailed(key, cause)
	case r.s.AwaitingSummary && r.isKind(workflows.KindReview) && r.count("summary") > 1:
		r.stop(key)
		r.leaveReview()
	case r.s.Interactive:
		r.stop(key)
		r.askRetry(key, cause)
	case a.Retries >= r.s.Settings.AgentRetries:
		r.stop(key)
		r.event(EvAgentFailed, map[string]any{"role": role, "task": task, "attempts": a.Attempt, "tail": tail})
		r.park(ReasonAgentStalled, "the "+key+" did not submit ("+cause+")", "agentmux attach, then resume")
	default:
		r.stop(key)
		a = r.s.Agents[key]
		a.Retries++
		r.s.Agents[key] = a
		r.deadline("relaunch/"+key, Duration(relaunchPause<<(a.Retries-1)))
	}
}
