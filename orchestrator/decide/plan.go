package decide

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/workflows"
)

// plan is the accepted plan and how far its subplans are: started, submitted, merged. Which step
// follows is decided by [reducer.proceed].
type plan struct {
	*queue
	clock      *clock
	crew       *crew
	mail       *post.Office
	workspaces *workspaces
	outcome    *outcome
}

func (p *plan) set(a *orchestrator.Artifact) {
	s := p.s
	s.PlanSHA256, s.Schedule = a.SHA256, duty.ScheduleOf(a.Plan)
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
	s.Completion = orchestrator.Completion{Pushed: s.Completion.Pushed, PRNumber: s.Completion.PRNumber, PRURL: s.Completion.PRURL, Open: s.Completion.Open}
}

// drop forgets the plan that a change request replaces: what it finished is in
// the base of the next one, and its verdicts say nothing about that.
func (p *plan) drop() {
	s := p.s
	s.Schedule, s.SubplanStatus, s.Conflicts = nil, map[string]string{}, map[string][]string{}
	s.CompletedSubplans, s.ActivePlanIDs, s.CompletedGroups = []string{}, []string{}, []string{}
	s.GroupTotal, s.GroupIndex, s.GroupMode = 0, 0, ""
	s.ActiveReviews, s.ReviewResults = map[string]string{}, map[string]orchestrator.ReviewResult{}
	s.AwaitingSummary = false
}

// renewFiles removes what an earlier plan derived and derives it from this one.
func (p *plan) renewFiles(phase workflows.Phase, hash string, before int) {
	var derived []string
	for i := p.s.SubplanCount + 1; i <= before; i++ {
		derived = append(derived, path.Join(phase.Dir, fmt.Sprintf("plan_%d.md", i)), path.Join(phase.Dir, fmt.Sprintf("tasks_%d.md", i)))
	}
	derived = append(derived, p.markers(max(before, p.s.SubplanCount))...)
	removed := p.effect(orchestrator.EffRemoveFiles, "plan files@"+fmt.Sprint(p.s.Visit), orchestrator.Args{Paths: derived, Visit: p.s.Visit})
	p.effect(orchestrator.EffMaterialise, phase.Dir+"@"+hash, orchestrator.Args{Material: orchestrator.MaterialPlan, Path: phase.Dir, Sources: map[string]string{"plan": hash}}, removed)
}

// enter starts the planner; in a change round after a push, on what people have
// put on the branch since.
func (p *plan) enter(workflows.Phase) {
	if p.s.Completion.Pushed {
		p.effect(orchestrator.EffAdopt, "adopt@"+p.round(), orchestrator.Args{
			Branch: p.s.FeatureBranch, Commit: p.s.Integrated.Commit, Base: p.s.BaseSHA, Round: p.s.ChangeRound, Date: p.now,
		})
		return
	}
	p.crew.launchOwed()
}

func (p *plan) enterFix(workflows.Phase) {
	p.s.SubplanStatus[orchestrator.FixTask] = orchestrator.SubplanRunning
	p.effect(orchestrator.EffRemoveFiles, "markers@"+fmt.Sprint(p.s.Visit), orchestrator.Args{Paths: p.markers(max(1, p.s.SubplanCount)), Visit: p.s.Visit})
	p.crew.launchOwed()
}

func (p *plan) group() orchestrator.Group { return p.s.Schedule.Groups[p.s.GroupIndex-1] }

// startSubplan starts the coder of a subplan. One that a person marked as done
// before is done: no agent is started, nothing is integrated.
func (p *plan) startSubplan(id string) {
	p.s.SubplanStatus[id] = orchestrator.SubplanRunning
	p.event(orchestrator.SubplanStartedRecord{ID: id, Title: p.s.Schedule.Titles[id]})
	if p.s.Seen[duty.Observed(orchestrator.ObserveMarker, id)] != "" {
		p.finish(id, orchestrator.Result{Commit: p.s.Integrated.Commit})
		return
	}
	p.s.ActivePlanIDs = append(p.s.ActivePlanIDs, id)
	p.crew.launchOwed()
}

