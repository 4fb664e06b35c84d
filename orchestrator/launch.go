package orchestrator

import (
	"slices"
	"strings"

	"github.com/agentmux/agentmux/workflows"
)

// fsPending returns the pending effects that prepare files for agents.
func (r *reducer) fsPending() []string {
	fs := []string{EffEnsureDirs, EffWriteFile, EffWriteMarker, EffMoveAside, EffRemoveFiles, EffMaterialise}
	return r.pending(func(e Effect) bool { return slices.Contains(fs, e.Type) })
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
	if visit, _, _, _, ok := LaunchParts(string(a.LastLaunch)); !ok || visit != r.s.Visit {
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
	a.Launch = LaunchID(r.s.Visit, o.Role, o.Task, a.Attempt)
	a.LastLaunch = Optional(a.Launch)
	a.Waiting, a.Limited, a.Heard = "", false, r.now
	r.s.Agents[key] = a
	after := append(r.fsPending(), r.workspace(o.Workspace))
	after = append(after, r.pending(func(e Effect) bool {
		return e.Type == EffStopAgent && AgentKey(e.Args.Role, e.Args.Task) == key
	})...)
	r.effect(EffStartAgent, a.Launch, Args{
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
	r.effect(EffRemoveFiles, r.marker(id), Args{Paths: []string{r.marker(id)}, Visit: r.s.Visit})
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
	removed := r.pending(func(e Effect) bool { return e.Type == EffRemoveWorkspace && e.Args.Workspace == name })
	base := r.s.Integrated.Commit
	r.s.Workspaces[name] = Workspace{Base: base, Visit: r.s.Visit, Used: r.s.Visit}
	return r.effect(EffEnsureWorkspace, name+"@"+base, Args{Workspace: name, Base: base, Visit: r.s.Visit}, removed...)
}

// madeWorkspace returns the id of the effect that makes a workspace we have, or "" if it is
// made. The end of a run drops the effect; whoever goes on asks for it again.
func (r *reducer) madeWorkspace(name string) string {
	w := r.s.Workspaces[name]
	ids := r.pending(func(e Effect) bool { return e.Type == EffEnsureWorkspace && e.Args.Workspace == name })
	if len(ids) > 0 || w.Path != "" {
		return strings.Join(ids, "")
	}
	return r.effect(EffEnsureWorkspace, name+"@"+w.Base, Args{Workspace: name, Base: w.Base, Visit: w.Visit})
}

// unusable marks a workspace that no launch may be let in again.
const unusable = -1

// serves reports whether a workspace can be used for the next launch in it: the
// session workspace while its content is the integrated tree or unsubmitted work
// of this visit, that of a researcher while it works, others within their visit.
func (r *reducer) serves(name string, w Workspace) bool {
	switch {
	case w.Used == unusable:
		return false
	case name == WorkspaceSession:
		return w.Base == r.s.Integrated.Commit && (w.Used == 0 || w.Used == r.s.Visit)
	case isView(name) && isResearcher(strings.TrimPrefix(name, workspaceView)):
		return true
	}
	return w.Visit == r.s.Visit
}

func isView(name string) bool { return strings.HasPrefix(name, workspaceView) }

// removeWorkspace forgets a workspace and has its directory removed, after what
// was to be kept of it.
func (r *reducer) removeWorkspace(name string) string {
	w := r.s.Workspaces[name]
	delete(r.s.Workspaces, name)
	if w.Path == "" {
		r.dropPending(func(e Effect) bool { return e.Type == EffEnsureWorkspace && e.Args.Workspace == name })
		return ""
	}
	return r.effect(EffRemoveWorkspace, w.Path, Args{Workspace: name, Dir: w.Path}, append(r.stopsIn(name),
		r.pending(func(e Effect) bool {
			return (e.Type == EffIntegrate || e.Type == EffPreserve) && e.Args.Workspace == name
		})...)...)
}

// stopsIn returns the pending stops of launches that work in a workspace.
func (r *reducer) stopsIn(workspace string) []string {
	return r.pending(func(e Effect) bool { return e.Type == EffStopAgent && e.Args.Workspace == workspace })
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
	role, task := SplitKey(key)
	if l := r.in.Line; l == nil || l.Launch != launch || r.s.Ended() {
		r.dropPending(starts(launch))
	} else { // it speaks, so it runs: its start gets its record, before its end under the same key
		r.dropPending(func(e Effect) bool { return starts(launch)(e) && len(e.After) > 0 })
	}
	return r.effect(EffStopAgent, launch, Args{
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
func starts(launch string) func(Effect) bool {
	return func(e Effect) bool { return e.Type == EffStartAgent && e.Args.Launch == launch }
}

// workspaceOf returns the name of the workspace an agent of the current visit works in.
func (r *reducer) workspaceOf(role, task string) string {
	phase, ok := r.phase()
	switch {
	case isResearcher(role):
		return workspaceView + AgentKey(role, task)
	case !ok || phase.Kind != workflows.KindImplement && phase.Kind != workflows.KindFix:
		return workspaceView + role
	case strings.HasPrefix(task, "resolve-"):
		return task
	case phase.Kind == workflows.KindFix || task == "" || r.s.GroupMode == "serial":
		return WorkspaceSession
	}
	return task
}
