package orchestrator

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/workflows"
)

// enterKind starts what a kind of phase does first.
func (r *reducer) enterKind(phase workflows.Phase) {
	switch phase.Kind {
	case workflows.KindAuthor:
		r.enterAuthor(phase)
	case workflows.KindPlan:
		r.enterPlan(phase)
	case workflows.KindImplement:
		r.enterImplement(phase)
	case workflows.KindReview:
		r.enterReview(phase)
	case workflows.KindFix:
		r.enterFix(phase)
	case workflows.KindComplete:
		r.enterComplete(phase)
	}
}

// follow leaves the current phase along one of its outcomes, passing over
// author phases whose condition does not hold.
func (r *reducer) follow(outcome, reason string) {
	phase, ok := r.phase()
	if !ok {
		return
	}
	r.enter(r.def.Entry(phase.Target(outcome, r.conditions()), r.conditions()), reason)
}

// FirstPhase returns the phase a new session starts in.
func FirstPhase(def *workflows.Definition, s *State) string {
	return def.Entry(def.Start, conditions(s))
}

// enter makes a phase the current one. A target of done ends the session.
func (r *reducer) enter(id, reason string) {
	seconds := int(r.now.Sub(r.s.PhaseEnteredAt.Time).Seconds())
	if r.s.PhaseEnteredAt.IsZero() {
		seconds = 0
	}
	from := r.s.Phase
	r.event(EvPhaseLeft, map[string]any{"phase": from, "next": id, "seconds": seconds})
	if id == PhaseDone {
		r.finishRun(OutcomeDone, "")
		return
	}
	r.leaveVisit()
	r.s.Phase = id
	r.s.Visit++
	r.begin(reason)
}

