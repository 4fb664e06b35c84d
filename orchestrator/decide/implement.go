package decide

import (
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/pause"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows"
)

// applyPlan takes a plan: everything an earlier plan left is reset, derived
// files are renewed, and the plan gate opens where one is configured.
func (r *reducer) applyPlan(duty.Call) {
	a := r.artifact()
	phase, _ := r.phase()
	r.crew.accept(a, phase.Role)
	r.crew.leave(orchestrator.AgentKey(phase.Role), "", nil)
	before := r.s.SubplanCount
	r.plan.set(a)
	r.plan.renewFiles(phase, a.SHA256, before)
	r.event(orchestrator.ScheduleRecord{
		Groups: r.s.Schedule.Groups, Subplans: r.s.SubplanCount, NeedsDesign: r.s.Schedule.NeedsDesign,
	})
	if r.s.Settings.ApprovePlan || phase.Gate {
		r.gate.open(orchestrator.GatePlan, orchestrator.GatePlanned)
		return
	}
	r.leavePlan()
}

func (r *reducer) leavePlan() {
	r.lastEvent(orchestrator.LastPlanWritten)
	r.follow("accepted", orchestrator.LastPlanWritten)
}

// nextGroup activates the first group that is not complete, or leaves the phase.
func (r *reducer) nextGroup() {
	for i, group := range r.s.Schedule.Groups {
		if slices.Contains(r.s.CompletedGroups, group.ID) {
			continue
		}
		r.s.GroupIndex, r.s.GroupMode = i+1, orchestrator.Optional(group.Mode)
		r.event(orchestrator.GroupStartedRecord{
			GroupID: group.ID, Index: i + 1, Total: r.s.GroupTotal, Mode: group.Mode, Plans: group.Plans,
		})
		r.dispatch()
		return
	}
	r.s.GroupIndex, r.s.GroupMode = r.s.GroupTotal, ""
	r.lastEvent(orchestrator.LastImplemented)
	r.follow("completed", orchestrator.LastImplemented)
}

// dispatch starts what the active group may run now, and closes the group when
// nothing is left. A paused session starts nothing and continues from here later.
func (r *reducer) dispatch() {
	if r.s.Paused || r.s.Ended() {
		return
	}
	group := r.plan.group()
	limit := 1
	if group.Mode == "parallel" {
		limit = max(1, r.s.Settings.Parallel)
	}
	for _, id := range group.Plans {
		if len(r.s.ActivePlanIDs) >= limit {
			return
		}
		if r.s.SubplanStatus[id] == orchestrator.SubplanPending {
			r.plan.startSubplan(id)
		}
	}
	if len(r.s.ActivePlanIDs) > 0 || r.plan.resolveNext(group) {
		return
	}
	r.s.CompletedGroups = append(r.s.CompletedGroups, group.ID)
	r.s.GroupMode = ""
	r.event(orchestrator.GroupDoneRecord{
		GroupID: group.ID, Index: r.s.GroupIndex, Total: r.s.GroupTotal, Mode: group.Mode, Plans: group.Plans,
	})
	r.nextGroup()
}

func (r *reducer) applyDone(c duty.Call) {
	switch o, task, ok := duty.Handed(r.def, r.s, c); {
	case ok && r.team.atWork():
		if what, problems := r.team.handsIn(o); what != "" {
			r.reject(c, what, problems)
		}
	case ok:
		r.handedIn(o, task)
	}
}

// handedIn takes the work of a subplan, or the fix, unless it is refused. Its agent may end its
// turn; the work is that of the snapshot.
func (r *reducer) handedIn(o duty.Agent, id string) {
	snap := r.snapshot()
	if r.refused(o, id, snap) {
		return
	}
	phase, _ := r.phase()
	r.s.SubplanStatus[id] = orchestrator.SubplanSubmitted
	r.clock.armPhase(phase)
	marker := r.marker(id)
	if id == orchestrator.FixTask {
		marker = r.marker("1")
	}
	r.effect(orchestrator.EffWriteMarker, marker, orchestrator.Args{Path: marker})
	if _, made := r.s.Workspaces[o.Workspace]; !made {
		r.crew.leave(o.Key(), "", nil)
		r.plan.finish(id, orchestrator.Result{Commit: r.s.Integrated.Commit}) // done in what was taken over
		r.proceed()
		return
	}
	r.plan.handIn(o, id, snap)
}

// integrated decides what the result of a merge leads to.
func (r *reducer) integrated(e orchestrator.Effect, res orchestrator.Result) {
	id := e.Args.Task
	_, task, _ := duty.OfVisit(e.Args.Workspace)
	resolved := task == duty.ResolveTask(id)
	switch {
	case len(res.Scope) > 0 && e.Args.Strict:
		r.plan.scopeViolation(id, res.Scope)
		r.plan.outOfScope(e, res.Scope)
		return
	case len(res.Conflicts) > 0 && (resolved || id == orchestrator.FixTask):
		r.plan.unresolved(e, "the work of "+id+" conflicts with what was integrated meanwhile")
		return
	case len(res.Conflicts) > 0:
		r.conflict(e, res)
		return
	case res.Empty && resolved:
		r.plan.unresolved(e, "the conflict of subplan "+id+" was not resolved")
		return
	}
	if len(res.Scope) > 0 && !resolved {
		r.plan.scopeViolation(id, res.Scope)
	}
	r.workspaces.headMoved(e, res)
	if resolved {
		r.workspaces.remove(duty.Work(r.s, id))
	}
	r.plan.finish(id, res)
	r.proceed()
}

func (r *reducer) conflict(e orchestrator.Effect, res orchestrator.Result) {
	id := e.Args.Task
	r.s.Conflicts[id] = res.Conflicts
	r.event(orchestrator.MergeConflictRecord{ID: id, Paths: res.Conflicts, Task: duty.ResolveTask(id)})
	r.effect(orchestrator.EffPreserve, id+"@"+fmt.Sprint(r.s.Visit), orchestrator.Args{
		Task: id, Workspace: e.Args.Workspace, Dir: e.Args.Dir, Base: e.Args.Base, Tree: e.Args.Tree, Launch: e.Args.Launch, Date: r.now,
	}, r.workspaces.stopsBefore(e.Args)...)
	r.s.SubplanStatus[id] = orchestrator.SubplanConflict
	r.s.ActivePlanIDs = without(r.s.ActivePlanIDs, id)
	r.workspaces.close(e.Args.Workspace)
	r.proceed()
}

// proceed takes the step that the work of a phase leads to. While the session is
// paused it waits for the end of the pause.
func (r *reducer) proceed() {
	if r.s.Paused || r.s.Ended() || r.s.Gate != nil {
		return
	}
	if held, ok := pause.Release(r.s); ok {
		r.follow(held.Outcome, held.Reason)
		return
	}
	switch phase, _ := r.phase(); {
	case phase.Kind == workflows.KindImplement && r.s.GroupMode == "":
		r.nextGroup()
	case phase.Kind == workflows.KindImplement:
		r.dispatch()
	case phase.Kind == workflows.KindFix && r.s.SubplanStatus[orchestrator.FixTask] == orchestrator.SubplanDone:
		delete(r.s.SubplanStatus, orchestrator.FixTask)
		r.lastEvent(orchestrator.LastImplemented)
		r.follow("completed", orchestrator.LastImplemented)
	case phase.Kind == workflows.KindComplete:
		r.completion.nextStep()
	case phase.Kind == workflows.KindTeam:
		r.team.advance()
	}
}
