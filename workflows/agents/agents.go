// Package agents holds an agents file as a value: several agents of one run, each with its
// role, its branch, its task and the agents it waits for.
//
// Parse reads `.dmux-agents.yml` and reports everything that is wrong with it at once, each
// problem with file, line and path. Files written for the tool that the format comes from are
// read unchanged; `from` and `issue` are ours. Encode writes such a file. Ready and Blocked are
// the order of the graph: which agents may start and which never will, given how far each one
// is. The package reads no file, runs nothing and stores nothing.
package agents

import "slices"

// File is the name of the agents file of a project.
const File = ".dmux-agents.yml"

// Roles of agents. An agent without a role builds.
const (
	RoleBuild  = "build"  // changes code on its branch
	RoleReview = "review" // looks at the branches of others and has none
	RolePlan   = "plan"   // writes plans/<name>.md on its branch, for those who depend on it
)

// Steps of on_complete, in the order in which they are taken.
const (
	StepTest = "test"
	StepPush = "push"
	StepPull = "pr"
)

// Team is an agents file without problems, its defaults filled in.
type Team struct {
	Session           string // of the run, and the mesh of its messages
	WorktreeBase      string // where the workspaces lie, relative to the project
	MainPane          bool
	Notifications     bool
	NamespaceBranches bool     // put the person's name in front of each branch
	Provider          string   // "" = the configured one
	OnComplete        []string // of agents that have none of their own
	Agents            []Agent  // in the order of the file
}

// Agent is one agent of a Team. What it inherits from the team is filled in.
type Agent struct {
	Name       string
	Role       string
	Branch     string   // "" for a review
	Task       string   // may be "" for a review, and beside Issue
	Scope      []string // paths it may change; empty = all
	Context    []string // paths it may read but not change
	DependsOn  []string // agents that must be done before it starts
	AutoAccept bool
	Provider   string // "" = the configured one
	Model      string
	OnComplete []string
	From       string // the dependency whose branch it starts on; "" = the base of the run
	Issue      int    // whose text is the task; 0 = none
}

// Agent returns the agent called name, or nil.
func (t *Team) Agent(name string) *Agent {
	if i := t.agent(name); i >= 0 {
		return &t.Agents[i]
	}
	return nil
}

// Issues lists the issues that agents work for, each once. A nil team has none.
func (t *Team) Issues() []int {
	var numbers []int
	for i := 0; t != nil && i < len(t.Agents); i++ {
		if n := t.Agents[i].Issue; n != 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// agent returns the index of the agent called name, or -1.
func (t *Team) agent(name string) int {
	for i := range t.Agents {
		if t.Agents[i].Name == name {
			return i
		}
	}
	return -1
}
