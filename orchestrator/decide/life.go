package decide

import (
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// agent judges the condition of a launch. While the session is paused an exit is
// recorded and nothing follows from it: a submission that waits comes first.
func (r *reducer) agent() {
	rep := r.in.Agent
	a, known := r.s.Agents[rep.Key]
	if !known || a.Launch == "" || a.Launch != rep.Launch || r.s.Ended() {
		return
	}
	starting := r.pending(func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffStartAgent && e.Args.Launch == rep.Launch
	})
	if len(starting) > 0 {
		return
	}
	r.noteCondition(rep)
	switch rep.Condition {
	case orchestrator.AgentLive:
		r.agentLive(rep)
	case orchestrator.AgentDead, orchestrator.AgentAbsent:
		r.agentGone(rep)
	}
}

// noteCondition keeps what later decisions need of a report.
func (r *reducer) noteCondition(rep *orchestrator.AgentReport) {
	a := r.s.Agents[rep.Key]
	before := a
	if rep.CLISession != "" {
		a.CLISession = orchestrator.Optional(rep.CLISession)
	}
	limited := rep.RateLimited && rep.Condition == orchestrator.AgentLive
	if a.Limited && !limited {
		a.Heard = r.now
	}
	a.Limited = limited
	if a != before {
		r.s.Agents[rep.Key] = a
		r.changed = true
	}
}

func (r *reducer) agentLive(rep *orchestrator.AgentReport) {
	switch {
	case r.s.Paused:
	case rep.Dialog != "" && !r.s.Interactive:
		r.park(orchestrator.ReasonAgentDialog, "the "+rep.Key+" shows a dialog nobody may answer for it: "+orchestrator.Truncate(rep.Dialog, 200), "attach and answer it, then resume")
	case rep.TurnEnded != "" && r.news("turn/"+rep.Launch, rep.TurnEnded):
		r.turnEnded(rep)
	case rep.Silence > 0:
		r.silent(rep)
	}
}

// turnEnded reminds an agent once that only a submission ends its task. One that
// has mail goes on with that first.
func (r *reducer) turnEnded(rep *orchestrator.AgentReport) {
	rule := "turn/" + rep.Launch
	if r.waits(rep) || r.s.Interactive || r.s.Counters[rule].N == 0 && r.hasMail(rep.Key) {
		return
	}
	if rep.Fault != "" && r.stoppedByService(rep) {
		return // a reminder would be refused, too
	}
	if r.count(rule) > 1 {
		r.lost(rep.Key, "its turn ended without a submission", rep.Tail)
		return
	}
	r.message(rep.Key, orchestrator.Message{From: systemAddress, Type: "update", Headline: "your task is not submitted"},
		"Your turn ended, but nothing was submitted. Finish the task and submit it with the tool your instructions name, or ask with ask_human.\n")
}

// silent nudges an agent that nothing was heard of for too long, and takes it for
// gone the next time.
func (r *reducer) silent(rep *orchestrator.AgentReport) {
	limit := r.s.Settings.LimitStall
	silence := r.silence(rep)
	if limit <= 0 || silence < limit || rep.RateLimited || r.waits(rep) {
		return
	}
	rule := "stall/" + rep.Launch
	c := r.s.Counters[rule]
	if c.N > 0 && (r.s.Interactive || r.now.Sub(c.Since.Time) < limit.D()) {
		return
	}
	r.count(rule)
	action := "nudged"
	switch {
	case r.s.Interactive:
		action = "shown"
	case c.N > 0:
		action = "relaunched"
	}
	role, task := orchestrator.SplitKey(rep.Key)
	r.event(orchestrator.AgentStalledRecord{Role: role, Task: task, Seconds: int(silence.D().Seconds()), Action: action})
	switch action {
	case "nudged":
		r.message(rep.Key, orchestrator.Message{From: systemAddress, Type: "update", Headline: "are you still at work?"},
			"Nothing was heard of you for a while. Go on with your task, submit it if it is finished, or ask with ask_human.\n")
	case "relaunched":
		r.lost(rep.Key, "it was silent for too long", rep.Tail)
	}
}

// silence is how long an agent that may work was not heard of.
func (r *reducer) silence(rep *orchestrator.AgentReport) orchestrator.Duration {
	heard := r.s.Agents[rep.Key].Heard
	if heard.IsZero() {
		return rep.Silence
	}
	return min(rep.Silence, orchestrator.Duration(r.now.Sub(heard.Time)))
}

// heard notes that an agent gave a sign of life.
func (r *reducer) heard(key, launch string) {
	if a, ok := r.s.Agents[key]; ok && launch != "" && a.Launch == launch {
		a.Heard = r.now
		r.s.Agents[key] = a
		r.changed = true
	}
}

// waitsFor tells what an agent waits for, or "".
func (r *reducer) waitsFor(key string) string {
	role, task := orchestrator.SplitKey(key)
	for _, q := range r.s.Questions {
		if q.Open() && q.Role == role && q.Task == task && !ofHost(q) {
			return "question"
		}
	}
	if phase, ok := r.phase(); ok && phase.Research && key == phase.Role && r.researches(role) {
		return "research"
	}
	return ""
}

// researches reports whether research that a role asked for is running. Sessions of
// the earlier tool do not say who asked.
func (r *reducer) researches(role string) bool {
	for _, o := range runningResearchers(r.s) {
		if owner := r.s.Agents[o.Key()].Owner; owner == role || owner == "" {
			return true
		}
	}
	return false
}

// waits marks an agent whose turn ended, or that fell silent, while something it waits
// for is open.
func (r *reducer) waits(rep *orchestrator.AgentReport) bool {
	what := r.waitsFor(rep.Key)
	if what == "" {
		return false
	}
	a := r.s.Agents[rep.Key]
	if a.Waiting == "" {
		a.Waiting = orchestrator.Optional(what)
		r.s.Agents[rep.Key] = a
		role, task := orchestrator.SplitKey(rep.Key)
		r.event(orchestrator.AgentWaitingRecord{Role: role, Task: task, Launch: rep.Launch, For: what})
	}
	return true
}

// wake goes on with an agent that waited: one that has ended is started again.
func (r *reducer) wake(key string) {
	a := r.s.Agents[key]
	if a.Waiting == "" || r.s.Paused || r.s.Ended() {
		return
	}
	a.Waiting, a.Heard = "", r.now
	r.s.Agents[key] = a
	if a.Launch != "" {
		return
	}
	if o, ok := owedAgent(r.def, r.s, key); ok {
		r.launch(o, true)
	}
}

// hasMail reports whether a message to the agent is on its way.
func (r *reducer) hasMail(key string) bool {
	to := agentAddress(key)
	for _, m := range r.s.Messages {
		if m.To == to && m.State == orchestrator.MessageQueued {
			return true
		}
	}
	return false
}

// ofHost reports whether the session itself asks: the answer steers an agent.
func ofHost(q orchestrator.Question) bool { return strings.HasPrefix(q.ID, hostQuestions) }

// hostQuestion is the open question about what to do with an agent, or nil.
func hostQuestion(s *orchestrator.State, key string) *orchestrator.Question {
	role, task := orchestrator.SplitKey(key)
	for i, q := range s.Questions {
		if q.Open() && ofHost(q) && q.Role == role && q.Task == task {
			return &s.Questions[i]
		}
	}
	return nil
}

// relaunchPause is doubled with every retry.
const relaunchPause = 10 * time.Second
