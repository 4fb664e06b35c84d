package decide

import (
	"cmp"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/dialog"
	"github.com/agentmux/agentmux/orchestrator/decide/ending"
	"github.com/agentmux/agentmux/orchestrator/decide/substitute"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/team"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
)

// agent judges the condition of a launch. While the session is paused an exit is
// recorded and nothing follows from it: a submission that waits comes first.
func (r *reducer) agent() {
	rep := r.in.Agent
	a, known := r.s.Agents[rep.Key]
	if !known || a.Launch == "" || a.Launch != rep.Launch || r.s.Ended() || r.starting(rep.Launch) {
		return
	}
	r.crew.noteCondition(rep)
	switch rep.Condition {
	case orchestrator.AgentLive:
		r.agentLive(rep)
	case orchestrator.AgentDead, orchestrator.AgentAbsent:
		r.agentGone(rep)
	}
}

func (r *reducer) agentLive(rep *orchestrator.AgentReport) {
	switch {
	case r.s.Paused:
	case !r.s.Interactive && r.crew.knownDialog(rep):
		if q := dialog.Of(r.s, rep.Key); q != nil && (!duty.Reachable(r.def, r.s, q.Task) || r.s.Counters[dialog.Rule(rep.Launch)].N > dialog.MaxAsked) {
			r.questionTimeout(q.ID)
		}
	case rep.Dialog != "" && !r.s.Interactive:
		r.outcome.park(orchestrator.ReasonAgentDialog, "the "+string(rep.Key)+" shows a dialog that only a person may answer: "+orchestrator.Truncate(rep.Dialog, 200), "attach and answer it, then resume")
	case rep.RateLimited && !r.s.Interactive && r.crew.replace(rep.Key, substitute.Of(r.s, rep.Key, rep.Until, rep.Fallbacks)):
	case rep.TurnEnded != "" && r.isNew("turn/"+string(rep.Launch), rep.TurnEnded):
		r.turnEnded(rep)
	case rep.Silence > 0:
		r.silent(rep)
	}
}

// turnEnded reminds an agent once that only a submission ends its task. One that
// has mail continues with that first.
func (r *reducer) turnEnded(rep *orchestrator.AgentReport) {
	rule := "turn/" + string(rep.Launch)
	if rep.RateLimited { // its provider may take more now
		if !r.crew.waits(rep) && !r.s.Interactive && !r.mail.HasMail(rep.Key) {
			r.stoppedByService(rep)
		}
		return
	}
	if !r.crew.waits(rep) && r.team.atWork() && !r.mail.HasMail(rep.Key) {
		if rep.Fault != "" && !r.s.Interactive && r.stoppedByService(rep) {
			return
		}
		r.team.lost(rep.Key, team.TurnEnds, "its turn ended without a submission")
		return
	}
	if r.crew.waits(rep) || r.s.Interactive || r.s.Counters[rule].N == 0 && r.mail.HasMail(rep.Key) {
		return
	}
	if rep.Fault != "" && r.stoppedByService(rep) {
		return // a reminder would be refused, too
	}
	if r.count(rule) > 1 {
		r.lost(rep.Key, "its turn ended without a submission", rep.Tail)
		return
	}
	r.mail.Remind(rep.Key)
}

// silent nudges an agent that nothing was heard of for too long, and takes it for
// gone the next time.
func (r *reducer) silent(rep *orchestrator.AgentReport) {
	limit := r.s.Settings.LimitStall
	silence := r.clock.silence(rep)
	if limit <= 0 || silence < limit || rep.RateLimited || r.crew.waits(rep) {
		return
	}
	rule := "stall/" + string(rep.Launch)
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
	role, task := rep.Key.Split()
	r.event(orchestrator.AgentStalledRecord{Role: role, Task: task, Seconds: int(silence.D().Seconds()), Action: action})
	switch action {
	case "nudged":
		r.mail.Send(rep.Key, orchestrator.Message{From: post.System, Type: "update", Headline: "are you still at work?"},
			"Nothing was heard of you for a while. Go on with your task, submit it if it is finished, or ask with "+r.s.Agents[rep.Key].Shown(toolset.AskHuman)+".\n")
	case "relaunched":
		r.lost(rep.Key, "it was silent for too long", rep.Tail)
	}
}

