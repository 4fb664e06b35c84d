package decide

import (
	"fmt"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
)

// Takes returns the work that a line hands in. It has to be taken before [Reduce] decides about
// the line. ok is false for a line that hands in none, or does not count.
func Takes(def *workflows.Definition, s *orchestrator.State, l *orchestrator.Line) (t orchestrator.Taking, ok bool) {
	payload, err := l.Decode()
	if err != nil || l.Tool != toolset.SubmitDone {
		return orchestrator.Taking{}, false
	}
	call := duty.Attribute(def, s, duty.Call{Tool: l.Tool, Role: l.Role, Task: l.Task, Launch: l.Launch, Visit: l.Visit, Payload: payload})[0]
	if (&lines{&queue{turn: turn{def: def, s: s}}}).ignoreReason(l, call) != "" {
		return orchestrator.Taking{}, false
	}
	o, task, ok := duty.Handed(def, s, call)
	if !ok {
		return orchestrator.Taking{}, false
	}
	return taking(s, o, task)
}

// TakesMarked is Takes of a marker that a person made.
func TakesMarked(def *workflows.Definition, s *orchestrator.State, o *orchestrator.Observation) (t orchestrator.Taking, ok bool) {
	phase, known := def.Phase(s.Phase)
	if !known || o.What != orchestrator.ObserveMarker || o.Evidence == "" || s.Seen[observed(o.What, o.Name)] == o.Evidence {
		return orchestrator.Taking{}, false
	}
	by, task, ok := duty.Submitter(def, s, markedTask(phase, o.Name))
	if !ok {
		return orchestrator.Taking{}, false
	}
	return taking(s, by, task)
}

func taking(s *orchestrator.State, o duty.Agent, task string) (orchestrator.Taking, bool) {
	w := s.Workspaces[o.Workspace]
	return orchestrator.Taking{
		Role: o.Role, Task: o.Task, Launch: s.Agents[o.Key()].Launch, Workspace: o.Workspace, Dir: w.Path, Base: w.Base,
		Owned: duty.OwnedFiles(s, o, task),
	}, w.Path != "" && !s.Paused && !s.Ended()
}

// snapshot returns the work that came with the input.
func (t *turn) snapshot() *orchestrator.Snapshot {
	switch {
	case t.in.Line != nil:
		return t.in.Line.Snapshot
	case t.in.Observe != nil:
		return t.in.Observe.Snapshot
	}
	return nil
}

// maxRefusals is how often the work of a task is refused in one visit.
const maxRefusals = 3

// refusedSeen names the memory of what was wrong with an agent's work.
func refusedSeen(key orchestrator.AgentKey) string { return "refused/" + string(key) }

// refusal is why submitted work is not taken.
type refusal struct {
	what     string // for the agent
	problems []string
	last     func() // at the third refusal; nil = the work is taken then
}

// refused judges submitted work, and reports whether it is not taken: then it stays with its
// agent, who hears why.
func (r *reducer) refused(o duty.Agent, id string, snap *orchestrator.Snapshot) bool {
	if snap == nil {
		return false
	}
	why := r.plan.refusal(o, id, snap)
	if len(why.problems) == 0 {
		return false
	}
	again := r.count("refused/"+id) < maxRefusals
	if !again && why.last == nil {
		return false
	}
	r.reject(duty.Call{Tool: toolset.SubmitDone, Role: o.Role, Task: o.Task}, why.what, why.problems)
	r.s.Seen[refusedSeen(o.Key())] = orchestrator.Truncate(why.problems[0], maxExcerpt)
	if !again {
		why.last()
	}
	return true
}

// refusal says what is wrong with submitted work; without problems it is taken.
func (p *plan) refusal(o duty.Agent, id string, snap *orchestrator.Snapshot) refusal {
	switch {
	case snap.Problem != "":
		return refusal{"Your work could not be taken.", []string{snap.Problem}, func() {
			p.outcome.fail("take the work of " + id + ": " + snap.Problem)
		}}
	case p.s.Settings.ScopePolicy == "fail" && len(snap.Scope) > 0:
		p.scopeViolation(id, snap.Scope)
		return refusal{"Your work changes paths that your subplan does not own. Undo these changes.", outside(snap.Scope), func() {
			p.parkScope(id, snap.Scope)
		}}
	case !p.s.Interactive && len(snap.Findings) > 0:
		return refusal{"The output gate blocks what you changed: it must not leave this machine.", snap.Findings, nil}
	case duty.Resolves(o.Task) && snap.Files == 0:
		text := "the conflict of subplan " + id + " was not resolved"
		return refusal{"Nothing in your workspace differs from what is integrated.", []string{text}, func() {
			p.outcome.park(orchestrator.ReasonMergeUnresolved, text, "resume to try again, or say what to change")
		}}
	}
	return refusal{}
}

func outside(paths []orchestrator.ScopePath) []string {
	var out []string
	for _, p := range paths {
		out = append(out, fmt.Sprintf("%s does not belong to this subplan", p.Path))
	}
	return out
}
