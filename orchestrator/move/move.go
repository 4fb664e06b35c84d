// Package move makes the state of a session that another machine had one of this machine. Work travels,
// conversations do not: what ran there is gone without having failed.
package move

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
)

// Here rewrites the places in s, and forgets the launches of the other machine. It returns the workspaces
// with work that did not come along; those that are only views are forgotten. Effects of which [Void] is true are the caller's to drop.
//
// Anybody who may push can have written s. So the settings are those of this machine, nothing counts as shown to a person
// who approved it, and what was not pushed yet is committed once more, which has the output gate judge it here.
func Here(s *orchestrator.State, m *orchestrator.Move, view func(workspace string) bool) (lost []string) {
	routes := s.Settings.Msg.Rows // the agents were told of these
	s.FeatureDir, s.Settings = m.Dir, m.Settings
	s.Settings.Msg.Rows = routes
	s.Paused = s.Paused && !m.Asked
	c := &s.Completion
	c.Shown, c.Attended, c.Compare = false, false, ""
	if c.Next == orchestrator.StepPush {
		c.Next = orchestrator.StepCommit
	}
	for _, name := range slices.Sorted(maps.Keys(s.Workspaces)) {
		w := s.Workspaces[name]
		at, came := m.Work[name]
		switch {
		case came:
			w.Path = at.Path
			if w.Snapshot != "" {
				w.Snapshot = orchestrator.Optional(at.Tree)
			}
			s.Workspaces[name] = w
		case view(name):
			delete(s.Workspaces, name)
		default:
			lost = append(lost, name)
		}
	}
	for key, a := range s.Agents {
		a.Launch, a.CLISession, a.Limited, a.Until, a.Home = "", "", false, orchestrator.Time{}, ""
		if !asks(s, key) { // else the answer starts it
			a.Waiting = ""
		}
		s.Agents[key] = a
	}
	for name, p := range s.Team { // handed in, and not committed
		if w := s.Workspaces[fmt.Sprintf("%d.%s", s.Visit, name)]; p.Step != "" && p.Commit == "" && w.Snapshot != "" {
			p.Tree = string(w.Snapshot)
			s.Team[name] = p
		}
	}
	s.Leaving = map[orchestrator.Launch]orchestrator.Leaving{}
	for i := range s.Pending {
		a := &s.Pending[i].Args
		at := m.Work[a.Workspace]
		if a.Dir != "" {
			a.Dir = at.Path
		}
		if a.Tree != "" && at.Tree != "" {
			a.Tree = at.Tree
		}
	}
	return lost
}

// asks reports whether a question of an agent is open.
func asks(s *orchestrator.State, key orchestrator.AgentKey) bool {
	return slices.ContainsFunc(s.Questions, func(q orchestrator.Question) bool { return q.Open() && orchestrator.KeyOf(q.Role, q.Task) == key })
}

// void are the effects that are about processes, panes and places of the other machine, and those that were decided
// there and change what others see: they are asked for once more.
var void = []string{
	orchestrator.EffStartAgent, orchestrator.EffStopAgent, orchestrator.EffDeliver, orchestrator.EffEnsureWorkspace,
	orchestrator.EffRemoveWorkspace, orchestrator.EffKeepLate, orchestrator.EffCommit, orchestrator.EffPush, orchestrator.EffPR,
	orchestrator.EffFetchBranch, orchestrator.EffTest, orchestrator.EffAnswerDialog,
}

// Void reports whether an effect means nothing on this machine.
func Void(e orchestrator.Effect) bool { return slices.Contains(void, e.Type) }
