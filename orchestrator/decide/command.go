package decide

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/dialog"
	"github.com/agentmux/agentmux/orchestrator/decide/pause"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/workflows"
)

// commands are what a person may say to a running session. A handler returns
// why it refuses, or "".
var commands = map[string]func(*reducer, orchestrator.Payload) string{
	"stop":    (*reducer).cmdStop,
	"pause":   (*reducer).cmdPause,
	"resume":  (*reducer).cmdResume,
	"retry":   (*reducer).cmdRetry,
	"approve": (*reducer).cmdApprove,
	"changes": (*reducer).cmdChanges,
	"say":     (*reducer).cmdSay,
	"answer":  (*reducer).cmdAnswer,

	post.CommandSend: func(r *reducer, p orchestrator.Payload) string {
		return ofMessages(r, func(o *post.Office) string { return post.FromPerson(o, p, r.in.Line.Letter) })
	},
	post.CommandAck: func(r *reducer, p orchestrator.Payload) string {
		return ofMessages(r, func(o *post.Office) string { return post.Ack(o, p.File) })
	},
	post.CommandRetry: func(r *reducer, p orchestrator.Payload) string {
		return ofMessages(r, func(o *post.Office) string { return post.Retry(o, p.File) })
	},
}

func (r *reducer) commandLine() {
	l := r.in.Line
	if l.Signal != "" {
		if !r.s.Ended() { // else there is nothing to cancel
			r.outcome.cancel(orchestrator.ActorSignal, l.Signal)
		}
		return
	}
	r.s.CommandCursor = l.Cursor
	r.changed = true
	if r.lines.unusable(l) {
		return
	}
	if l.Tool != orchestrator.CommandTool {
		r.event(orchestrator.InputUnknownRecord{Tool: l.Tool})
		return
	}
	p, err := l.Decode()
	if err != nil {
		r.lines.badPayload(l, err)
		return
	}
	if !p.IsCommand() {
		return
	}
	known := func(id string) bool { return id != "" && slices.Contains(r.s.RecentIDs, id) }
	switch {
	case l.Session != "" && l.Session != r.s.SessionID:
		r.ignore(duty.Call{Tool: orchestrator.CommandTool}, "foreign")
		return
	case duty.Known(r.s, l, orchestrator.CommandTool), known(p.SourceID):
		r.ignore(duty.Call{Tool: orchestrator.CommandTool}, "duplicate")
		return
	}
	r.lines.keep(l, orchestrator.CommandTool)
	r.lines.remember(p.SourceID)
	r.command(p)
}

// command applies one command and records the decision. The record of what was
// applied comes first, so that readers see the cause before its consequences.
func (r *reducer) command(p orchestrator.Payload) {
	said := orchestrator.CommandRecord{Agent: r.team.meant(p), Name: p.Name, Actor: p.Actor, Source: p.Source, SourceID: p.SourceID}
	handle, ok := commands[p.Name]
	if !ok {
		said.Reason = "unknown command"
		r.event(orchestrator.CommandRefusedRecord(said))
		return
	}
	at, phase, visit := len(r.evs), r.s.Phase, r.s.Visit
	if reason := handle(r, p); reason != "" {
		said.Reason = reason
		r.event(orchestrator.CommandRefusedRecord(said))
		return
	}
	r.event(orchestrator.CommandAppliedRecord(said))
	// It was said where the session stood then, whatever phase it led to.
	r.evs[len(r.evs)-1].Phase, r.evs[len(r.evs)-1].Visit = phase, visit
	r.moveEventTo(at)
}

