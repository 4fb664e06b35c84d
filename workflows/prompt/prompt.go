package prompt

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

//go:embed prompts
var shippedPrompts embed.FS

// Request is what one prompt is made of.
type Request struct {
	// Template is the name of a built-in template, as agents/coder or commands/fix,
	// or of a project's own one, as project/spec.
	Template    string
	Interactive bool // a person is at the terminal
	// Values are the placeholders' texts, see Placeholders. They are inserted as they
	// are: text of strangers comes sanitised and fenced.
	Values map[string]string
	// Root is the session directory that includes are read from.
	Root string
	// Paths renames what the built-in templates call by the names of the shipped
	// workflows, see Paths of its definition.
	Paths map[string]string
	// Project is the project's .agentmux/prompts, or nil.
	Project fs.FS
}

// ProjectDir is where a project keeps its own templates and texts.
const ProjectDir = ".agentmux/prompts"

// Templates lists the names of the built-in prompt templates: one for each role, then those
// of a second task.
func Templates() []string {
	var names []string
	for _, dir := range []string{"agents", "commands"} {
		files, err := fs.ReadDir(shippedPrompts, "prompts/"+dir)
		if err != nil {
			panic("prompt: the built-in templates are not there: " + err.Error())
		}
		for _, f := range files {
			names = append(names, dir+"/"+strings.TrimSuffix(f.Name(), ".md"))
		}
	}
	return names
}

// Placeholders lists the names that templates can refer to. session_dir, workspace,
// role and tool_line must have a value; of the others an empty one shows as "none".
//
//	session_dir           absolute path of the session directory
//	workspace             absolute path of the directory the agent starts in
//	role, task            who is asked; a researcher's task is its topic
//	tool_line             the tool that hands in, and the full command line
//	research_handoff      per finished topic its summary, then the path of the details
//	subplan               the number of the subplan
//	previous_findings     what the role found before
//	diff_stat             what changed, as git shows it
//	change_request        what a person or a reviewer wants different, fenced
//	conflict_paths        the files in conflict
//	earlier_work          whether the workspace holds unfinished work of an earlier agent
//	assignment            what an agents file says to the agent
//	answers               questions and answers so far, fenced
//	project_instructions  set by Render from Project
func Placeholders() []string {
	return []string{
		"session_dir", "workspace", "role", "task", "tool_line", "research_handoff", "subplan", "previous_findings",
		"diff_stat", "change_request", "conflict_paths", "earlier_work", "assignment", "answers", instructions,
	}
}

const instructions = "project_instructions"

func neededPlaceholders() []string { return []string{"session_dir", "workspace", "role", "tool_line"} }

// Render makes the prompt. The template and its fragments are scanned for
// directives once; what they insert, values and files alike, never is, so inserted
// text cannot include files or read values. Every problem is part of the error.
//
// Besides its own text a prompt carries what the project wrote for it in
// .agentmux/prompts under the name of the template, or, for a template of the
// project, under that of the role.
func Render(r Request) (string, error) { return render(shippedPrompts, r) }

// Check reports what is wrong with a template as far as that shows before a
// session runs: directives, fragments and placeholders that do not exist.
func Check(name string, project fs.FS) error {
	for _, interactive := range []bool{true, false} {
		p := &prompt{Request: Request{Template: name, Interactive: interactive, Project: project}, builtin: shippedPrompts}
		p.expand()
		if err := p.err(); err != nil {
			return err
		}
	}
	return nil
}

func render(builtin fs.FS, r Request) (string, error) {
	p := &prompt{Request: r, builtin: builtin}
	p.expand()
	p.needed()
	p.instruct()
	text := p.text()
	if err := p.err(); err != nil {
		return "", err
	}
	return text, nil
}

// prompt is one prompt while it is rendered.
type prompt struct {
	Request
	builtin  fs.FS
	segments []segment
	errs     []error
}

func (p *prompt) fail(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

func (p *prompt) err() error {
	if len(p.errs) == 0 {
		return nil
	}
	return fmt.Errorf("render %s: %w", p.Template, errors.Join(p.errs...))
}

// expand reads the template and its fragments into segments.
func (p *prompt) expand() {
	source, file := p.builtin, "prompts/"+p.Template+".md"
	if strings.HasPrefix(p.Template, "project/") {
		source, file = p.Project, p.Template+".md"
	}
	text, err := readText(source, file)
	if err != nil {
		p.fail("read template: %w", err)
		return
	}
	p.scan(text, nil)
}

func (p *prompt) needed() {
	for _, name := range neededPlaceholders() {
		used := slices.ContainsFunc(p.segments, func(s segment) bool { return s.kind == placeholder && s.arg == name })
		if used && strings.TrimSpace(p.Values[name]) == "" {
			p.fail("placeholder %q has no value", name)
		}
	}
}

// instruct adds what the project wrote for this prompt.
func (p *prompt) instruct() {
	if slices.ContainsFunc(p.segments, func(s segment) bool { return s.kind == placeholder && s.arg == instructions }) {
		return
	}
	p.segments = append(p.segments, segment{literal, "\n\n"}, segment{placeholder, instructions})
}

func (p *prompt) instructions() string {
	file := p.Template + ".md"
	if strings.HasPrefix(p.Template, "project/") {
		file = "agents/" + p.Values["role"] + ".md"
	}
	text, err := readText(p.Project, file)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid):
		return p.Values[instructions]
	case err != nil:
		p.fail("read project instructions: %w", err)
	}
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return "## Instructions of this project\n\n" + strings.Trim(text, "\n")
}

func (p *prompt) text() string {
	var b strings.Builder
	rename := renamer(p.Paths)
	for _, s := range p.segments {
		switch s.kind {
		case literal:
			b.WriteString(rename.Replace(s.arg))
		case placeholder:
			b.WriteString(p.value(s.arg))
		case include, includeOptional:
			b.WriteString(p.include(rename.Replace(s.arg), s.kind == includeOptional))
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func (p *prompt) value(name string) string {
	if name == instructions {
		return p.instructions()
	}
	text := strings.TrimRight(p.Values[name], "\n")
	if strings.TrimSpace(text) == "" {
		return "none"
	}
	return text
}

// renamer replaces longer names first, so that a file's own new name wins over that
// of its directory.
func renamer(paths map[string]string) *strings.Replacer {
	var old []string
	for name := range paths {
		old = append(old, name)
	}
	slices.SortFunc(old, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, name := range old {
		pairs = append(pairs, name, paths[name])
	}
	return strings.NewReplacer(pairs...)
}

func unknownPlaceholder(name string) error {
	if near := document.Nearest(name, Placeholders()); near != "" {
		return fmt.Errorf("unknown placeholder %q, did you mean %q?", document.Excerpt(name), near)
	}
	return fmt.Errorf("unknown placeholder %q", document.Excerpt(name))
}
