package workflows

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/document"
)

const maxDefinition = 256 << 10

// Known is what a definition is checked against.
type Known struct {
	Prompts fs.FS // the project's .agentmux/prompts; nil = none
	Shipped bool  // the file is a built-in one
	Frozen  bool  // the file is a session's copy: its name and its project prompts were checked before
}

// Parse reads one workflow file. The definition is nil when a problem is an error;
// problems come in the order of their lines, all of them.
func Parse(file string, data []byte, known Known) (*Definition, document.Problems) {
	if len(data) > maxDefinition {
		return nil, document.Problems{{File: file, Text: "larger than 256 KiB"}}
	}
	root, problems := document.Parse(file, data)
	if root == nil {
		return nil, problems
	}
	c := &checker{root: root, known: known, problems: problems}
	c.decode()
	if c.shaped() {
		c.check(strings.TrimSuffix(path.Base(file), path.Ext(file)))
	}
	c.problems.Sort()
	if c.problems.Err() != nil {
		return nil, c.problems
	}
	return c.definition(), c.problems
}

// rawDefinition is the file before its defaults are filled in.
type rawDefinition struct {
	Version     int        `doc:"version"`
	Name        string     `doc:"name"`
	Description string     `doc:"description"`
	Start       string     `doc:"start"`
	Phases      []rawPhase `doc:"phases"`
}

type rawPhase struct {
	ID            string                    `doc:"id"`
	Kind          string                    `doc:"kind"`
	Dir           string                    `doc:"dir"`
	Timeout       *time.Duration            `doc:"timeout"`
	Next          map[string]*document.Node `doc:"next"`
	Role          string                    `doc:"role"`
	Prompt        string                    `doc:"prompt"`
	When          []string                  `doc:"when"`
	Event         string                    `doc:"event"`
	Artifact      string                    `doc:"artifact"`
	Tool          string                    `doc:"tool"`
	FileAccepts   bool                      `doc:"file_accepts"`
	Nominates     bool                      `doc:"nominates"`
	Research      bool                      `doc:"research"`
	ChangePrompt  string                    `doc:"change_prompt"`
	ResolvePrompt string                    `doc:"resolve_prompt"`
	SummaryPrompt string                    `doc:"summary_prompt"`
	Prompts       map[string]string         `doc:"prompts"`
	Gate          bool                      `doc:"gate"`
	Roles         []string                  `doc:"roles"`
	DefaultRoles  []string                  `doc:"default_roles"`
	MaxIterations *int                      `doc:"max_iterations"`

	next map[string][]Target
}

// definition fills in the defaults of a file without problems.
func (c *checker) definition() *Definition {
	d := &Definition{Version: c.raw.Version, Name: c.raw.Name, Description: c.raw.Description, Start: c.raw.Start}
	for _, p := range c.raw.Phases {
		d.Phases = append(d.Phases, p.phase())
	}
	return d
}

func (p rawPhase) phase() Phase {
	out := Phase{
		ID: p.ID, Kind: p.Kind, Dir: p.Dir, Role: p.Role, Prompt: p.Prompt, Event: p.Event, Artifact: p.Artifact,
		Tool: p.Tool, ChangePrompt: p.ChangePrompt, ResolvePrompt: p.ResolvePrompt, SummaryPrompt: p.SummaryPrompt,
		Timeout: p.Timeout, Next: p.next, When: p.When, FileAccepts: p.FileAccepts, Nominates: p.Nominates,
		Research: p.Research, Roles: p.Roles, DefaultRoles: p.DefaultRoles, MaxIterations: p.MaxIterations,
		Prompts: p.Prompts, Gate: p.Gate,
	}
	switch p.Kind {
	case KindPlan:
		fill(&out.Role, RolePlanner)
		fill(&out.ChangePrompt, "commands/change")
	case KindImplement:
		fill(&out.Role, RoleCoder)
		fill(&out.ResolvePrompt, "commands/resolve")
	case KindFix:
		fill(&out.Role, RoleCoder)
		fill(&out.Prompt, "commands/fix")
	case KindReview:
		fill(&out.SummaryPrompt, "commands/summary")
		out.fillRoles()
	}
	if out.Role != "" {
		fill(&out.Prompt, "agents/"+out.Role)
	}
	return out
}

func (p *Phase) fillRoles() {
	if len(p.Roles) == 0 {
		p.Roles = []string{RoleReviewerLogic, RoleReviewerQuality, RoleReviewerExpert}
	}
	if len(p.DefaultRoles) > 0 {
		return
	}
	p.DefaultRoles = []string{RoleReviewerLogic}
	if !slices.Contains(p.Roles, RoleReviewerLogic) {
		p.DefaultRoles = p.Roles[:1:1]
	}
}

func fill(field *string, value string) {
	if *field == "" {
		*field = value
	}
}
