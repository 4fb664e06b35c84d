package decide

import (
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// fsPending returns the pending effects that prepare files for agents.
func (r *reducer) fsPending() []string {
	fs := []string{orchestrator.EffEnsureDirs, orchestrator.EffWriteFile, orchestrator.EffWriteMarker, orchestrator.EffMoveAside, orchestrator.EffRemoveFiles, orchestrator.EffMaterialise}
	return r.pending(func(e orchestrator.Effect) bool { return slices.Contains(fs, e.Type) })
}

// launchOwed starts every owed agent that has no launch and waits for nothing.
func (r *reducer) launchOwed() {
	for _, o := range Owed(r.def, r.s) {
		if a := r.s.Agents[o.Key()]; a.Launch == "" && a.Waiting == "" {
			r.launch(o, false)
		}
	}
}

// launch starts an agent. With resume the program goes on with its own session.
// While the session is paused, and after its end, nothing starts: the agent stays
// owed.
func (r *reducer) launch(o OwedAgent, resume bool) {
	if r.s.Paused || r.s.Ended() || r.adopting() && !isResearcher(o.Role) {
		return
	}
	key := o.Key()
	a := r.s.Agents[key]
	if visit, _, _, _, ok := orchestrator.LaunchParts(string(a.LastLaunch)); !ok || visit != r.s.Visit {
		a.Attempt, a.Retries, a.CLISession = 0, 0, ""
		r.s.Agents[key] = a
	}
	if a.Launch != "" {
		r.stop(key)
		a = r.s.Agents[key]
	}
	if a.Attempt > 0 {
		r.removeMarker(o)
	}
	r.disarm("relaunch/" + key)
	if q := hostQuestion(r.s, key); q != nil {
		r.withdraw(q)
	}
	a.Attempt++
	a.Launch = orchestrator.LaunchID(r.s.Visit, o.Role, o.Task, a.Attempt)
	a.LastLaunch = orchestrator.Optional(a.Launch)
	a.Waiting, a.Limited, a.Heard = "", false, r.now
	r.s.Agents[key] = a
	after := append(r.fsPending(), r.workspace(o.Workspace))
	after = append(after, r.pending(func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffStopAgent && orchestrator.AgentKey(e.Args.Role, e.Args.Task) == key
	})...)
	r.effect(orchestrator.EffStartAgent, a.Launch, orchestrator.Args{
		Launch: a.Launch, Role: o.Role, Task: o.Task, Template: o.Template, PromptFile: o.PromptFile,
		Headless: o.Headless, Continue: resume, Since: o.Since, Workspace: o.Workspace, Visit: r.s.Visit,
	}, after...)
	r.deliverQueued(key)
}

// removeMarker takes away the marker of a coder that is started again: only one
// made after this moment counts.
func (r *reducer) removeMarker(o OwedAgent) {
	id := "1"
	switch phase, _ := r.phase(); {
	case phase.Role != o.Role:
		return
	case phase.Kind == workflows.KindImplement:
		id = subplanOf(o.Task)
	case phase.Kind != workflows.KindFix:
		return
	}
	r.effect(orchestrator.EffRemoveFiles, r.marker(id), orchestrator.Args{Paths: []string{r.marker(id)}, Visit: r.s.Visit})
}

// workspace asks for a workspace where there is none that serves, and returns
// the id of the effect, or "".
func (r *reducer) workspace(name string) string {
	have, ok := r.s.Workspaces[name]
	if ok && r.serves(name, have) {
		have.Used = r.s.Visit
		r.s.Workspaces[name] = have
		return r.madeWorkspace(name)
	}
	if ok && isView(name) {
		r.removeWorkspace(name)
	}
	// The removal of a former one may still be pending, and the place may be the same.
	removed := r.pending(func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffRemoveWorkspace && e.Args.Workspace == name
	})
	base := r.s.Integrated.Commit
	r.s.Workspaces[name] = orchestrator.Workspace{Base: base, Visit: r.s.Visit, Used: r.s.Visit}
	return r.effect(orchestrator.EffEnsureWorkspace, name+"@"+base, orchestrator.Args{Workspace: name, Base: base, Visit: r.s.Visit}, removed...)
}

