package team

import (
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/agents"
)

// blockedFile names the dependency because of which an agent did not start.
func blockedFile(name string) string { return path.Join(Signals, name+".blocked") }

// Unmarks matches the effect that takes the marker of an agent away: until it is done, the marker
// that is there is the old one.
func Unmarks(name string) func(orchestrator.Effect) bool {
	return func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffRemoveFiles && slices.Contains(e.Args.Paths, MarkerFile(name))
	}
}

// Again lists the agents that another try would start: the one called name if it failed, without a
// name all that failed, and those that they block. reason says why there are none.
func (r *Run) Again(name string) (list []string, reason string) {
	if _, task := orchestrator.AgentKey(name).Split(); task != "" {
		name = task
	}
	a := r.Agent(name)
	switch {
	case name != "" && a == nil:
		return nil, "no agent is called " + name + "; there are " + strings.Join(r.names(), ", ")
	case name != "" && r.Stage(a) == Blocked && r.State.Team[name].BlockedBy != "":
		return nil, name + " is blocked by " + r.State.Team[name].BlockedBy + ": retry that one"
	case name != "" && r.Stage(a) != Failed && r.Stage(a) != Blocked:
		return nil, name + " has not failed"
	}
	again := map[string]bool{name: name != ""}
	for i := range r.Def.Team.Agents {
		a := &r.Def.Team.Agents[i]
		byHand := r.Stage(a) == Blocked && r.State.Team[a.Name].BlockedBy == ""
		again[a.Name] = again[a.Name] || name == "" && (r.Stage(a) == Failed || byHand)
	}
	for more := true; more; {
		more = false
		for _, n := range r.names() {
			if by := r.State.Team[n].BlockedBy; by != "" && again[by] && !again[n] {
				again[n], more = true, true
			}
		}
	}
	if list = slices.DeleteFunc(r.names(), func(n string) bool { return !again[n] }); len(list) == 0 {
		return nil, "no agent has failed"
	}
	return list, ""
}

func (r *Run) names() []string {
	var names []string
	for _, a := range r.Def.Team.Agents {
		names = append(names, a.Name)
	}
	return names
}

// Retry takes the markers of agents back. One whose work is committed continues with what follows
// the commit; another one is started again, where its work lies.
func (r *Run) Retry(names []string) {
	for _, name := range names {
		p := r.State.Team[name]
		if p.Commit != "" {
			p.Marker, p.BlockedBy, p.Step = "", "", stepFetch
		} else {
			p = agents.Progress{Base: p.Base, Snapshot: p.Snapshot, Retried: string(r.State.Agents[key(r.Agent(name))].LastLaunch)}
		}
		r.State.Team[name] = p
		delete(r.State.Counters, remindedRule(name))
		files := []string{MarkerFile(name), blockedFile(name)}
		r.Do.Effect(orchestrator.EffRemoveFiles, files[0], orchestrator.Args{Paths: files, Visit: r.State.Visit})
	}
}