// leaveVisit ends what belongs to the visit only: its agents, views, deadlines.
func (r *reducer) leaveVisit() {
	for _, key := range slices.Sorted(maps.Keys(r.s.Agents)) {
		if !isResearcher(key) {
			r.stop(key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.s.Workspaces)) {
		if strings.HasPrefix(name, workspaceView) && !isResearcher(strings.TrimPrefix(name, workspaceView)) {
			r.removeWorkspace(name)
		}
	}
	r.disarm("phase", "review", "summary", "gate")
	r.disarmPrefix("relaunch/")
	r.s.Counters = map[string]Counter{}
	r.s.Seen = map[string]string{}
}

func isResearcher(key string) bool {
	role, _ := SplitKey(key)
	return strings.HasSuffix(role, "-researcher")
}

// begin does what the current phase starts with, under the current visit.
func (r *reducer) begin(reason string) {
	phase, ok := r.phase()
	if !ok {
		r.fail("phase " + r.s.Phase + " is not in the workflow")
		return
	}
	r.s.PhaseEnteredAt = r.now
	r.s.InterruptedPhase, r.s.InterruptedEvent = "", ""
	r.event(EvPhaseEntered, map[string]any{"phase": phase.ID, "kind": phase.Kind, "reason": reason})
	if _, armed := r.s.Deadlines["total"]; !armed {
		r.deadline("total", r.s.Settings.LimitTotal)
	}
	r.armPhase(phase)
	r.effect(EffEnsureDirs, phase.Dir, Args{Paths: r.phaseDirs(phase)})
	r.enterKind(phase)
}

func (r *reducer) armPhase(phase workflows.Phase) {
	limit := r.s.Settings.LimitPhase
	if phase.Timeout > 0 {
		limit = Duration(phase.Timeout)
	}
	r.deadline("phase", limit)
}

// phaseDirs lists the directories a phase writes to.
func (r *reducer) phaseDirs(phase workflows.Phase) []string {
	dirs := []string{phase.Dir}
	switch phase.Kind {
	case workflows.KindReview:
		dirs = append(dirs, dirOf(r.def, workflows.KindComplete))
	case workflows.KindFix:
		dirs = append(dirs, dirOf(r.def, workflows.KindReview))
	case workflows.KindImplement:
		dirs = append(dirs, dirOf(r.def, workflows.KindPlan))
	}
	return dirs
}

func (r *reducer) enterAuthor(phase workflows.Phase) {
	if phase.FileAccepts {
		r.moveAside(phase.Artifact)
	}
	r.launchOwed()
}

func (r *reducer) enterPlan(workflows.Phase) { r.launchOwed() }

// moveAside renames files that an earlier visit consumed or left.
func (r *reducer) moveAside(paths ...string) {
	r.effect(EffMoveAside, paths[0]+"@"+strconv.Itoa(r.s.Visit), Args{Paths: paths, Visit: r.s.Visit})
}

// fsPending returns the pending effects that prepare files for agents.
func (r *reducer) fsPending() []string {
	fs := []string{EffEnsureDirs, EffWriteFile, EffWriteMarker, EffMoveAside, EffRemoveFiles, EffMaterialise}
	return r.pending(func(e Effect) bool { return slices.Contains(fs, e.Type) })
}

// launchOwed starts every owed agent that has no launch.
func (r *reducer) launchOwed() {
	for _, o := range Owed(r.def, r.s) {
		if r.s.Agents[o.Key()].Launch == "" {
			r.launch(o, false)
		}
	}
}

// launch starts an agent. With resume the CLI goes on with its own session.
func (r *reducer) launch(o OwedAgent, resume bool) {
	key := o.Key()
	a := r.s.Agents[key]
	visit, _, _, _, ok := LaunchParts(a.Launch)
	if !ok {
		visit, _, _, _, ok = LaunchParts(string(a.LastLaunch))
	}
	if !ok || visit != r.s.Visit {
		a.Attempt = 0
	}
	if a.Launch != "" {
		r.stop(key)
	}
	a.Attempt++
	a.Launch = LaunchID(r.s.Visit, o.Role, o.Task, a.Attempt)
	a.LastLaunch = Optional(a.Launch)
	a.Waiting = ""
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

// workspace asks for a workspace where there is none that serves, and returns
// the id of the effect, or "".
func (r *reducer) workspace(name string) string {
	have, ok := r.s.Workspaces[name]
	if ok && r.serves(name, have) {
		ids := r.pending(func(e Effect) bool { return e.Type == EffEnsureWorkspace && e.Args.Workspace == name })
		return strings.Join(ids, "")
	}
	base := r.s.Integrated.Commit
	r.s.Workspaces[name] = Workspace{Base: base, Visit: r.s.Visit}
	if ok && have.Path != "" && strings.HasPrefix(name, workspaceView) {
		r.effect(EffRemoveWorkspace, have.Path, Args{Workspace: name, Dir: have.Path})
	}
	return r.effect(EffEnsureWorkspace, name+"@"+base, Args{Workspace: name, Base: base, Visit: r.s.Visit})
}

// serves reports whether a workspace can be used for the next launch in it: the
// session workspace while its content is the integrated tree or unsubmitted
// work of this visit, others within their visit.
func (r *reducer) serves(name string, w Workspace) bool {
	if name == WorkspaceSession {
		return w.Base == r.s.Integrated.Commit
	}
	if isResearcher(strings.TrimPrefix(name, workspaceView)) {
		return true
	}
	return w.Visit == r.s.Visit
}

func (r *reducer) removeWorkspace(name string) {
	w := r.s.Workspaces[name]
	delete(r.s.Workspaces, name)
	if w.Path == "" {
		r.dropPending(func(e Effect) bool { return e.Type == EffEnsureWorkspace && e.Args.Workspace == name })
		return
	}
	r.effect(EffRemoveWorkspace, w.Path, Args{Workspace: name, Dir: w.Path}, r.stopsIn(name)...)
}

// stopsIn returns the pending stops of launches that work in a workspace.
func (r *reducer) stopsIn(workspace string) []string {
	return r.pending(func(e Effect) bool { return e.Type == EffStopAgent && e.Args.Workspace == workspace })
}

// stop ends the current launch of an agent, if it has one.
func (r *reducer) stop(key string) string {
	a, ok := r.s.Agents[key]
	if !ok || a.Launch == "" {
		return ""
	}
	launch := a.Launch
	a.Launch, a.Waiting = "", ""
	r.s.Agents[key] = a
	role, task := SplitKey(key)
	r.disarm("relaunch/" + key)
	r.dropPending(func(e Effect) bool { return e.Type == EffStartAgent && e.Args.Launch == launch })
	return r.effect(EffStopAgent, launch, Args{Launch: launch, Role: role, Task: task, Workspace: r.workspaceOf(role, task)})
}

// workspaceOf returns the name of the workspace an agent of the current visit works in.
func (r *reducer) workspaceOf(role, task string) string {
	phase, ok := r.phase()
	if !ok || phase.Kind != workflows.KindImplement && phase.Kind != workflows.KindFix {
		return workspaceView + role
	}
	if isResearcher(role) {
		return workspaceView + role
	}
	if phase.Kind == workflows.KindFix || task == "" || (r.s.GroupMode == "serial" && !strings.HasPrefix(task, "resolve-")) {
		return WorkspaceSession
	}
	return task
}

// dropPending removes pending effects that are no longer wanted, and what waits
// for them forgets them.
func (r *reducer) dropPending(match func(Effect) bool) {
	var dropped []string
	r.s.Pending = slices.DeleteFunc(r.s.Pending, func(e Effect) bool {
		if match(e) {
			dropped = append(dropped, e.ID)
			return true
		}
		return false
	})
	if len(dropped) == 0 {
		return
	}
	r.changed = true
	r.effs = slices.DeleteFunc(r.effs, func(e Effect) bool { return slices.Contains(dropped, e.ID) })
	for i := range r.s.Pending {
		r.s.Pending[i].After = slices.DeleteFunc(r.s.Pending[i].After, func(id string) bool {
			return slices.Contains(dropped, id)
		})
	}
}

// accept records an artifact that was taken.
func (r *reducer) accept(a *Artifact, role string) {
	r.event(EvArtifactAccepted, map[string]any{
		"artifact": path.Base(a.Path), "path": a.Path, "sha256": a.SHA256, "role": role,
	})
	if phase, ok := r.phase(); ok {
		r.armPhase(phase)
	}
}
