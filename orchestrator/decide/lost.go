package decide

import (
	"maps"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
)

// loseWorkspaces forgets workspaces that are gone, so that whoever works there next gets one at the
// integrated commit, and records whose files went with them. A submission that was not merged
// went, too: it is to be made again.
func (r *reducer) loseWorkspaces(names []string) {
	for _, name := range names {
		w, ok := r.s.Workspaces[name]
		if !ok {
			continue
		}
		var agents []string
		for _, key := range slices.Sorted(maps.Keys(r.s.Agents)) {
			role, task := orchestrator.SplitKey(key)
			if a := r.s.Agents[key]; r.workspaceOf(role, task) == name && (a.Launch != "" || a.LastLaunch != "") {
				agents = append(agents, key)
				if a.Launch != "" {
					r.stop(key)
				}
				a = r.s.Agents[key]
				a.CLISession = "" // it remembers files that are not there
				r.s.Agents[key] = a
			}
		}
		var undone []string
		for _, e := range r.s.Pending {
			if e.Type == orchestrator.EffIntegrate && e.Args.Workspace == name {
				undone = append(undone, e.Args.Task)
			}
		}
		if phase, ok := r.phase(); ok {
			for _, id := range slices.Sorted(maps.Keys(r.s.SubplanStatus)) {
				o := r.submittedCoder(phase, id)
				if id == orchestrator.FixTask {
					o.Workspace = orchestrator.WorkspaceSession
				}
				if r.s.SubplanStatus[id] == orchestrator.SubplanSubmitted && o.Workspace == name && !slices.Contains(undone, id) {
					undone = append(undone, id)
				}
			}
		}
		r.dropPending(func(e orchestrator.Effect) bool {
			return e.Args.Workspace == name && e.Type != orchestrator.EffStopAgent
		})
		delete(r.s.Workspaces, name)
		for _, id := range undone {
			r.again(id)
		}
		r.event(orchestrator.WorkspaceLostRecord{
			Workspace: name, Base: w.Base, Agents: nonNil(agents), Again: nonNil(undone), From: r.s.Integrated.Commit,
		})
	}
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
