package decide

import (
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/team"
	"github.com/agentmux/agentmux/workflows"
)

// teamwork carries out what the rules of package team ask for: it is their Session.
type teamwork struct {
	*queue
	crew    *crew
	mail    *post.Office
	outcome *outcome
}

func (w *teamwork) Event(record orchestrator.Record) { w.event(record) }

func (w *teamwork) Effect(kind, key string, args orchestrator.Args) { w.effect(kind, key, args) }

func (w *teamwork) Write(file, text string) {
	w.effect(orchestrator.EffWriteFile, file, orchestrator.Args{Path: file, SHA256: w.blob(text)})
}

func (w *teamwork) Launch(name string) { w.crew.launch(w.member(name), false) }

func (w *teamwork) Leave(name, tree string) { w.crew.leave(w.member(name).Key(), tree, nil) }

func (w *teamwork) Dismiss(name string) { w.crew.dismiss(w.member(name).Key()) }

func (w *teamwork) Remind(name string) { w.mail.Remind(w.member(name).Key()) }

func (w *teamwork) run() *team.Run { return &team.Run{Def: w.def, State: w.s, Now: w.now, Do: w} }

func (w *teamwork) member(name string) duty.Agent {
	return duty.Teammate(w.def, w.s, w.run().Agent(name))
}

// atWork reports whether the session is one of an agents file that has not ended.
func (w *teamwork) atWork() bool {
	phase, ok := w.phase()
	return ok && phase.Kind == workflows.KindTeam && !w.s.Ended()
}

// happens does what follows for an agent, and for those that wait for it.
func (w *teamwork) happens(name string, h team.Happening, ev team.Evidence) team.Action {
	if w.run().Agent(name) == nil {
		return team.Nothing
	}
	ev.Work = w.member(name).Workspace
	did := w.run().Apply(name, h, ev)
	w.changed = w.changed || did != team.Nothing
	if w.s.Team[name].Marker != "" {
		w.mail.Ended(w.member(name).Key())
		w.crew.wakeAnswered()
	}
	w.advance()
	return did
}

// advance starts the agents whose turn has come, and ends the run after the last marker.
func (w *teamwork) advance() {
	if w.s.Paused || !w.atWork() || !w.run().Advance() {
		return
	}
	if failures := w.run().Failures(); failures != "" {
		w.outcome.fail("not done: " + failures)
		return
	}
	w.outcome.finishPhase(orchestrator.OutcomeDone, "")
}

// handsIn takes the work of an agent, or returns why not for it to try again.
func (w *teamwork) handsIn(o duty.Agent) (what string, problems []string) {
	snap := w.snapshot()
	what, problems, final := w.run().Refusal(o.Task, snap)
	switch {
	case what == "":
		w.happens(o.Task, team.HandsIn, team.Evidence{Snapshot: snap})
	case !final && w.count("refused/"+o.Task) < maxRefusals:
		w.s.Seen[refusedSeen(o.Key())] = orchestrator.Truncate(problems[0], maxExcerpt)
		return what, problems
	default:
		w.happens(o.Task, team.IsRefused, team.Evidence{Cause: problems[0], Snapshot: snap})
	}
	return "", nil
}

// lost decides about an agent whose turn or program has ended without a submission. Nothing
// starts it again but the reminder, which it has to hear.
func (w *teamwork) lost(key orchestrator.AgentKey, h team.Happening, cause string) {
	ev, ended := team.Ended(w.in.Agent, cause)
	_, name := key.Split()
	if w.happens(name, h, ev) == team.Remind && ended {
		w.crew.launch(w.member(name), true)
	}
}

// gaveUp ends the agent for which an effect failed, and reports whether it was for one.
func (w *teamwork) gaveUp(e orchestrator.Effect, cause string) bool {
	if !w.atWork() {
		return false
	}
	name, happening := team.Fails(e)
	if e.Type == orchestrator.EffEnsureWorkspace {
		name = duty.Worker(e.Args.Workspace)
	}
	if happening == "" {
		return false
	}
	w.happens(name, happening, team.Evidence{Cause: e.Type + ": " + cause})
	return true
}

// takeMarker takes the marker that a person made of an agent.
func (w *teamwork) takeMarker(o *orchestrator.Observation) {
	happening, ev := team.Marked(o)
	if ev.Corrupt {
		w.event(orchestrator.InputCorruptRecord{File: team.MarkerFile(o.Name), Reason: "a marker holds an exit code", Excerpt: orchestrator.Truncate(o.Content, maxExcerpt)})
	}
	w.happens(o.Name, happening, ev)
}

// retryAgents starts the agents of a run again that failed, or the one called name, and what they
// block. A run that has ended without a failed agent continues as any session.
func retryAgents(r *reducer, name string) string {
	again, reason := r.team.run().Again(name)
	switch ended := r.s.Parked() || r.s.Phase == orchestrator.PhaseFailed; {
	case r.s.Phase == orchestrator.PhaseDone:
		return "the session has ended"
	case reason != "" && (name != "" || !ended):
		return reason
	case r.s.Paused:
		return pausedFirst
	case ended:
		r.resumeRun(r.s.Phase, false)
		r.clock.goOnSoon()
	}
	r.team.run().Retry(again)
	r.team.advance()
	return ""
}

// key returns the key of the agent that a person means.
func (w *teamwork) key(word string) (key, reason string) {
	a, reason := w.run().Named(word)
	if reason != "" {
		return "", reason
	}
	return string(orchestrator.KeyOf(a.Role, a.Name)), ""
}

// meant returns the agent that a command names, or whose question it answers; "" for one that is for the whole run.
func (w *teamwork) meant(p orchestrator.Payload) string {
	if w.def.Team == nil {
		return ""
	}
	if a, _ := w.run().Named(strings.TrimSpace(p.Args.Role)); a != nil {
		return a.Name
	}
	for _, q := range w.s.Questions {
		if p.Name == "answer" && q.ID == strings.TrimSpace(p.Args.ID) {
			return q.Task
		}
	}
	return ""
}

// stop ends one agent as failed, or returns why not.
func (w *teamwork) stop(name string) string {
	if w.atWork() && w.happens(name, team.MarkedFailed, team.Evidence{Exit: 130, By: "person", Cause: "stopped by a person"}) != team.Nothing {
		return ""
	}
	if w.s.Team[name].Marker != "" {
		return name + " has ended"
	}
	return name + " is not an agent of this run that could be stopped"
}
