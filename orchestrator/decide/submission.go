package decide

import (
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/toolset"
)

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
		return refusal{"Your work changes paths that your subplan does not own. Undo these changes.", duty.Outside(snap.Scope), func() {
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