// madeWorkspace returns the id of the effect that makes a workspace we have, or "" if it is
// made. The end of a run drops the effect; whoever goes on asks for it again.
func (r *reducer) madeWorkspace(name string) string {
	w := r.s.Workspaces[name]
	ids := r.pending(func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffEnsureWorkspace && e.Args.Workspace == name
	})
	if len(ids) > 0 || w.Path != "" {
		return strings.Join(ids, "")
	}
	return r.effect(orchestrator.EffEnsureWorkspace, name+"@"+w.Base, orchestrator.Args{Workspace: name, Base: w.Base, Visit: w.Visit})
}

// unusable marks a workspace that no launch may be let in again.
const unusable = -1

// serves reports whether a workspace can be used for the next launch in it: the
// session workspace while its content is the integrated tree or unsubmitted work
// of this visit, that of a researcher while it works, others within their visit.
func (r *reducer) serves(name string, w orchestrator.Workspace) bool {
	switch {
	case w.Used == unusable:
		return false
	case name == orchestrator.WorkspaceSession:
		return w.Base == r.s.Integrated.Commit && (w.Used == 0 || w.Used == r.s.Visit)
	case isView(name) && isResearcher(strings.TrimPrefix(name, orchestrator.WorkspaceView)):
		return true
	}
	return w.Visit == r.s.Visit
}

func isView(name string) bool { return strings.HasPrefix(name, orchestrator.WorkspaceView) }

// removeWorkspace forgets a workspace and has its directory removed, after what
// was to be kept of it.
func (r *reducer) removeWorkspace(name string) string {
	w := r.s.Workspaces[name]
	delete(r.s.Workspaces, name)
	if w.Path == "" {
		r.dropPending(func(e orchestrator.Effect) bool {
			return e.Type == orchestrator.EffEnsureWorkspace && e.Args.Workspace == name
		})
		return ""
	}
	return r.effect(orchestrator.EffRemoveWorkspace, w.Path, orchestrator.Args{Workspace: name, Dir: w.Path}, append(r.stopsIn(name),
		r.pending(func(e orchestrator.Effect) bool {
			return (e.Type == orchestrator.EffIntegrate || e.Type == orchestrator.EffPreserve) && e.Args.Workspace == name
		})...)...)
}

// stopsIn returns the pending stops of launches that work in a workspace.
func (r *reducer) stopsIn(workspace string) []string {
	return r.pending(func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffStopAgent && e.Args.Workspace == workspace
	})
}

// stop ends the current launch of an agent, if it has one.
func (r *reducer) stop(key string) string {
	r.disarm("relaunch/" + key)
	a, ok := r.s.Agents[key]
	if !ok || a.Launch == "" {
		return ""
	}
	launch := a.Launch
	a.Launch, a.Waiting, a.Limited = "", "", false
	r.s.Agents[key] = a
	role, task := orchestrator.SplitKey(key)
	if l := r.in.Line; l == nil || l.Launch != launch || r.s.Ended() {
		r.dropPending(starts(launch))
	} else { // it speaks, so it runs: its start gets its record, before its end under the same key
		r.dropPending(func(e orchestrator.Effect) bool { return starts(launch)(e) && len(e.After) > 0 })
	}
	return r.effect(orchestrator.EffStopAgent, launch, orchestrator.Args{
		Launch: launch, Role: role, Task: task, Workspace: r.workspaceOf(role, task), Gone: r.s.Seen[exitSeen(launch)] != "",
	})
}

// stopWaiting ends the current launch of an agent that still waits, if it does.
func (r *reducer) stopWaiting(key string) {
	waiting := r.s.Agents[key].Waiting
	r.stop(key)
	if a, ok := r.s.Agents[key]; ok {
		a.Waiting = waiting
		r.s.Agents[key] = a
	}
}

// starts matches the effect that starts a launch.
func starts(launch string) func(orchestrator.Effect) bool {
	return func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffStartAgent && e.Args.Launch == launch
	}
}

// workspaceOf returns the name of the workspace an agent of the current visit works in.
func (r *reducer) workspaceOf(role, task string) string {
	phase, ok := r.phase()
	switch {
	case isResearcher(role):
		return orchestrator.WorkspaceView + orchestrator.AgentKey(role, task)
	case !ok || phase.Kind != workflows.KindImplement && phase.Kind != workflows.KindFix:
		return orchestrator.WorkspaceView + role
	case strings.HasPrefix(task, "resolve-"):
		return task
	case phase.Kind == workflows.KindFix || task == "" || r.s.GroupMode == "serial":
		return orchestrator.WorkspaceSession
	}
	return task
}
