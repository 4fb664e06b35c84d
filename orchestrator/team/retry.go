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

// Named returns the agent that a person means: by its name, as role/name, or by its role if no other
// agent has it. reason says why there is none.
func (r *Run) Named(word string) (a *agents.Agent, reason string) {
	name := word
	if _, task := orchestrator.AgentKey(word).Split(); task != "" {
		name = task
	}
	if a := r.Agent(name); a != nil {
		return a, ""
	}
	var same []string
	for i := range r.Def.Team.Agents {
		if m := &r.Def.Team.Agents[i]; m.Role == word {
			a, same = m, append(same, m.Name)
		}
	}
	switch len(same) {
	case 0:
		return nil, "no agent is called " + word + "; there are " + strings.Join(r.names(), ", ")
	case 1:
		return a, ""
	}
	return nil, "several agents have the role " + word + ": name one of " + strings.Join(same, ", ")
}

// Again lists the agents that another try would start: the one called name if it failed, without a
// name all that failed, and those that they block. reason says why there are none.
func (r *Run) Again(name string) (list []string, reason string) {
	var a *agents.Agent
	if name != "" {
		if a, reason = r.Named(name); a == nil {
			return nil, reason
		}
		name = a.Name
	}
	switch {
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
			p = agents.Progress{Base: p.Base, Tip: p.Tip, Snapshot: p.Snapshot, Retried: string(r.State.Agents[key(r.Agent(name))].LastLaunch)}
		}
		r.State.Team[name] = p
		delete(r.State.Counters, remindedRule(name))
		files := []string{MarkerFile(name), blockedFile(name)}
		r.Do.Effect(orchestrator.EffRemoveFiles, files[0], orchestrator.Args{Paths: files, Visit: r.State.Visit})
	}
}