// Foresee tells why a session would refuse a command of a person; "" if it would take it. With
// resumed it has no host and would be resumed first. Nothing is changed.
func Foresee(def *workflows.Definition, s *orchestrator.State, p orchestrator.Payload, at time.Time, resumed bool) (reason string) {
	if s.IsClassic() {
		return "" // its upgrade needs its directory
	}
	if resumed {
		step, err := Reduce(def, s, orchestrator.Input{Kind: orchestrator.InStart, At: at, Start: &orchestrator.Start{Mode: orchestrator.StartResume}})
		if err != nil {
			return ""
		}
		s = step.State
	}
	body, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	step, err := Reduce(def, s, orchestrator.Input{Kind: orchestrator.InCommand, At: at, Line: &orchestrator.Line{Tool: orchestrator.CommandTool, Payload: body, At: orchestrator.At(at)}})
	if err != nil {
		return ""
	}
	for _, e := range step.Events {
		if d, ok := e.Data.(orchestrator.CommandRefusedRecord); ok {
			reason = d.Reason
		}
	}
	return reason
}

func (r *reducer) cmdStop(p orchestrator.Payload) string {
	if r.s.Phase == orchestrator.PhaseDone || r.s.Phase == orchestrator.PhaseFailed {
		return "the session has ended"
	}
	if p.Args.Role != "" {
		return r.team.stop(strings.TrimSpace(p.Args.Role))
	}
	r.outcome.cancel(p.Actor, p.Source)
	return ""
}

func (r *reducer) cmdPause(p orchestrator.Payload) string {
	if r.s.Ended() {
		return "the session has ended"
	}
	if r.s.Paused {
		return "the session is paused already"
	}
	pause.Begin(r.s, r.now)
	r.event(orchestrator.PausedRecord{Actor: p.Actor, Source: p.Source})
	return ""
}

// cmdResume ends a pause; at a park, or after a failure, it is a retry.
func (r *reducer) cmdResume(p orchestrator.Payload) string {
	switch {
	case r.s.Paused && !r.s.Ended():
		r.unpause(p.Actor, p.Source)
		return ""
	case r.s.Parked(), r.s.Phase == orchestrator.PhaseFailed:
		return r.cmdRetry(p)
	}
	return "the session is not paused"
}

// unpause moves every deadline by the pause and starts what is owed.
func (r *reducer) unpause(actor, source string) {
	pause.End(r.s, r.now)
	r.event(orchestrator.UnpausedRecord{Actor: actor, Source: source})
	r.goOnWith(nil, false)
}

// cmdRetry starts again what failed or stalled: an agent, or the whole session.
func (r *reducer) cmdRetry(p orchestrator.Payload) string {
	switch {
	case r.def.Team != nil:
		return retryAgents(r, strings.TrimSpace(p.Args.Role))
	case r.s.Parked(), r.s.Phase == orchestrator.PhaseFailed && r.s.InterruptedPhase != "":
		r.resumeRun(r.s.Phase, false)
		r.clock.goOnSoon()
		return ""
	case r.s.Ended():
		return "the session has ended"
	case r.s.Paused:
		return pausedFirst
	}
	n := 0
	for _, o := range duty.Owed(r.def, r.s) {
		if a := r.s.Agents[o.Key()]; a.Launch == "" && a.Waiting == "" {
			r.crew.launch(o, true)
			n++
		}
	}
	if n == 0 {
		return "no agent has failed or stalled"
	}
	return ""
}

// pausedFirst refuses what would lead to another phase or start an agent.
const pausedFirst = "the session is paused: resume it first"

func (r *reducer) cmdApprove(p orchestrator.Payload) string {
	switch {
	case r.s.Gate == nil:
		return "no gate is open"
	case r.gate.approveFault(p) != "":
		return r.gate.approveFault(p)
	case r.s.Parked():
		r.resumeRun(r.s.Phase, false)
	case r.s.Ended():
		return "the session has ended"
	case r.s.Paused:
		return pausedFirst
	}
	a := orchestrator.Approval{By: "user", CommitMessage: strings.TrimSpace(p.Args.Message), ExcludeFiles: p.Args.Exclude}
	r.approve(a, originOf(p), duty.Seen(r.s, r.in.Line, p))
	return ""
}

