// Package toolset holds the table of the tools that agents call: the name, who may call
// it, when the session accepts it, its parameters, the artifact it hands in, its twin on
// the command line, and the words about it.
//
// Everything else reads the table. The MCP server offers its rows, the command line builds
// a command from each, the session judges calls by it, and prompts quote it. What a call
// changes in a session is in orchestrator/decide, and what is checked with the session at
// hand is in orchestrator/tools.
//
// A new tool is a row in table.go and its effect in orchestrator/decide/tool.go. One thing may
// come on top: a parameter that no tool had before is a field of orchestrator.Payload, a When
// of its own is a rule where the session judges calls, a check of its own is a function in
// orchestrator/tools. The package is pure and stores nothing.
package toolset

import (
	"slices"

	"github.com/agentmux/agentmux/workflows"
)

// A Tool is one row of the table.
type Tool struct {
	Name        string
	Description string // for the model
	Params      []Param

	Everyone bool     // every role may call it
	Roles    []string // these may; so may the roles of the phases it belongs to

	When     When
	Ends     []string // kinds of the phases whose agents hand in with it
	Summary  bool     // it ends the second part of a review phase, after the verdicts
	Submits  bool     // it hands in work, which the session takes once
	Research string   // of a dispatch: the kind of research, "code" or "web"

	Artifact Artifact
	Command  Command
	Done     string // the answer, once the call is recorded; see Answer
}

// Kinds of artifacts: how the file is read and checked.
const (
	ArtifactText   = "text"
	ArtifactPlan   = "plan"
	ArtifactReview = "review"
)

// Artifact is the file that a call hands in.
type Artifact struct {
	Kind  string // one of the Artifact constants; empty without a file
	Place Place
	In    string // PlaceDir, PlaceReview: the kind of the phase that owns the directory
	File  string // PlaceDir, PlaceTopic: its name
}

// Place says how the path of an artifact is found.
type Place string

// The places of artifacts.
const (
	PlacePhase  Place = "phase"  // the author phase names the file
	PlaceDir    Place = "dir"    // File in the directory of the phase of kind In
	PlaceReview Place = "review" // the review file of the role, in that directory
	PlaceTopic  Place = "topic"  // File in the directory of the research topic
)

// Command is the twin of a tool on the command line. It takes the parameters that have an
// Arg or a Flag.
type Command struct {
	Words   string // behind "agentmux"; the last one is the command's name
	Short   string // for the help
	Example string // for the help, behind "agentmux"
}

// All lists the tools in the order in which they are shown.
func All() []Tool { return slices.Clone(table) }

// Find returns the tool with this name.
func Find(name string) (Tool, bool) {
	i := slices.IndexFunc(table, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return table[i], true
}

// Names lists the names of all tools.
func Names() []string {
	names := make([]string, len(table))
	for i, t := range table {
		names[i] = t.Name
	}
	return names
}

// Ending returns the tool that ends the work of an agent of this phase. summary reports
// whether the phase waits for the summary instead of verdicts. A phase without agents has
// no such tool.
func Ending(phase workflows.Phase, summary bool) (Tool, bool) {
	summary = summary && phase.Kind == workflows.KindReview
	i := slices.IndexFunc(table, func(t Tool) bool { return t.endsPhase(phase) && t.Summary == summary })
	if i < 0 {
		return Tool{}, false
	}
	return table[i], true
}

// Recorded reports whether a call leaves a line in tool_events.jsonl.
func (t Tool) Recorded() bool { return t.When != "" }

// PhaseBound reports whether a call counts only in the visit of a phase in which it was
// made.
func (t Tool) PhaseBound() bool { return len(t.Ends) > 0 }

// Open reports whether def gives the tool to the role.
func (t Tool) Open(def *workflows.Definition, role string) bool {
	if t.Everyone || slices.Contains(t.Roles, role) {
		return true
	}
	return slices.ContainsFunc(def.Phases, func(p workflows.Phase) bool {
		return p.Role == role && (t.endsPhase(p) || t.When == InResearchingPhase && p.Research)
	})
}

func (t Tool) endsPhase(p workflows.Phase) bool {
	if p.Kind == workflows.KindAuthor {
		return p.Tool == t.Name
	}
	return slices.Contains(t.Ends, p.Kind)
}
