package orchestrator

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/workflows"
)

// applyPlan takes a plan: everything an earlier plan left is reset, derived
// files are renewed, and the plan gate opens where one is configured.
func (r *reducer) applyPlan(c Call) {
	a := r.artifact()
	if a == nil || a.Plan == nil {
		r.ignore(c, "no plan came with the submission")
		return
	}
	phase, _ := r.phase()
	r.accept(a, phase.Role)
	r.stop(phase.Role)
	before := r.s.SubplanCount
	r.setPlan(a)
	r.renewPlanFiles(phase, a.SHA256, before)
	r.event(EvSchedule, map[string]any{
		"groups": r.s.Schedule.Groups, "subplans": r.s.SubplanCount, "needs_design": r.s.Schedule.NeedsDesign,
	})
	if r.s.Settings.ApprovePlan {
		r.openGate(GatePlan)
		return
	}
	r.leavePlan()
}

func (r *reducer) leavePlan() {
	r.last(LastPlanWritten)
	r.follow("accepted", LastPlanWritten)
}

func (r *reducer) setPlan(a *Artifact) {
	s := r.s
	s.PlanSHA256, s.Schedule = a.SHA256, scheduleOf(a.Plan)
	s.SubplanCount, s.SubplanStatus, s.Conflicts = 0, map[string]string{}, map[string][]string{}
	for _, group := range s.Schedule.Groups {
		for _, id := range group.Plans {
			s.SubplanStatus[id] = SubplanPending
			s.SubplanCount++
		}
	}
	s.CompletedSubplans, s.ActivePlanIDs, s.CompletedGroups = []string{}, []string{}, []string{}
	s.GroupTotal, s.GroupIndex, s.GroupMode = len(s.Schedule.Groups), 0, ""
	s.ReviewIteration, s.ReviewExhausted, s.AwaitingSummary = 0, false, false
	s.ActiveReviews, s.ReviewResults = map[string]string{}, map[string]ReviewResult{}
	s.ChangeRequest = ""
	s.Completion = Completion{PRNumber: s.Completion.PRNumber, PRURL: s.Completion.PRURL}
}

// scheduleOf keeps of a plan what the reducer decides by.
func scheduleOf(p *workflows.Plan) *Schedule {
	out := &Schedule{NeedsDesign: p.NeedsDesign, Owned: map[string][]string{}, Titles: map[string]string{}}
	for _, group := range p.Groups {
		g := Group{ID: group.ID, Mode: group.Mode}
		for _, plan := range group.Plans {
			g.Plans = append(g.Plans, fmt.Sprint(plan.Index))
		}
		out.Groups = append(out.Groups, g)
	}
	for _, sub := range p.Subplans {
		id := fmt.Sprint(sub.Index)
		out.Owned[id], out.Titles[id] = sub.OwnedFiles, sub.Title
	}
	return out
}

// renewPlanFiles removes what an earlier plan derived and derives anew.
func (r *reducer) renewPlanFiles(phase workflows.Phase, hash string, before int) {
	var gone []string
	for i := r.s.SubplanCount + 1; i <= before; i++ {
		gone = append(gone, path.Join(phase.Dir, fmt.Sprintf("plan_%d.md", i)), path.Join(phase.Dir, fmt.Sprintf("tasks_%d.md", i)))
	}
	gone = append(gone, r.markers(max(before, r.s.SubplanCount))...)
	removed := r.effect(EffRemoveFiles, "plan files@"+fmt.Sprint(r.s.Visit), Args{Paths: gone, Visit: r.s.Visit})
	r.effect(EffMaterialise, phase.Dir+"@"+hash, Args{Material: MaterialPlan, Path: phase.Dir, Sources: map[string]string{"plan": hash}}, removed)
}

// markers lists the done markers of the first n subplans.
func (r *reducer) markers(n int) []string {
	var paths []string
	for i := 1; i <= n; i++ {
		paths = append(paths, r.marker(fmt.Sprint(i)))
	}
	return paths
}

func (r *reducer) marker(id string) string {
	return path.Join(dirOf(r.def, workflows.KindImplement), "done_"+id)
}

func (r *reducer) enterImplement(workflows.Phase) {
	if r.s.Integrated.Commit == "" {
		r.s.Integrated.Commit = r.s.BaseSHA
	}
	r.nextGroup()
}