func (r *reducer) cmdChanges(p orchestrator.Payload) string {
	text := strings.TrimSpace(p.Args.Text)
	switch {
	case r.def.Team != nil:
		return "a run of an agents file takes no changes: use say to tell an agent"
	case text == "":
		return "changes needs a text"
	case r.s.Gate != nil && !r.s.Ended() && r.s.Paused:
		return pausedFirst
	case r.s.Parked(), r.s.Gate != nil && !r.s.Ended(), r.s.Phase == orchestrator.PhaseDone && r.s.Completion.PRNumber > 0:
		if r.s.Ended() { // as at a resume with changes
			r.s.Refresh(r.in.Settings)
		}
	case r.s.Ended():
		return "the session ended in the middle of its work: have it continue first"
	case r.s.Completion.PRNumber > 0:
		return "no gate is open, and a round on its pull request is under way; use say to tell an agent"
	default:
		return "no gate and no pull request is open; use say to tell an agent"
	}
	r.requestChanges(text, originOf(p))
	return ""
}

func (r *reducer) cmdSay(p orchestrator.Payload) string {
	text := strings.TrimSpace(p.Args.Text)
	if text == "" {
		return "say needs a text"
	}
	if r.s.Ended() {
		return "the session has ended"
	}
	key, reason := r.sayKey(strings.TrimSpace(p.Args.Role))
	if reason != "" {
		return reason
	}
	headline, _, _ := strings.Cut(text, "\n")
	r.mail.Send(key, orchestrator.Message{From: orchestrator.CoordinatorPerson, Type: "update", Headline: orchestrator.Truncate(headline, 80)}, text+"\n")
	return ""
}

// sayKey finds the agent a person means: the named role, else the phase's.
func (r *reducer) sayKey(role string) (key orchestrator.AgentKey, reason string) {
	owed := duty.Owed(r.def, r.s)
	if r.def.Team != nil && role != "" {
		if role, reason = r.team.key(role); reason != "" {
			return "", reason
		}
	}
	for _, o := range owed {
		if role == "" || o.Role == role || string(o.Key()) == role {
			return o.Key(), ""
		}
	}
	if role == "" {
		return "", "no agent is at work"
	}
	var names []string
	for _, o := range owed {
		names = append(names, string(o.Key()))
	}
	return "", "no " + role + " is at work; at work: " + cmp.Or(strings.Join(names, ", "), "none")
}

func (r *reducer) cmdAnswer(p orchestrator.Payload) string {
	id, text, of := strings.TrimSpace(p.Args.ID), strings.TrimSpace(p.Args.Text), ""
	if r.def.Team != nil {
		of = strings.TrimSpace(p.Args.Role)
	}
	open, named := duty.OpenQuestions(r.s, of), id != ""
	switch {
	case text == "":
		return "answer needs a text"
	case id == "" && len(open) == 1:
		id = open[0]
	case id == "" && len(open) == 0:
		return "no question" + ofAgent(of) + " is open"
	case id == "":
		return "several questions are open: name one of " + strings.Join(open, ", ")
	}
	q := r.questions.find(id)
	if q == nil || of != "" && q.Task != of {
		return "there is no question " + id + ofAgent(of) + "; open: " + cmp.Or(strings.Join(open, ", "), "none")
	}
	if !q.Open() {
		return "question " + id + " was answered already"
	}
	written := cmp.Or(p.Args.Written, r.in.Line.At).Time
	if fault := cmp.Or(dialog.AnswerFault(q, named, written), duty.PickFault(q, text)); fault != "" {
		return fault
	}
	if r.s.Parked() && r.s.OutcomeReason == orchestrator.ReasonQuestion {
		r.resumeRun(r.s.Phase, false)
		r.clock.goOnSoon()
	}
	r.answer(q, text, p.Actor, p.Source, false)
	return ""
}

// ofAgent names the agent that an answer is for, if it is for one.
func ofAgent(name string) string {
	if name == "" {
		return ""
	}
	return " of " + name
}