// resolveNext sends the next coder whose work conflicted to bring it in by
// hand; one at a time, so that a second conflict cannot occur.
func (p *plan) resolveNext(group orchestrator.Group) bool {
	for _, id := range group.Plans {
		if p.s.SubplanStatus[id] != orchestrator.SubplanConflict {
			continue
		}
		p.s.SubplanStatus[id] = orchestrator.SubplanRunning
		p.s.ActivePlanIDs = append(p.s.ActivePlanIDs, id)
		phase, _ := p.phase()
		diff := path.Join(phase.Dir, "conflict_"+id+".diff")
		p.effect(orchestrator.EffRemoveFiles, p.marker(id), orchestrator.Args{Paths: []string{p.marker(id)}, Visit: p.s.Visit})
		p.effect(orchestrator.EffMaterialise, diff, orchestrator.Args{
			Material: orchestrator.MaterialConflict, Path: diff, Task: id,
			Base: cmp.Or(p.s.Workspaces[duty.Work(p.s, id)].Base, p.s.Workspaces[id].Base),
		}, p.pending(func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffPreserve })...)
		p.crew.launchOwed()
		return true
	}
	return false
}

func (p *plan) finish(id string, res orchestrator.Result) {
	p.s.SubplanStatus[id] = orchestrator.SubplanDone
	if id == orchestrator.FixTask {
		return
	}
	delete(p.s.Conflicts, id)
	p.s.CompletedSubplans = append(p.s.CompletedSubplans, id)
	p.s.ActivePlanIDs = without(p.s.ActivePlanIDs, id)
	p.event(orchestrator.SubplanDoneRecord{ID: id, Commit: res.Commit, Files: res.Files})
}

func without(items []string, item string) []string {
	return slices.DeleteFunc(items, func(s string) bool { return s == item })
}

// reopen makes a submitted subplan, or the fix, one that is still to be done.
func (p *plan) reopen(id string) {
	p.s.SubplanStatus[id] = orchestrator.SubplanRunning
	if id == orchestrator.FixTask {
		id = "1"
	}
	p.effect(orchestrator.EffRemoveFiles, p.marker(id), orchestrator.Args{Paths: []string{p.marker(id)}, Visit: p.s.Visit})
}

// handIn takes the work of a task and asks for its merge. snap is nil while the workspace is
// not made: then what stands in it at the end of its agent counts.
func (p *plan) handIn(o duty.Agent, id string, snap *orchestrator.Snapshot) {
	if snap == nil {
		snap = &orchestrator.Snapshot{}
	}
	p.crew.leave(o.Key(), snap.Tree, duty.Warnings(snap))
	p.workspaces.submitted(o.Workspace, snap.Tree)
	p.integrate(o, id, snap)
}

// integrate asks for the merge of submitted work.
func (p *plan) integrate(o duty.Agent, id string, snap *orchestrator.Snapshot) {
	w := p.s.Workspaces[o.Workspace]
	args := orchestrator.Args{
		Launch: p.s.Agents[o.Key()].LastLaunch, Role: o.Role, Task: id, Workspace: o.Workspace, Dir: w.Path, Base: w.Base,
		Tree: snap.Tree, Left: snap.Left, Owned: duty.OwnedFiles(p.s, o, id), Date: p.now,
	}
	after := p.workspaces.stopsBefore(args)
	if args.Tree == "" {
		args.Strict = p.s.Settings.ScopePolicy == "fail"
		after = append(after, p.workspaces.making(o.Workspace))
	}
	p.effect(orchestrator.EffIntegrate, "integrate", args, after...)
}

// integrateAgain asks again for a merge that the end of the session dropped.
func (p *plan) integrateAgain(o duty.Agent, id string) {
	open := p.pending(func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffIntegrate && e.Args.Task == id })
	if len(open) > 0 {
		return
	}
	snap := &orchestrator.Snapshot{}
	if _, _, owned := duty.OfVisit(o.Workspace); owned { // else an earlier version took it, after an earlier task
		snap.Tree = string(p.s.Workspaces[o.Workspace].Snapshot)
	}
	p.integrate(o, id, snap)
}

func (p *plan) reissueIntegrate(phase workflows.Phase) {
	for _, id := range slices.Sorted(maps.Keys(p.s.SubplanStatus)) {
		if p.s.SubplanStatus[id] == orchestrator.SubplanSubmitted {
			p.integrateAgain(p.submitter(phase, id), id)
		}
	}
}

// submitter returns the agent that has submitted a task.
func (p *plan) submitter(phase workflows.Phase, id string) duty.Agent {
	o := duty.Agent{Role: phase.Role, Task: id}
	switch {
	case id == orchestrator.FixTask:
		o.Task = ""
	case len(p.s.Conflicts[id]) > 0:
		o.Task = duty.ResolveTask(id)
	}
	o.Workspace = p.workspaces.of(o.Role, o.Task)
	return o
}

