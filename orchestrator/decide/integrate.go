package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

func (r *reducer) applyDone(c Call) {
	phase, _ := r.phase()
	if phase.Kind == workflows.KindFix {
		r.fixSubmitted()
		return
	}
	r.submitted(string(*c.Payload.SubplanIndex))
}

// submitted takes the work of a subplan: its coder is stopped, then the work is
// integrated.
func (r *reducer) submitted(id string) {
	phase, _ := r.phase()
	o := coder(r.s, phase, id)
	r.s.SubplanStatus[id] = orchestrator.SubplanSubmitted
	r.armPhase(phase)
	r.effect(orchestrator.EffWriteMarker, r.marker(id), orchestrator.Args{Path: r.marker(id)})
	if _, made := r.s.Workspaces[o.Workspace]; !made {
		r.stop(o.Key())
		r.finishSubplan(id, orchestrator.Result{Commit: r.s.Integrated.Commit}) // done in what was taken over
		r.proceed()
		return
	}
	r.integrate(o, id)
}

// integrate asks for the merge of what an agent left in its workspace.
func (r *reducer) integrate(o OwedAgent, id string) {
	a := r.s.Agents[o.Key()]
	r.stop(o.Key())
	r.forget(o.Key())
	owned := r.s.Schedule.Owned[id]
	if strings.HasPrefix(o.Task, "resolve-") {
		owned = append(slices.Clone(owned), r.s.Conflicts[id]...)
	}
	after := r.stopsIn(o.Workspace)
	if made := r.madeWorkspace(o.Workspace); made != "" {
		after = append(after, made)
	}
	w := r.s.Workspaces[o.Workspace]
	r.effect(orchestrator.EffIntegrate, "integrate", orchestrator.Args{
		Launch: string(a.LastLaunch), Role: o.Role, Task: id, Workspace: o.Workspace, Dir: w.Path, Base: w.Base,
		Owned: owned, Strict: r.s.Settings.ScopePolicy == "fail", Date: r.now,
	}, after...)
}

// integrated decides what the result of a merge leads to.
func (r *reducer) integrated(e orchestrator.Effect, res orchestrator.Result) {
	id := e.Args.Task
	resolved := e.Args.Workspace == resolveTask(id)
	switch {
	case len(res.Scope) > 0 && e.Args.Strict:
		r.scopeViolation(id, res.Scope)
		r.outOfScope(e, res.Scope)
		return
	case len(res.Conflicts) > 0 && (resolved || id == orchestrator.FixTask):
		r.unresolved(e, "the work of "+id+" conflicts with what was integrated meanwhile")
		return
	case len(res.Conflicts) > 0:
		r.conflict(e, res)
		return
	case res.Empty && resolved:
		r.unresolved(e, "the conflict of subplan "+id+" was not resolved")
		return
	}
	if len(res.Scope) > 0 && !resolved {
		r.scopeViolation(id, res.Scope)
	}
	r.headMoved(e, res)
	if id == orchestrator.FixTask {
		r.s.SubplanStatus[orchestrator.FixTask] = orchestrator.SubplanDone
	} else {
		r.finishSubplan(id, res)
	}
	r.proceed()
}

// proceed takes the step that the work of a phase leads to. While the session is
// paused it waits for the end of the pause.
func (r *reducer) proceed() {
	if r.s.Paused || r.s.Ended() || r.s.Gate != nil {
		return
	}
	switch phase, _ := r.phase(); {
	case phase.Kind == workflows.KindImplement && r.s.GroupMode == "":
		r.nextGroup()
	case phase.Kind == workflows.KindImplement:
		r.dispatch()
	case phase.Kind == workflows.KindFix && r.s.SubplanStatus[orchestrator.FixTask] == orchestrator.SubplanDone:
		delete(r.s.SubplanStatus, orchestrator.FixTask)
		r.last(orchestrator.LastImplemented)
		r.follow("completed", orchestrator.LastImplemented)
	case phase.Kind == workflows.KindComplete:
		r.nextStep()
	}
}

// unresolved sends work that cannot be merged to a person. A resume starts its
// agent again, in a workspace at the integrated commit.
func (r *reducer) unresolved(e orchestrator.Effect, text string) {
	id := e.Args.Task
	r.again(id)
	w := r.s.Workspaces[e.Args.Workspace]
	w.Used = unusable
	r.s.Workspaces[e.Args.Workspace] = w
	r.park(orchestrator.ReasonMergeUnresolved, text, "resume to try again, or say what to change")
}

