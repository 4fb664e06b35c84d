package decide

import (
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

// workspaces are the directories that agents work in, by name: what each was made from, and in
// which visit an agent was let in.
type workspaces struct{ *queue }

// ensure asks for a workspace unless there is one that serves, and returns
// the id of the effect, or "".
func (ws *workspaces) ensure(name string) string {
	have, ok := ws.s.Workspaces[name]
	if ok && ws.serves(name, have) {
		have.Used = ws.s.Visit
		ws.s.Workspaces[name] = have
		return ws.making(name)
	}
	if ok {
		ws.remove(name)
	}
	// The removal of a former one may still be pending, and the place may be the same.
	removed := ws.pending(inWorkspace(name, orchestrator.EffRemoveWorkspace))
	base := duty.Base(ws.def, ws.s, name)
	ws.s.Workspaces[name] = orchestrator.Workspace{Base: base, Visit: ws.s.Visit, Used: ws.s.Visit}
	return ws.effect(orchestrator.EffEnsureWorkspace, name+"@"+base, orchestrator.Args{Workspace: name, Base: base, Visit: ws.s.Visit, Sources: duty.Branches(ws.def, ws.s, name)}, removed...)
}

// making returns the id of the effect that makes a workspace we have, or "" if it is
// made. The end of a run drops the effect; a resume asks for it again.
func (ws *workspaces) making(name string) string {
	w := ws.s.Workspaces[name]
	ids := ws.pending(inWorkspace(name, orchestrator.EffEnsureWorkspace))
	if len(ids) > 0 || w.Path != "" {
		return strings.Join(ids, "")
	}
	return ws.effect(orchestrator.EffEnsureWorkspace, name+"@"+w.Base, orchestrator.Args{Workspace: name, Base: w.Base, Visit: w.Visit, Sources: duty.Branches(ws.def, ws.s, name)})
}

// unusable marks a workspace that no launch may be let in again.
const unusable = -1

// close lets no launch in again.
func (ws *workspaces) close(name string) {
	w := ws.s.Workspaces[name]
	w.Used = unusable
	ws.s.Workspaces[name] = w
}

// serves reports whether a workspace can be used for the next launch in it: within its visit
// until its work was submitted, that of a researcher while it works.
func (ws *workspaces) serves(name string, w orchestrator.Workspace) bool {
	if w.Used == unusable {
		return false
	}
	visit, _, owned := duty.OfVisit(name)
	return owned && visit == ws.s.Visit || duty.IsView(name) && duty.Researches(duty.Viewer(name).Role()) ||
		w.Visit == ws.s.Visit || w.Used == ws.s.Visit
}

func (ws *workspaces) made(e orchestrator.Effect, res orchestrator.Result) {
	w := ws.s.Workspaces[e.Args.Workspace]
	if w.Base == e.Args.Base {
		w.Path = res.Path
		ws.s.Workspaces[e.Args.Workspace] = w
	}
	for i := range ws.s.Pending {
		p := &ws.s.Pending[i]
		if p.Args.Workspace == e.Args.Workspace && p.Args.Dir == "" {
			p.Args.Dir = res.Path
		}
	}
}

// preserve has the work in a workspace kept under a ref once no agent is in it.
func (ws *workspaces) preserve(name string) {
	w := ws.s.Workspaces[name]
	_, task, _ := duty.OfVisit(name)
	ws.effect(orchestrator.EffPreserve, name, orchestrator.Args{Task: task, Workspace: name, Dir: w.Path, Base: w.Base, Date: ws.now}, ws.stopsIn(name)...)
}

func (ws *workspaces) preserved(e orchestrator.Effect, res orchestrator.Result) {
	w := ws.s.Workspaces[e.Args.Workspace]
	w.Preserved = orchestrator.Optional(res.Commit)
	ws.s.Workspaces[e.Args.Workspace] = w
}

// submitted notes what was taken of a workspace.
func (ws *workspaces) submitted(name, tree string) {
	w := ws.s.Workspaces[name]
	w.Snapshot = orchestrator.Optional(tree)
	ws.s.Workspaces[name] = w
}

// headMoved remembers the merged commit and removes the workspace whose work is in it.
func (ws *workspaces) headMoved(e orchestrator.Effect, res orchestrator.Result) {
	ws.s.Integrated = orchestrator.Integrated{Commit: res.Commit, Tree: res.Tree}
	ws.remove(e.Args.Workspace)
}

// remove forgets a workspace and has its directory removed, after what
// was to be kept of it.
func (ws *workspaces) remove(name string) string {
	w := ws.s.Workspaces[name]
	delete(ws.s.Workspaces, name)
	if w.Path == "" {
		ws.dropPending(inWorkspace(name, orchestrator.EffEnsureWorkspace))
		return ""
	}
	kept := ws.pending(inWorkspace(name, orchestrator.EffIntegrate, orchestrator.EffPreserve, orchestrator.EffKeepLate))
	return ws.effect(orchestrator.EffRemoveWorkspace, w.Path, orchestrator.Args{Workspace: name, Dir: w.Path}, append(ws.stopsIn(name), kept...)...)
}

// stopsIn returns the pending stops of launches that work in a workspace.
func (ws *workspaces) stopsIn(workspace string) []string {
	return ws.pending(inWorkspace(workspace, orchestrator.EffStopAgent))
}

// stopsBefore returns the stops that come before the work of a is read: none where a tree of it
// was taken.
func (ws *workspaces) stopsBefore(a orchestrator.Args) []string {
	if a.Tree != "" {
		return nil
	}
	return ws.stopsIn(a.Workspace)
}

// inWorkspace matches effects of some types on a workspace.
func inWorkspace(name string, types ...string) func(orchestrator.Effect) bool {
	return func(e orchestrator.Effect) bool { return e.Args.Workspace == name && slices.Contains(types, e.Type) }
}

// of returns the name of the workspace an agent of the current visit works in.
func (ws *workspaces) of(role, task string) string {
	phase, ok := ws.phase()
	switch {
	case ok && phase.Kind == workflows.KindTeam && role != agents.RoleReview:
		return duty.Work(ws.s, task)
	case duty.Researches(role), !ok, phase.Kind != workflows.KindImplement && phase.Kind != workflows.KindFix:
		return duty.View(ws.s, orchestrator.KeyOf(role, task))
	case phase.Kind == workflows.KindFix, task == "":
		return duty.Work(ws.s, orchestrator.FixTask)
	}
	return duty.Work(ws.s, task)
}
