package artifact

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/workflows"
)

// Requirements renders the requirements.md that a session starts with. The text is
// what was asked: a person's own words as they are, an issue sanitised and fenced.
func Requirements(request string) []byte {
	return []byte("# Requirements\n\n## Initial Request\n\n" + strings.Trim(request, "\n") + "\n\n## Clarifications\n\nNone yet.\n")
}

// Context is what context.md tells every agent about its session.
type Context struct {
	SessionID  string
	SessionDir string // absolute
	Definition *workflows.Definition
}

// Markdown renders context.md.
func (c Context) Markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Session %s\n\n", c.SessionID)
	fmt.Fprintf(&b, "- Session directory: %s\n- Workflow: %s", codeSpan(c.SessionDir), c.Definition.Name)
	if d := oneLine(c.Definition.Description); d != "" {
		b.WriteString(" (" + d + ")")
	}
	b.WriteString("\n\n## Who writes what\n\n| Phase | Role | Writes |\n|---|---|---|\n")
	for _, p := range c.Definition.Phases {
		for _, row := range writers(p) {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", p.ID, row[0], row[1])
		}
	}
	b.WriteString("| any | code-researcher, web-researcher | `03_research/<type>-<topic>/summary.md`, `detail.md` |\n")
	b.WriteString("| any | the host | everything else in the session directory |\n")
	b.WriteString("\nEach file has one writer; for everyone else it is for reading. Agents work with each other through these files and " +
		"through the agentmux tools only: no agent sees the terminal of another.\n")
	return []byte(b.String())
}

// writers lists pairs of a role and what it writes in the phase.
func writers(p workflows.Phase) [][2]string {
	switch p.Kind {
	case workflows.KindAuthor:
		return [][2]string{{p.Role, codeSpan(p.Artifact)}}
	case workflows.KindPlan:
		return [][2]string{{p.Role, codeSpan(p.Dir + "/" + PlanFile)}}
	case workflows.KindImplement:
		return [][2]string{{p.Role, "the owned files of its subplan, in its workspace"}}
	case workflows.KindFix:
		return [][2]string{{p.Role, "what the findings concern, in its workspace"}}
	case workflows.KindReview:
		var out [][2]string
		for _, role := range p.Roles {
			out = append(out, [2]string{role, codeSpan(p.Dir + "/" + ReviewArtifact(role))})
		}
		return append(out, [2]string{"one of the reviewers", "`summary.md` of the completion, when asked"})
	}
	return nil
}

// ResearchRequest is what one agent wants another to find out.
type ResearchRequest struct {
	Type       string // code or web
	Topic      string
	Owner      string // role that asked
	Context    string
	Questions  []string
	ScopeHints []string // may be empty
}

// Markdown renders request.md.
func (r ResearchRequest) Markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Research: %s\n\n- Kind: %s\n- Asked by: %s\n\n", oneLine(r.Topic), r.Type, r.Owner)
	section(&b, "Context", r.Context)
	b.WriteString("## Questions\n\n")
	for i, q := range r.Questions {
		b.WriteString(strconv.Itoa(i+1) + ". " + strings.ReplaceAll(strings.TrimSpace(q), "\n", "\n   ") + "\n")
	}
	if len(r.ScopeHints) > 0 {
		b.WriteString("\n## Where to look first\n\n" + bullets(r.ScopeHints, oneLine))
	}
	return []byte(b.String())
}

// ResearchResult is a topic that is done.
type ResearchResult struct {
	Topic   string
	Summary string // the text of summary.md
	Detail  string // the path of detail.md
}

// ResearchHandoff renders the value of the placeholder research_handoff; empty
// without results.
func ResearchHandoff(results []ResearchResult) string {
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "### %s\n\n%sDetails: %s\n\n", oneLine(r.Topic), paragraph(r.Summary), codeSpan(r.Detail))
	}
	return strings.TrimRight(b.String(), "\n")
}
