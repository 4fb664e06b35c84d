package duty

import (
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
)

// Handed returns the agent whose work a call hands in, and the task as State.SubplanStatus
// names it. ok is false for a call that hands in no work, or does not count.
func Handed(def *workflows.Definition, s *orchestrator.State, c Call) (o Agent, task string, ok bool) {
	if c.Tool != toolset.SubmitDone || !Accepts(def, s, c).OK {
		return Agent{}, "", false
	}
	switch phase, _ := def.Phase(s.Phase); phase.Kind {
	case workflows.KindImplement:
		return Submitter(def, s, string(*c.Payload.SubplanIndex))
	case workflows.KindTeam:
		return Submitter(def, s, c.Task)
	}
	return Submitter(def, s, orchestrator.FixTask)
}

// Submitter returns the agent that owes the work of a running task.
func Submitter(def *workflows.Definition, s *orchestrator.State, task string) (o Agent, name string, ok bool) {
	phase, _ := def.Phase(s.Phase)
	switch {
	case phase.Kind == workflows.KindTeam:
		for _, o := range teammates(def, s) {
			if o.Task == task {
				return o, task, true
			}
		}
		return Agent{}, "", false
	case s.SubplanStatus[task] != orchestrator.SubplanRunning:
		return Agent{}, "", false
	case phase.Kind == workflows.KindImplement:
		return Coder(s, phase, task), task, true
	case phase.Kind == workflows.KindFix:
		return Fixer(def, s, phase)[0], task, true
	}
	return Agent{}, "", false
}

// OwnedFiles lists the paths that belong to a task, in the form of a plan; none means all. Who
// resolves a conflict owns the paths in conflict, too.
func OwnedFiles(s *orchestrator.State, o Agent, task string) []string {
	if s.Schedule == nil {
		return o.Scope
	}
	owned := s.Schedule.Owned[task]
	if Resolves(o.Task) && len(owned) > 0 {
		owned = append(slices.Clone(owned), s.Conflicts[task]...)
	}
	return owned
}