func (r *reducer) agentGone(rep *orchestrator.AgentReport) {
	if rep.ServerLost {
		r.serverLost(rep)
		return
	}
	role, task := rep.Key.Split()
	exit := ending.Text(rep)
	if r.isNew(ending.Seen(rep.Launch), exit) {
		a := r.s.Agents[rep.Key]
		a.LastExit = orchestrator.Optional(exit)
		r.s.Agents[rep.Key] = a
		r.event(orchestrator.AgentExitedRecord{Role: role, Task: task, Launch: rep.Launch, Signal: rep.Signal, ExitCode: rep.ExitCode, Usage: rep.Usage})
	}
	if r.s.Paused {
		return
	}
	if ending.Clean(rep) && r.crew.waits(rep) {
		r.crew.stopWaiting(rep.Key) // what its launch left goes now: the next one has another name
		return
	}
	if o, owed := duty.OwedBy(r.def, r.s, rep.Key); owed && r.mail.Missed(rep.Key, ending.Clean(rep)) {
		r.crew.launch(o, true)
		return
	}
	if r.stoppedByService(rep) {
		return
	}
	if r.team.atWork() && ending.Clean(rep) {
		r.team.lost(rep.Key, team.TurnEnds, "it ended without a submission")
		return
	}
	if said := ending.Words(rep.Fault); said != "" {
		exit = said + ", " + exit
	}
	r.lost(rep.Key, exit, rep.Tail)
}

// lost decides what follows when an agent will not submit.
func (r *reducer) lost(key orchestrator.AgentKey, cause, tail string) {
	if refused := r.s.Seen[refusedSeen(key)]; refused != "" {
		cause += "; what it submitted was refused: " + refused
	}
	r.crew.stop(key)
	if _, owed := duty.OwedBy(r.def, r.s, key); !owed {
		return // it owes nothing
	}
	a := r.s.Agents[key]
	phase, _ := r.phase()
	switch {
	case r.team.atWork():
		r.team.lost(key, team.Exits, cause)
	case duty.Researches(key.Role()):
		r.research.failed(key, cause)
	case r.s.AwaitingSummary && phase.Kind == workflows.KindReview && r.count("summary") > 1:
		r.leaveReview() // the completion phase writes the fallback
	case r.s.Interactive:
		r.questions.askRetry(key, cause)
	case a.Retries >= r.s.Settings.AgentRetries && !r.s.AwaitingSummary:
		role, task := key.Split()
		r.event(orchestrator.AgentFailedRecord{Role: role, Task: task, Attempts: a.Attempt, Cause: cause, Tail: tail})
		r.outcome.park(orchestrator.ReasonAgentStalled, "the "+string(key)+" did not submit ("+cause+")", "agentmux attach, then resume")
	default:
		r.clock.arm(orchestrator.RelaunchTimer(key), ending.Backoff(a.Retries))
		a.Retries++
		r.s.Agents[key] = a
	}
}

// serverLost starts the launch again on a new server; the agent is not to blame. One
// failure takes every launch that was running.
func (r *reducer) serverLost(rep *orchestrator.AgentReport) {
	if r.s.Paused {
		return // reported again when the pause is over
	}
	if r.s.Seen[ending.ServerSeen(rep.Launch)] == "" && ending.ServerFailed(r.s, r.now) >= ending.ServerFailures {
		r.outcome.park(orchestrator.ReasonAgentStalled, "the tmux server failed three times in ten minutes", "look at agentmux doctor, then resume")
		return
	}
	o, ok := duty.OwedBy(r.def, r.s, rep.Key)
	if !ok {
		r.crew.stop(rep.Key)
		return
	}
	r.crew.launch(o, true)
}

// stoppedByService continues after an agent whose service stopped it, and reports whether
// that was done: no other launch changes a refused login, and a limit or an outage may
// pass and uses up no retry, whoever the agent is.
func (r *reducer) stoppedByService(rep *orchestrator.AgentReport) bool {
	key := rep.Key
	if _, owed := duty.OwedBy(r.def, r.s, key); !owed {
		return false
	}
	role, task := key.Split()
	switch rep.Fault {
	case orchestrator.ServiceLogin:
		if len(rep.Fallbacks) > 0 && r.crew.replace(key, rep.Fallbacks[0]) {
			return true
		}
		if r.s.Interactive || r.s.AwaitingSummary || duty.Researches(key.Role()) || r.team.atWork() {
			return false // a person is there, the session does without it, or the others have logins of their own
		}
		r.crew.stop(key)
		r.event(orchestrator.AgentFailedRecord{Role: role, Task: task, Attempts: r.s.Agents[key].Attempt, Cause: ending.Words(rep.Fault), Tail: rep.Tail})
		r.outcome.park(orchestrator.ReasonLogin, "the "+string(key)+" did not submit ("+ending.Words(rep.Fault)+")", cmp.Or(rep.Repair, "give its provider a login that counts, see agentmux doctor")+", then resume")
		return true
	case orchestrator.ServiceLimit, orchestrator.ServiceOutage:
		r.crew.stop(key)
		pause := time.Second
		if rep.RateLimited { // it has waited in its pane
			r.crew.await(key, r.now.Later(pause))
		} else {
			pause = ending.Pause(r.count(limitRule(key)))
			until := ending.Later(r.now.Later(pause), rep.Until)
			r.crew.limit(key, rep.Launch, until)
			if r.crew.replace(key, substitute.Of(r.s, key, until, rep.Fallbacks)) {
				return true
			}
		}
		r.clock.arm(orchestrator.RelaunchTimer(key), orchestrator.Duration(pause))
		return true
	}
	return false
}
