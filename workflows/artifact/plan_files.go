package artifact

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

// File is a text to be written under a name, without a directory.
type File struct {
	Name string
	Data []byte
}

// PlanFile is the artifact of a plan phase.
const PlanFile = "plan.yaml"

// generated ends a text made from source. sum is the hex sha256 of the source.
func generated(source, sum string) string {
	return "<!-- generated from " + source + " sha256:" + sum + " -->\n"
}

// Files returns the texts derived from the plan, whose bytes hash to sum: plan.md,
// for each subplan plan_<N>.md and tasks_<N>.md, and execution_plan.yaml.
func (p *Plan) Files(sum string) ([]File, error) {
	footer := generated(PlanFile, sum)
	files := []File{{"plan.md", append(p.Markdown(), footer...)}}
	for _, s := range p.Subplans {
		n := strconv.Itoa(s.Index)
		files = append(files,
			File{"plan_" + n + ".md", []byte(s.markdown() + footer)},
			File{"tasks_" + n + ".md", []byte(s.tasks() + footer)})
	}
	execution, err := p.execution()
	if err != nil {
		return nil, err
	}
	return append(files, File{"execution_plan.yaml", append(execution, "# "+footer...)}), nil
}

// Markdown is the whole plan for a person: the overview, the order of the work, and each
// subplan with its tasks.
func (p *Plan) Markdown() []byte {
	var b strings.Builder
	b.WriteString(paragraph(p.Overview))
	b.WriteString("## Order\n\n")
	for i, g := range p.Groups {
		var ids []string
		for _, item := range g.Plans {
			ids = append(ids, strconv.Itoa(item.Index))
		}
		fmt.Fprintf(&b, "%d. %s (%s): %s\n", i+1, oneLine(g.ID), g.Mode, strings.Join(ids, ", "))
	}
	b.WriteString("\n")
	for _, s := range p.Subplans {
		fmt.Fprintf(&b, "## Subplan %d: %s\n\n", s.Index, oneLine(s.Title))
		s.sections(&b, "### ")
		b.WriteString("### Tasks\n\n" + s.taskList() + "\n")
	}
	return []byte(b.String())
}

func (s *Subplan) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", oneLine(s.Title))
	s.sections(&b, "## ")
	return b.String()
}

// sections writes what a subplan says, each part below a heading.
func (s *Subplan) sections(b *strings.Builder, heading string) {
	section := func(title, text string) { b.WriteString(heading + title + "\n\n" + paragraph(text)) }
	section("Scope", s.Scope)
	section("Owned Files", bullets(s.OwnedFiles, codeSpan))
	section("Dependencies", s.dependencies())
	section("Implementation Approach", s.Approach)
	section("Acceptance Criteria", s.Acceptance)
	if s.Isolation != "" {
		section("Isolation Rationale", s.Isolation)
	}
}

func (s *Subplan) dependencies() string {
	switch len(s.Dependencies) {
	case 0:
		return "none"
	case 1:
		return s.Dependencies[0]
	}
	return bullets(s.Dependencies, oneLine)
}

func (s *Subplan) tasks() string {
	return "# Tasks: " + oneLine(s.Title) + "\n\n" + s.taskList() + "\n"
}

func (s *Subplan) taskList() string {
	var b strings.Builder
	for _, t := range s.Tasks {
		b.WriteString("- [ ] " + strings.ReplaceAll(strings.TrimSpace(t), "\n", "\n      ") + "\n")
	}
	return b.String()
}

func section(b *strings.Builder, title, text string) {
	b.WriteString("## " + title + "\n\n" + paragraph(text))
}

// paragraph ends a text with exactly one blank line.
func paragraph(text string) string { return strings.Trim(text, "\n") + "\n\n" }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func bullets(items []string, form func(string) string) string {
	var b strings.Builder
	for _, item := range items {
		b.WriteString("- " + form(item) + "\n")
	}
	return b.String()
}

// codeSpan renders a path that may itself hold backticks.
func codeSpan(text string) string {
	if !strings.Contains(text, "`") {
		return "`" + text + "`"
	}
	fence := "``"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + " " + text + " " + fence
}

type executionPlan struct {
	Version     int              `doc:"version"`
	Groups      []executionGroup `doc:"groups"`
	NeedsDesign bool             `doc:"needs_design"`
	NeedsDocs   bool             `doc:"needs_docs"`
	DocFiles    []string         `doc:"doc_files"`
}

type executionGroup struct {
	GroupID string         `doc:"group_id"`
	Mode    string         `doc:"mode"`
	Plans   []executionRef `doc:"plans"`
}

type executionRef struct {
	File string `doc:"file"`
	Name string `doc:"name"`
}

func (p *Plan) execution() ([]byte, error) {
	e := executionPlan{Version: 2, NeedsDesign: p.NeedsDesign, NeedsDocs: p.NeedsDocs, DocFiles: p.DocFiles}
	for _, g := range p.Groups {
		out := executionGroup{GroupID: g.ID, Mode: g.Mode}
		for _, ref := range g.Plans {
			out.Plans = append(out.Plans, executionRef{"plan_" + strconv.Itoa(ref.Index) + ".md", ref.Name})
		}
		e.Groups = append(e.Groups, out)
	}
	data, err := document.Encode(e)
	if err != nil {
		return nil, fmt.Errorf("derive execution plan: %w", err)
	}
	return data, nil
}