// nextGroup activates the first group that is not complete, or leaves the phase.
func (r *reducer) nextGroup() {
	for i, group := range r.s.Schedule.Groups {
		if slices.Contains(r.s.CompletedGroups, group.ID) {
			continue
		}
		r.s.GroupIndex, r.s.GroupMode = i+1, Optional(group.Mode)
		r.event(EvGroupStarted, map[string]any{
			"group_id": group.ID, "index": i + 1, "total": r.s.GroupTotal, "mode": group.Mode, "plans": group.Plans,
		})
		r.dispatch()
		return
	}
	r.s.GroupIndex, r.s.GroupMode = r.s.GroupTotal, ""
	r.last(LastImplemented)
	r.follow("completed", LastImplemented)
}

func (r *reducer) group() Group { return r.s.Schedule.Groups[r.s.GroupIndex-1] }

// dispatch starts what the active group may run now, and closes the group when
// nothing is left.
func (r *reducer) dispatch() {
	group := r.group()
	limit := 1
	if group.Mode == "parallel" {
		limit = max(1, r.s.Settings.Parallel)
	}
	for _, id := range group.Plans {
		if len(r.s.ActivePlanIDs) >= limit {
			return
		}
		if r.s.SubplanStatus[id] == SubplanPending {
			r.startSubplan(id)
		}
	}
	if len(r.s.ActivePlanIDs) > 0 || r.resolveNext(group) {
		return
	}
	r.s.CompletedGroups = append(r.s.CompletedGroups, group.ID)
	r.s.GroupMode = ""
	r.event(EvGroupDone, map[string]any{
		"group_id": group.ID, "index": r.s.GroupIndex, "total": r.s.GroupTotal, "mode": group.Mode, "plans": group.Plans,
	})
	r.nextGroup()
}

func (r *reducer) startSubplan(id string) {
	r.s.SubplanStatus[id] = SubplanRunning
	r.s.ActivePlanIDs = append(r.s.ActivePlanIDs, id)
	r.event(EvSubplanStarted, map[string]any{"id": id, "title": r.s.Schedule.Titles[id]})
	r.launchOwed()
}

// resolveNext sends the next coder whose work conflicted to bring it in by
// hand; one at a time, so that a second conflict cannot occur.
func (r *reducer) resolveNext(group Group) bool {
	for _, id := range group.Plans {
		if r.s.SubplanStatus[id] != SubplanConflict {
			continue
		}
		r.s.SubplanStatus[id] = SubplanRunning
		r.s.ActivePlanIDs = append(r.s.ActivePlanIDs, id)
		phase, _ := r.phase()
		diff := path.Join(phase.Dir, "conflict_"+id+".diff")
		r.effect(EffRemoveFiles, r.marker(id), Args{Paths: []string{r.marker(id)}, Visit: r.s.Visit})
		r.effect(EffMaterialise, diff, Args{
			Material: MaterialConflict, Path: diff, Task: id, Base: r.s.Workspaces[id].Base,
		}, r.pending(func(e Effect) bool { return e.Type == EffPreserve })...)
		r.launchOwed()
		return true
	}
	return false
}

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
	r.s.SubplanStatus[id] = SubplanSubmitted
	r.armPhase(phase)
	r.effect(EffWriteMarker, r.marker(id), Args{Path: r.marker(id)})
	r.integrate(o, id)
}

// integrate asks for the merge of what an agent left in its workspace.
func (r *reducer) integrate(o OwedAgent, id string) {
	a := r.s.Agents[o.Key()]
	r.stop(o.Key())
	owned := r.s.Schedule.Owned[id]
	if strings.HasPrefix(o.Task, "resolve-") {
		owned = append(slices.Clone(owned), r.s.Conflicts[id]...)
	}
	w := r.s.Workspaces[o.Workspace]
	r.effect(EffIntegrate, "integrate", Args{
		Launch: string(a.LastLaunch), Role: o.Role, Task: id, Workspace: o.Workspace, Dir: w.Path, Base: w.Base,
		Owned: owned, Strict: r.s.Settings.ScopePolicy == "fail", Date: r.now,
	}, append(r.stopsIn(o.Workspace), r.pending(func(e Effect) bool {
		return e.Type == EffEnsureWorkspace && e.Args.Workspace == o.Workspace
	})...)...)
}

