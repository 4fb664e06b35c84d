package duty

import (
	"slices"
	"strconv"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
)

// Takes returns the work that a line hands in. It has to be taken before the reducer decides about
// the line. ok is false for a line that hands in none, or does not count.
func Takes(def *workflows.Definition, s *orchestrator.State, l *orchestrator.Line) (t orchestrator.Taking, ok bool) {
	payload, err := l.Decode()
	if err != nil || l.Tool != toolset.SubmitDone {
		return orchestrator.Taking{}, false
	}
	call := Attribute(def, s, Call{Tool: l.Tool, Role: l.Role, Task: l.Task, Launch: l.Launch, Visit: l.Visit, Payload: payload})[0]
	if IgnoreReason(s, l, call) != "" {
		return orchestrator.Taking{}, false
	}
	o, task, ok := Handed(def, s, call)
	if !ok {
		return orchestrator.Taking{}, false
	}
	t, ok = taking(s, o, task)
	return t, ok && (!s.Paused || l.Last)
}

// TakesMarked is Takes of a marker that a person made.
func TakesMarked(def *workflows.Definition, s *orchestrator.State, o *orchestrator.Observation) (t orchestrator.Taking, ok bool) {
	phase, known := def.Phase(s.Phase)
	if !known || o.What != orchestrator.ObserveMarker || o.Evidence == "" || s.Seen[Observed(o.What, o.Name)] == o.Evidence {
		return orchestrator.Taking{}, false
	}
	by, task, ok := Submitter(def, s, MarkedTask(phase, o.Name))
	if !ok {
		return orchestrator.Taking{}, false
	}
	t, ok = taking(s, by, task)
	return t, ok && !s.Paused
}

func taking(s *orchestrator.State, o Agent, task string) (orchestrator.Taking, bool) {
	w := s.Workspaces[o.Workspace]
	return orchestrator.Taking{
		Role: o.Role, Task: o.Task, Launch: s.Agents[o.Key()].Launch, Workspace: o.Workspace, Dir: w.Path, Base: w.Base,
		Owned: OwnedFiles(s, o, task),
	}, w.Path != "" && !IsView(o.Workspace) && !s.Ended()
}

// IgnoreReason tells why a well-formed line does not count here.
func IgnoreReason(s *orchestrator.State, l *orchestrator.Line, c Call) string {
	switch {
	case l.Session != "" && l.Session != s.SessionID:
		return "foreign"
	case l.Forged:
		return "forged"
	case Known(s, l, c.Tool):
		return "duplicate"
	case !PhaseBound(c.Tool):
		return ""
	case c.Visit != nil && *c.Visit != s.Visit:
		return "stale"
	case c.Launch != "" && s.Agents[orchestrator.KeyOf(c.Role, c.Task)].Current() != c.Launch:
		return "stale"
	}
	return ""
}

// Known reports whether a line was applied before. Of lines without an id, what is said
// twice in one visit in the same words is said once; of a submission the state tells that.
func Known(s *orchestrator.State, l *orchestrator.Line, tool string) bool {
	return l.ID != "" && slices.Contains(s.RecentIDs, l.ID) ||
		l.Same != "" && !Submits(tool) && slices.Contains(s.RecentIDs, InVisit(s, l))
}

// InVisit names a line without an id within the present visit.
func InVisit(s *orchestrator.State, l *orchestrator.Line) string {
	return l.Same + "@" + strconv.Itoa(s.Visit)
}

// Submits reports whether a tool hands something in, which the state takes once.
func Submits(tool string) bool {
	t, _ := toolset.Find(tool)
	return t.Submits
}

// Observed names the memory of what was seen last.
func Observed(what, name string) string { return "observe/" + what + "/" + name }

// MarkedTask returns the task that a marker is about.
func MarkedTask(phase workflows.Phase, marker string) string {
	if phase.Kind == workflows.KindFix {
		return orchestrator.FixTask
	}
	return marker
}
