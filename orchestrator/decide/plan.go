package decide

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// plan is the accepted plan and how far its subplans are: started, submitted, merged. Which step
// follows is decided by [reducer.proceed].
type plan struct {
	*queue
	clock      *clock
	crew       *crew
	mail       *mailbox
	workspaces *workspaces
	outcome    *outcome
}

func (p *plan) set(a *orchestrator.Artifact) {
	s := p.s
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

// renewFiles removes what an earlier plan derived and derives anew.
func (p *plan) renewFiles(phase workflows.Phase, hash string, before int) {
	var gone []string
	for i := p.s.SubplanCount + 1; i <= before; i++ {
		gone = append(gone, path.Join(phase.Dir, fmt.Sprintf("plan_%d.md", i)), path.Join(phase.Dir, fmt.Sprintf("tasks_%d.md", i)))
	}
	gone = append(gone, p.markers(max(before, p.s.SubplanCount))...)
	removed := p.effect(orchestrator.EffRemoveFiles, "plan files@"+fmt.Sprint(p.s.Visit), orchestrator.Args{Paths: gone, Visit: p.s.Visit})
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
// before is done: nobody is started, nothing is integrated.
func (p *plan) startSubplan(id string) {
	p.s.SubplanStatus[id] = orchestrator.SubplanRunning
	p.event(orchestrator.SubplanStartedRecord{ID: id, Title: p.s.Schedule.Titles[id]})
	if p.s.Seen[observed(orchestrator.ObserveMarker, id)] != "" {
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
			Material: orchestrator.MaterialConflict, Path: diff, Task: id, Base: p.s.Workspaces[id].Base,
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

// integrate asks for the merge of what an agent left in its workspace.
func (p *plan) integrate(o OwedAgent, id string) {
	a := p.s.Agents[o.Key()]
	p.crew.stop(o.Key())
	p.crew.forget(o.Key())
	owned := p.s.Schedule.Owned[id]
	if strings.HasPrefix(o.Task, "resolve-") {
		owned = append(slices.Clone(owned), p.s.Conflicts[id]...)
	}
	after := p.workspaces.stopsIn(o.Workspace)
	if made := p.workspaces.making(o.Workspace); made != "" {
		after = append(after, made)
	}
	w := p.s.Workspaces[o.Workspace]
	p.effect(orchestrator.EffIntegrate, "integrate", orchestrator.Args{
		Launch: string(a.LastLaunch), Role: o.Role, Task: id, Workspace: o.Workspace, Dir: w.Path, Base: w.Base,
		Owned: owned, Strict: p.s.Settings.ScopePolicy == "fail", Date: p.now,
	}, after...)
}

func (p *plan) integrateAgain(o OwedAgent, id string) {
	open := p.pending(func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffIntegrate && e.Args.Task == id })
	if len(open) == 0 {
		p.integrate(o, id)
	}
}

func (p *plan) reissueIntegrate(phase workflows.Phase) {
	for _, id := range slices.Sorted(maps.Keys(p.s.SubplanStatus)) {
		if p.s.SubplanStatus[id] == orchestrator.SubplanSubmitted {
			p.integrateAgain(p.submittedCoder(phase, id), id)
		}
	}
}

// submittedCoder returns the agent that submitted a subplan.
func (p *plan) submittedCoder(phase workflows.Phase, id string) OwedAgent {
	o := OwedAgent{Role: phase.Role, Task: id, Workspace: orchestrator.WorkspaceSession}
	if p.s.GroupMode == "parallel" {
		o.Workspace = id
	}
	if len(p.s.Conflicts[id]) > 0 {
		o.Task, o.Workspace = resolveTask(id), resolveTask(id)
	}
	return o
}

func (p *plan) scopeViolation(id string, paths []orchestrator.ScopePath) {
	p.event(orchestrator.ScopeViolationRecord{ID: id, Policy: p.s.Settings.ScopePolicy, Paths: paths})
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
func (p *plan) outOfScope(e orchestrator.Effect, paths []orchestrator.ScopePath) {
	id := e.Args.Task
	p.reopen(id)
	if p.count("scope/"+id) > 1 {
		p.outcome.park(orchestrator.ReasonScope, "subplan "+id+" changed files it does not own: "+namesOf(paths), "resume to let it try again, or say what to change")
		return
	}
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, "- `%s`\n", p.Path)
	}
	for _, o := range Owed(p.def, p.s) {
		if o.Role == e.Args.Role && o.Workspace == e.Args.Workspace {
			p.mail.send(o.Key(), orchestrator.Message{From: systemAddress, Type: "update", Headline: "you changed files outside of your subplan"},
				"Your work was not taken, because it changes paths that your subplan does not own. Undo these changes, then submit again:\n\n"+b.String())
			p.crew.launch(o, true)
		}
	}
}

// unresolved sends work that cannot be merged to a person. A resume starts its
// agent again, in a workspace at the integrated commit.
func (p *plan) unresolved(e orchestrator.Effect, text string) {
	id := e.Args.Task
	p.reopen(id)
	p.workspaces.close(e.Args.Workspace)
	p.outcome.park(orchestrator.ReasonMergeUnresolved, text, "resume to try again, or say what to change")
}

// loseWorkspaces forgets workspaces that are gone, so that whoever works there next gets one at the
// integrated commit, and records whose files went with them. A submission that was not merged
// went, too: it is to be made again.
func (p *plan) loseWorkspaces(names []string) {
	for _, name := range names {
		w, ok := p.s.Workspaces[name]
		if !ok {
			continue
		}
		agents, undone := []string{}, []string{}
		for _, key := range slices.Sorted(maps.Keys(p.s.Agents)) {
			role, task := orchestrator.SplitKey(key)
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
				o := p.submittedCoder(phase, id)
				if id == orchestrator.FixTask {
					o.Workspace = orchestrator.WorkspaceSession
				}
				if p.s.SubplanStatus[id] == orchestrator.SubplanSubmitted && o.Workspace == name && !slices.Contains(undone, id) {
					undone = append(undone, id)
				}
			}
		}
		p.dropPending(func(e orchestrator.Effect) bool {
			return e.Args.Workspace == name && e.Type != orchestrator.EffStopAgent
		})
		delete(p.s.Workspaces, name)
		for _, id := range undone {
			p.reopen(id)
		}
		p.event(orchestrator.WorkspaceLostRecord{
			Workspace: name, Base: w.Base, Agents: agents, Again: undone, From: p.s.Integrated.Commit,
		})
	}
}