// integrated decides what the result of a merge leads to.
func (r *reducer) integrated(e Effect, res Result) {
	id := e.Args.Task
	resolved := e.Args.Workspace == resolveTask(id)
	switch {
	case len(res.Scope) > 0 && e.Args.Strict:
		r.scopeViolation(id, res.Scope)
		r.outOfScope(id)
		return
	case len(res.Conflicts) > 0:
		r.conflict(e, res)
		return
	case res.Empty && resolved:
		r.subplanBack(id, SubplanConflict)
		r.park(ReasonMergeUnresolved, "the conflict of subplan "+id+" was not resolved", "resume to try again, or say what to change")
		return
	}
	if len(res.Scope) > 0 && !resolved {
		r.scopeViolation(id, res.Scope)
	}
	r.headMoved(e, res)
	if id == FixTask {
		r.fixDone(res)
		return
	}
	r.subplanDone(id, res)
}

// headMoved remembers the merged commit, and that the workspace's content is
// the integrated tree where it is.
func (r *reducer) headMoved(e Effect, res Result) {
	r.s.Integrated = Integrated{Commit: res.Commit, Tree: res.Tree}
	w := r.s.Workspaces[e.Args.Workspace]
	w.Snapshot = Optional(res.Snapshot)
	if res.Snapshot == res.Tree {
		w.Base = res.Commit
	}
	r.s.Workspaces[e.Args.Workspace] = w
}

func (r *reducer) subplanDone(id string, res Result) {
	r.s.SubplanStatus[id] = SubplanDone
	delete(r.s.Conflicts, id)
	r.s.CompletedSubplans = append(r.s.CompletedSubplans, id)
	r.s.ActivePlanIDs = without(r.s.ActivePlanIDs, id)
	r.event(EvSubplanDone, map[string]any{"id": id, "commit": res.Commit, "files": res.Files})
	r.dispatch()
}

func without(items []string, item string) []string {
	return slices.DeleteFunc(items, func(s string) bool { return s == item })
}

func (r *reducer) conflict(e Effect, res Result) {
	id := e.Args.Task
	r.s.Conflicts[id] = res.Conflicts
	r.event(EvMergeConflict, map[string]any{"id": id, "paths": res.Conflicts, "task": resolveTask(id)})
	r.effect(EffPreserve, id+"@"+fmt.Sprint(r.s.Visit), Args{
		Task: id, Workspace: e.Args.Workspace, Dir: e.Args.Dir, Base: e.Args.Base, Launch: e.Args.Launch, Date: r.now,
	}, r.stopsIn(e.Args.Workspace)...)
	r.subplanBack(id, SubplanConflict)
	r.dispatch()
}

// subplanBack takes a subplan out of the active ones with a status.
func (r *reducer) subplanBack(id, status string) {
	r.s.SubplanStatus[id] = status
	r.s.ActivePlanIDs = without(r.s.ActivePlanIDs, id)
	r.changed = true
}

func (r *reducer) scopeViolation(id string, paths []ScopePath) {
	r.event(EvScopeViolation, map[string]any{"id": id, "policy": r.s.Settings.ScopePolicy, "paths": paths})
}

// outOfScope sends a coder back once, then asks a person.
func (r *reducer) outOfScope(id string) {
	if r.count("scope/"+id) > 1 {
		r.subplanBack(id, SubplanPending)
		r.park(ReasonScope, "subplan "+id+" changed files it does not own", "resume to let it try again, or say what to change")
		return
	}
	r.s.SubplanStatus[id] = SubplanRunning
	r.effect(EffRemoveFiles, r.marker(id), Args{Paths: []string{r.marker(id)}, Visit: r.s.Visit})
	r.launchOwed()
}

func (r *reducer) enterFix(workflows.Phase) {
	r.s.SubplanStatus[FixTask] = SubplanRunning
	r.effect(EffRemoveFiles, "markers@"+fmt.Sprint(r.s.Visit), Args{Paths: r.markers(max(1, r.s.SubplanCount)), Visit: r.s.Visit})
	r.launchOwed()
}

func (r *reducer) fixSubmitted() {
	phase, _ := r.phase()
	o := fixer(r.def, r.s, phase)
	r.s.SubplanStatus[FixTask] = SubplanSubmitted
	r.effect(EffWriteMarker, r.marker("1"), Args{Path: r.marker("1")})
	r.integrate(o[0], FixTask)
}

func (r *reducer) fixDone(Result) {
	delete(r.s.SubplanStatus, FixTask)
	r.last(LastImplemented)
	r.follow("completed", LastImplemented)
}
