package duty

import (
	"path"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

// SummaryOfAgent is the file at the root of a workspace in which an agent of an agents file says
// what it did. It may write it whatever its scope is.
const SummaryOfAgent = "AGENT_SUMMARY.md"

// Teammate returns the agent of an agents file as one that owes a submission.
func Teammate(def *workflows.Definition, s *orchestrator.State, a *agents.Agent) Agent {
	o := Agent{
		Role: a.Role, Task: a.Name, Template: "team/" + a.Role, Workspace: Work(s, a.Name),
		PromptFile: path.Join(def.DirOf(workflows.KindTeam), a.Name+"_prompt.md"),
		// One that need not ask has no use for a terminal.
		Headless: a.AutoAccept || !s.Settings.AtTerminal && hasDependants(def.Team, a.Name),
	}
	switch {
	case a.Role == agents.RoleReview:
		o.Workspace = View(s, orchestrator.KeyOf(a.Role, a.Name))
	case len(a.Scope) > 0 && !slices.Contains(a.Scope, "."):
		o.Scope = append(slices.Clone(a.Scope), SummaryOfAgent)
		if a.Role == agents.RolePlan {
			o.Scope = append(o.Scope, PlanOfAgent(a.Name))
		}
	}
	return o
}

// hasDependants reports whether others wait for an agent, so that a person who looks at its terminal would hold them up.
func hasDependants(t *agents.Team, name string) bool {
	return slices.ContainsFunc(t.Agents, func(a agents.Agent) bool { return slices.Contains(a.DependsOn, name) })
}

// PlanOfAgent is the file in which an agent of role plan writes for those who depend on it.
func PlanOfAgent(name string) string { return path.Join("plans", name+".md") }

// TeamKey returns the key of an agent of an agents file.
func TeamKey(a *agents.Agent) orchestrator.AgentKey { return orchestrator.KeyOf(a.Role, a.Name) }

// teammates lists the agents that were started, have no marker and have not submitted.
func teammates(def *workflows.Definition, s *orchestrator.State) []Agent {
	var owed []Agent
	for i := range def.Team.Agents {
		a := &def.Team.Agents[i]
		if p := s.Team[a.Name]; p.Marker == "" && p.Step == "" && p.Started(string(s.Agents[TeamKey(a)].LastLaunch)) {
			owed = append(owed, Teammate(def, s, a))
		}
	}
	return owed
}

// memberOf returns the agent of an agents file that works in a workspace, or nil.
func memberOf(def *workflows.Definition, s *orchestrator.State, workspace string) *agents.Agent {
	if def.Team == nil {
		return nil
	}
	for i := range def.Team.Agents {
		if a := &def.Team.Agents[i]; Teammate(def, s, a).Workspace == workspace {
			return a
		}
	}
	return nil
}

// Base returns the commit that a workspace is made at: what is integrated, or what the agent of
// an agents file was started at.
func Base(def *workflows.Definition, s *orchestrator.State, workspace string) string {
	if a := memberOf(def, s, workspace); a != nil && s.Team[a.Name].Base != "" {
		return s.Team[a.Name].Base
	}
	return s.Integrated.Commit
}

// Worker returns the task whose work a workspace holds, or the one whose agent looks at it.
func Worker(workspace string) string {
	_, task, _ := OfVisit(workspace)
	if IsView(workspace) {
		_, task = Viewer(workspace).Split()
	}
	return task
}

// Branches returns the branches that a workspace has beside its own, with their commits: those
// of the agents that its agent depends on.
func Branches(def *workflows.Definition, s *orchestrator.State, workspace string) map[string]string {
	var branches map[string]string
	if a := memberOf(def, s, workspace); a != nil {
		for _, name := range a.DependsOn {
			if p := s.Team[name]; p.Commit != "" {
				branches = orchestrator.Filled(branches)
				branches[p.Branch] = p.Commit
			}
		}
	}
	return branches
}

// teamDone judges a submission of an agent of an agents file. Its index is ignored.
func teamDone(def *workflows.Definition, s *orchestrator.State, c Call) Judgement {
	for i := range def.Team.Agents {
		a := &def.Team.Agents[i]
		switch {
		case a.Name != c.Task:
			continue
		case c.Role != "" && c.Role != a.Role:
			return refuse("agent %s has the role %s, you are the %s", a.Name, a.Role, c.Role)
		}
		switch p := s.Team[a.Name]; {
		case p.Marker != "" || p.Step != "":
			return already()
		case !p.Started(string(s.Agents[TeamKey(a)].LastLaunch)):
			return refuse("agent %s was not started", a.Name)
		}
		return accepted()
	}
	return refuse("no agent is called %q; at work: %s", c.Task, list(atWork(def, s)))
}

func atWork(def *workflows.Definition, s *orchestrator.State) []string {
	var names []string
	for _, o := range teammates(def, s) {
		names = append(names, o.Task)
	}
	return names
}

// Finished returns the commits that hold what a session has finished beyond its base: what is
// integrated, and of each agent of an agents file its work and what it began at.
func Finished(s *orchestrator.State) []string {
	commits := []string{s.Integrated.Commit}
	for _, p := range s.Team {
		commits = append(commits, p.Commit, p.Base)
	}
	slices.Sort(commits)
	return slices.DeleteFunc(slices.Compact(commits), func(c string) bool { return c == "" || c == s.BaseSHA })
}