// again makes a submitted subplan, or the fix, one that is still to be done.
func (r *reducer) again(id string) {
	r.s.SubplanStatus[id] = orchestrator.SubplanRunning
	if id == orchestrator.FixTask {
		id = "1"
	}
	r.effect(orchestrator.EffRemoveFiles, r.marker(id), orchestrator.Args{Paths: []string{r.marker(id)}, Visit: r.s.Visit})
}

// headMoved remembers the merged commit, and that the workspace's content is
// the integrated tree where it is.
func (r *reducer) headMoved(e orchestrator.Effect, res orchestrator.Result) {
	r.s.Integrated = orchestrator.Integrated{Commit: res.Commit, Tree: res.Tree}
	w := r.s.Workspaces[e.Args.Workspace]
	w.Snapshot, w.Used = orchestrator.Optional(res.Snapshot), 0
	if res.Snapshot == res.Tree {
		w.Base = res.Commit
	}
	r.s.Workspaces[e.Args.Workspace] = w
}

func (r *reducer) finishSubplan(id string, res orchestrator.Result) {
	r.s.SubplanStatus[id] = orchestrator.SubplanDone
	delete(r.s.Conflicts, id)
	r.s.CompletedSubplans = append(r.s.CompletedSubplans, id)
	r.s.ActivePlanIDs = without(r.s.ActivePlanIDs, id)
	r.event(orchestrator.SubplanDoneRecord{ID: id, Commit: res.Commit, Files: res.Files})
}

func without(items []string, item string) []string {
	return slices.DeleteFunc(items, func(s string) bool { return s == item })
}

func (r *reducer) conflict(e orchestrator.Effect, res orchestrator.Result) {
	id := e.Args.Task
	r.s.Conflicts[id] = res.Conflicts
	r.event(orchestrator.MergeConflictRecord{ID: id, Paths: res.Conflicts, Task: resolveTask(id)})
	r.effect(orchestrator.EffPreserve, id+"@"+fmt.Sprint(r.s.Visit), orchestrator.Args{
		Task: id, Workspace: e.Args.Workspace, Dir: e.Args.Dir, Base: e.Args.Base, Launch: e.Args.Launch, Date: r.now,
	}, r.stopsIn(e.Args.Workspace)...)
	r.s.SubplanStatus[id] = orchestrator.SubplanConflict
	r.s.ActivePlanIDs = without(r.s.ActivePlanIDs, id)
	w := r.s.Workspaces[e.Args.Workspace]
	w.Used = unusable
	r.s.Workspaces[e.Args.Workspace] = w
	r.proceed()
}

func (r *reducer) scopeViolation(id string, paths []orchestrator.ScopePath) {
	r.event(orchestrator.ScopeViolationRecord{ID: id, Policy: r.s.Settings.ScopePolicy, Paths: paths})
}

// namesOf lists the first few paths in one line.
func namesOf(paths []orchestrator.ScopePath) string {
	const most = 10
	var names []string
	for _, p := range paths[:min(most, len(paths))] {
		names = append(names, p.Path)
	}
	if len(paths) > most {
		names = append(names, fmt.Sprintf("%d more", len(paths)-most))
	}
	return strings.Join(names, ", ")
}

// outOfScope sends a coder back once with the list, then asks a person.
func (r *reducer) outOfScope(e orchestrator.Effect, paths []orchestrator.ScopePath) {
	id := e.Args.Task
	r.again(id)
	if r.count("scope/"+id) > 1 {
		r.park(orchestrator.ReasonScope, "subplan "+id+" changed files it does not own: "+namesOf(paths), "resume to let it try again, or say what to change")
		return
	}
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, "- `%s`\n", p.Path)
	}
	for _, o := range Owed(r.def, r.s) {
		if o.Role == e.Args.Role && o.Workspace == e.Args.Workspace {
			r.message(o.Key(), orchestrator.Message{From: systemAddress, Type: "update", Headline: "you changed files outside of your subplan"},
				"Your work was not taken, because it changes paths that your subplan does not own. Undo these changes, then submit again:\n\n"+b.String())
			r.launch(o, true)
		}
	}
}
