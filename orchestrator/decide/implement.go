package decide

import (
	"fmt"
	"path"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// applyPlan takes a plan: everything an earlier plan left is reset, derived
// files are renewed, and the plan gate opens where one is configured.
func (r *reducer) applyPlan(Call) {
	a := r.artifact()
	phase, _ := r.phase()
	r.accept(a, phase.Role)
	r.stop(phase.Role)
	before := r.s.SubplanCount
	r.setPlan(a)
	r.renewPlanFiles(phase, a.SHA256, before)
	r.event(orchestrator.ScheduleRecord{
		Groups: r.s.Schedule.Groups, Subplans: r.s.SubplanCount, NeedsDesign: r.s.Schedule.NeedsDesign,
	})
	if r.s.Settings.ApprovePlan || phase.Gate {
		r.openGate(orchestrator.GatePlan, orchestrator.GatePlanned)
		return
	}
	r.leavePlan()
}

func (r *reducer) leavePlan() {
	r.last(orchestrator.LastPlanWritten)
	r.follow("accepted", orchestrator.LastPlanWritten)
}

// dropPlan forgets the plan that a change request replaces: what it finished is in
// the base of the next one, and its verdicts say nothing about that.
func (r *reducer) dropPlan() {
	s := r.s
	s.Schedule, s.SubplanStatus, s.Conflicts = nil, map[string]string{}, map[string][]string{}
	s.CompletedSubplans, s.ActivePlanIDs, s.CompletedGroups = []string{}, []string{}, []string{}
	s.GroupTotal, s.GroupIndex, s.GroupMode = 0, 0, ""
	s.ActiveReviews, s.ReviewResults = map[string]string{}, map[string]orchestrator.ReviewResult{}
	s.AwaitingSummary = false
}

func (r *reducer) setPlan(a *orchestrator.Artifact) {
	s := r.s
	s.PlanSHA256, s.Schedule = a.SHA256, scheduleOf(a.Plan)
	s.SubplanCount, s.SubplanStatus, s.Conflicts = 0, map[string]string{}, map[string][]string{}
	for _, group := range s.Schedule.Groups {
		for _, id := range group.Plans {
			s.SubplanStatus[id] = orchestrator.SubplanPending
			s.SubplanCount++
		}
	}
	s.CompletedSubplans, s.ActivePlanIDs, s.CompletedGroups = []string{}, []string{}, []string{}
	s.GroupTotal, s.GroupIndex, s.GroupMode = len(s.Schedule.Groups), 0, ""
	s.ReviewIteration, s.ReviewExhausted, s.AwaitingSummary = 0, false, false
	s.ActiveReviews, s.ReviewResults = map[string]string{}, map[string]orchestrator.ReviewResult{}
	s.ChangeRequest = ""
	// The branch stays where it is: another request for changes takes over what people put on it.
	s.Completion = orchestrator.Completion{Pushed: s.Completion.Pushed, PRNumber: s.Completion.PRNumber, PRURL: s.Completion.PRURL}
}

// scheduleOf keeps of a plan what the reducer decides by.
func scheduleOf(p *artifact.Plan) *orchestrator.Schedule {
	out := &orchestrator.Schedule{NeedsDesign: p.NeedsDesign, Owned: map[string][]string{}, Titles: map[string]string{}}
	for _, group := range p.Groups {
		g := orchestrator.Group{ID: group.ID, Mode: group.Mode}
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
	removed := r.effect(orchestrator.EffRemoveFiles, "plan files@"+fmt.Sprint(r.s.Visit), orchestrator.Args{Paths: gone, Visit: r.s.Visit})
	r.effect(orchestrator.EffMaterialise, phase.Dir+"@"+hash, orchestrator.Args{Material: orchestrator.MaterialPlan, Path: phase.Dir, Sources: map[string]string{"plan": hash}}, removed)
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

func (r *reducer) enterImplement(workflows.Phase) { r.nextGroup() }

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
	r.last(orchestrator.LastImplemented)
	r.follow("completed", orchestrator.LastImplemented)
}

func (r *reducer) group() orchestrator.Group { return r.s.Schedule.Groups[r.s.GroupIndex-1] }

// dispatch starts what the active group may run now, and closes the group when
// nothing is left. A paused session starts nothing and goes on from here later.
func (r *reducer) dispatch() {
	if r.s.Paused || r.s.Ended() {
		return
	}
	group := r.group()
	limit := 1
	if group.Mode == "parallel" {
		limit = max(1, r.s.Settings.Parallel)
	}
	for _, id := range group.Plans {
		if len(r.s.ActivePlanIDs) >= limit {
			return
		}
		if r.s.SubplanStatus[id] == orchestrator.SubplanPending {
			r.startSubplan(id)
		}
	}
	if len(r.s.ActivePlanIDs) > 0 || r.resolveNext(group) {
		return
	}
	r.s.CompletedGroups = append(r.s.CompletedGroups, group.ID)
	r.s.GroupMode = ""
	r.event(orchestrator.GroupDoneRecord{
		GroupID: group.ID, Index: r.s.GroupIndex, Total: r.s.GroupTotal, Mode: group.Mode, Plans: group.Plans,
	})
	r.nextGroup()
}

// startSubplan starts the coder of a subplan. One that a person marked as done
// before is done: nobody is started, nothing is integrated.
func (r *reducer) startSubplan(id string) {
	r.s.SubplanStatus[id] = orchestrator.SubplanRunning
	r.event(orchestrator.SubplanStartedRecord{ID: id, Title: r.s.Schedule.Titles[id]})
	if r.s.Seen[observed(orchestrator.ObserveMarker, id)] != "" {
		r.finishSubplan(id, orchestrator.Result{Commit: r.s.Integrated.Commit})
		return
	}
	r.s.ActivePlanIDs = append(r.s.ActivePlanIDs, id)
	r.launchOwed()
}

// resolveNext sends the next coder whose work conflicted to bring it in by
// hand; one at a time, so that a second conflict cannot occur.
func (r *reducer) resolveNext(group orchestrator.Group) bool {
	for _, id := range group.Plans {
		if r.s.SubplanStatus[id] != orchestrator.SubplanConflict {
			continue
		}
		r.s.SubplanStatus[id] = orchestrator.SubplanRunning
		r.s.ActivePlanIDs = append(r.s.ActivePlanIDs, id)
		phase, _ := r.phase()
		diff := path.Join(phase.Dir, "conflict_"+id+".diff")
		r.effect(orchestrator.EffRemoveFiles, r.marker(id), orchestrator.Args{Paths: []string{r.marker(id)}, Visit: r.s.Visit})
		r.effect(orchestrator.EffMaterialise, diff, orchestrator.Args{
			Material: orchestrator.MaterialConflict, Path: diff, Task: id, Base: r.s.Workspaces[id].Base,
		}, r.pending(func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffPreserve })...)
		r.launchOwed()
		return true
	}
	return false
}

func (r *reducer) enterFix(workflows.Phase) {
	r.s.SubplanStatus[orchestrator.FixTask] = orchestrator.SubplanRunning
	r.effect(orchestrator.EffRemoveFiles, "markers@"+fmt.Sprint(r.s.Visit), orchestrator.Args{Paths: r.markers(max(1, r.s.SubplanCount)), Visit: r.s.Visit})
	r.launchOwed()
}

func (r *reducer) fixSubmitted() {
	phase, _ := r.phase()
	o := fixer(r.def, r.s, phase)
	r.s.SubplanStatus[orchestrator.FixTask] = orchestrator.SubplanSubmitted
	r.armPhase(phase)
	r.effect(orchestrator.EffWriteMarker, r.marker("1"), orchestrator.Args{Path: r.marker("1")})
	if _, made := r.s.Workspaces[orchestrator.WorkspaceSession]; !made {
		r.stop(o[0].Key())
		r.s.SubplanStatus[orchestrator.FixTask] = orchestrator.SubplanDone
		r.proceed()
		return
	}
	r.integrate(o[0], orchestrator.FixTask)
}