func (p *plan) scopeViolation(id string, paths []orchestrator.ScopePath) {
	p.event(orchestrator.ScopeViolationRecord{ID: id, Policy: p.s.Settings.ScopePolicy, Paths: paths})
}

// outOfScope sends a coder back once with the list, then asks a person: for work of which no
// snapshot was taken at its submission.
func (p *plan) outOfScope(e orchestrator.Effect, paths []orchestrator.ScopePath) {
	id := e.Args.Task
	p.reopen(id)
	if p.count("scope/"+id) > 1 {
		p.parkScope(id, paths)
		return
	}
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, "- `%s`\n", p.Path)
	}
	for _, o := range duty.Owed(p.def, p.s) {
		if o.Role == e.Args.Role && o.Workspace == e.Args.Workspace {
			p.mail.Send(o.Key(), orchestrator.Message{From: post.System, Type: "update", Headline: "you changed files outside of your subplan"},
				"Your work was not taken, because it changes paths that your subplan does not own. Undo these changes, then submit again:\n\n"+b.String())
			p.crew.launch(o, true)
		}
	}
}

func (p *plan) parkScope(id string, paths []orchestrator.ScopePath) {
	p.outcome.park(orchestrator.ReasonScope, "subplan "+id+" changed files it does not own: "+duty.PathNames(paths), "resume to let it try again, or say what to change")
}

// unresolved sends work that cannot be merged to a person. A resume starts its
// agent again, in a workspace at the integrated commit.
func (p *plan) unresolved(e orchestrator.Effect, text string) {
	id := e.Args.Task
	p.reopen(id)
	if e.Args.Tree != "" {
		p.effect(orchestrator.EffPreserve, id+"@"+fmt.Sprint(p.s.Visit), orchestrator.Args{
			Task: id, Workspace: e.Args.Workspace, Base: e.Args.Base, Tree: e.Args.Tree, Launch: e.Args.Launch, Date: p.now,
		})
	}
	p.workspaces.close(e.Args.Workspace)
	p.outcome.park(orchestrator.ReasonMergeUnresolved, text, "resume to try again, or say what to change")
}

// loseWorkspaces forgets workspaces whose directories are missing, and records whose files were
// lost with them. The next agent there gets one at the integrated commit. A submission that was
// not merged is lost, too: it is to be made again.
func (p *plan) loseWorkspaces(names []string) {
	for _, name := range names {
		w, ok := p.s.Workspaces[name]
		if !ok {
			continue
		}
		if _, _, owned := duty.OfVisit(name); owned && w.Snapshot != "" { // the store has what was submitted
			w.Path = ""
			p.s.Workspaces[name] = w
			continue
		}
		agents, undone := []orchestrator.AgentKey{}, []string{}
		for _, key := range slices.Sorted(maps.Keys(p.s.Agents)) {
			role, task := key.Split()
			if a := p.s.Agents[key]; p.workspaces.of(role, task) == name && (a.Launch != "" || a.LastLaunch != "") {
				agents = append(agents, key)
				if a.Launch != "" {
					p.crew.stop(key)
				}
				a = p.s.Agents[key]
				a.CLISession = "" // it remembers files that are not there
				p.s.Agents[key] = a
			}
		}
		for _, e := range p.s.Pending {
			if e.Type == orchestrator.EffIntegrate && e.Args.Workspace == name {
				undone = append(undone, e.Args.Task)
			}
		}
		if phase, ok := p.phase(); ok {
			for _, id := range slices.Sorted(maps.Keys(p.s.SubplanStatus)) {
				o := p.submitter(phase, id)
				if p.s.SubplanStatus[id] == orchestrator.SubplanSubmitted && o.Workspace == name && !slices.Contains(undone, id) {
					undone = append(undone, id)
				}
			}
		}
		p.dropPending(func(e orchestrator.Effect) bool {
			return e.Args.Workspace == name && e.Type != orchestrator.EffStopAgent
		})
		for launch := range p.s.Leaving {
			p.crew.left(launch) // what it wrote late is lost, too
		}
		delete(p.s.Workspaces, name)
		for _, id := range undone {
			p.reopen(id)
		}
		p.event(orchestrator.WorkspaceLostRecord{
			Workspace: name, Base: w.Base, Agents: agents, Again: undone, From: p.s.Integrated.Commit,
		})
	}
}
