package workflows

import (
	"strings"
	"time"

	"github.com/agentmux/agentmux/workflows/agents"
)

// Definition is a valid workflow with every default filled in. Parse makes it,
// and it does not change afterwards.
type Definition struct {
	Version     int
	Name        string
	Description string
	Start       string // id of the first phase, which may be passed over
	Phases      []Phase
	Team        *agents.Team // of an agents file; nil for a workflow
}

// Phase is one phase of a workflow. Which fields have a meaning depends on Kind.
type Phase struct {
	ID   string
	Kind string
	Dir  string // below the session directory

	Role     string // author, plan, implement, fix
	Prompt   string // template of Role, as agents/coder; review: of every reviewer, "" = that of its role
	Event    string // author: recorded on leaving
	Artifact string // author: below the session directory
	Tool     string // author: accepts the artifact

	ChangePrompt  string // plan
	ResolvePrompt string // implement
	SummaryPrompt string // review

	Timeout *time.Duration // nil = the configured limit of a phase; 0 = none
	Next    map[string][]Target
	When    []string // author: passed over unless all hold

	FileAccepts bool // author: the stable artifact alone accepts
	Nominates   bool // author: the tool takes reviewers
	Research    bool // author, plan: the role may dispatch research

	Roles         []string // review
	DefaultRoles  []string // review: without a nomination
	MaxIterations *int     // review: nil = the configured cap

	Prompts map[string]string // review: role to its template, before Prompt

	Gate bool // plan, complete: a person approves, also where the configuration asks for no approval
}

// Target is one way out of a phase. The first whose conditions hold is taken; the
// last of a list has none.
type Target struct {
	When []string
	To   string // phase id or PhaseDone
}

// Conditions says which conditions hold; a missing one does not.
type Conditions map[string]bool

// Hold reports whether all of when hold.
func (c Conditions) Hold(when []string) bool {
	for _, w := range when {
		name, negated := strings.CutPrefix(w, "!")
		if c[name] == negated {
			return false
		}
	}
	return true
}

// Phase returns the phase with this id.
func (d *Definition) Phase(id string) (Phase, bool) {
	for _, p := range d.Phases {
		if p.ID == id {
			return p, true
		}
	}
	return Phase{}, false
}

// Kind returns the first phase of this kind. Only of kind author can there be more than one.
func (d *Definition) Kind(kind string) (Phase, bool) {
	for _, p := range d.Phases {
		if p.Kind == kind {
			return p, true
		}
	}
	return Phase{}, false
}

// DirOf returns the directory of the first phase of this kind; "" if there is none.
func (d *Definition) DirOf(kind string) string {
	p, _ := d.Kind(kind)
	return p.Dir
}

// Entry returns the phase that is entered on the way to id: phases whose conditions
// do not hold are passed over along their only outcome. Callers pass Start for the
// first phase of a session. The result may be PhaseDone.
func (d *Definition) Entry(id string, c Conditions) string {
	for range d.Phases {
		p, ok := d.Phase(id)
		if !ok || c.Hold(p.When) {
			return id
		}
		id = p.Target(OutcomeSubmitted, c)
	}
	return id
}

// ReviewPrompt returns the template of a reviewer's prompt.
func (p Phase) ReviewPrompt(role string) string {
	switch own, ok := p.Prompts[role]; {
	case ok:
		return own
	case p.Prompt != "":
		return p.Prompt
	}
	return "agents/" + role
}

// Target returns where outcome leads from p, or "" when p does not map it. The
// phase named may itself have to be passed over, see Entry.
func (p Phase) Target(outcome string, c Conditions) string {
	for _, t := range p.Next[outcome] {
		if c.Hold(t.When) {
			return t.To
		}
	}
	return ""
}

// Paths maps the paths that the built-in templates name, which are those of the
// shipped workflows, to where this workflow keeps the same things.
func (d *Definition) Paths() map[string]string {
	out := map[string]string{}
	set := func(from, to string) {
		if from != to {
			out[from] = to
		}
	}
	for _, p := range d.Phases {
		switch p.Kind {
		case KindPlan:
			set("04_planning", p.Dir)
		case KindImplement:
			set("06_implementation", p.Dir)
		case KindReview:
			set("07_review", p.Dir)
		case KindComplete:
			set("08_completion", p.Dir)
		}
		switch p.Tool {
		case ToolSubmitArchitecture:
			set("02_architecting/architecture.md", p.Artifact)
		case ToolSubmitDesign:
			set("05_design/design.md", p.Artifact)
		}
	}
	return out
}
