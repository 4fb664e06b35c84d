package site

import (
	"fmt"

	"github.com/agentmux/agentmux/bot/bell"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Live reports whether a host runs the session.
func Live(e session.Entry) bool { return e.State != nil && e.Running }

// Served reports whether a bot of this machine runs the session whenever it has to be run.
func Served(e session.Entry) bool { return bell.Heard(ProjectOf(e)) }

// Ring has that bot look whether the session has to be run.
func Ring(e session.Entry) error { return bell.Ring(ProjectOf(e), e.Name) }

// OfBot reports whether the session lies in a managed project, and not in a clone.
func OfBot(e session.Entry) bool {
	_, managed := project.ManagedAt(StateHome(), ProjectOf(e))
	return managed
}

// Ending reports whether a host still completes the end of its session, such as the comments
// on the issue. It no longer takes commands.
func Ending(e session.Entry) bool { return Live(e) && e.State.Ended() }

// StillEnding is the error of what has to wait for such a host.
func StillEnding(e session.Entry) error {
	return &exit.Error{Code: exit.Locked, Err: fmt.Errorf("%s is ending; agentmux status %s says how, agentmux logs %s --follow waits until its host is gone", e.Name, e.Name, e.Name)}
}

// Unfinished reports whether the session can be resumed.
func Unfinished(e session.Entry) bool {
	return e.State != nil && !e.Running && e.State.Phase != orchestrator.PhaseDone
}

// Stoppable reports whether a host runs the session, or is to begin it, or it waits for a person.
func Stoppable(e session.Entry) bool {
	return Live(e) || e.State != nil && (e.State.Parked() || e.State.Unbegun())
}

// Unended reports whether a session is not done.
func Unended(e session.Entry) bool { return e.State != nil && e.State.Phase != orchestrator.PhaseDone }

// Gated reports whether a gate is open.
func Gated(e session.Entry) bool { return e.State != nil && e.State.Gate != nil }

// Changeable reports whether changes can be requested: the session is at a gate, is parked or has
// a pull request.
func Changeable(e session.Entry) bool {
	return e.State != nil && (e.State.Gate != nil || e.State.Parked() || e.State.Phase == orchestrator.PhaseDone && e.State.Completion.PRNumber > 0)
}

// Asking reports whether a question is open.
func Asking(e session.Entry) bool {
	if e.State == nil {
		return false
	}
	for _, q := range e.State.Questions {
		if q.Open() {
			return true
		}
	}
	return false
}
