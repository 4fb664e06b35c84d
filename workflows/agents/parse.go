package agents

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

// MaxFile is how many bytes an agents file may have.
const MaxFile = 1 << 20

const (
	maxAgents = 1000
	// maxProblems bounds what a hostile file makes us say.
	maxProblems = 1000
)

// Known is what an agents file is checked against.
type Known struct {
	Providers []string // nil = any
}

// Parse reads an agents file. The team is nil when a problem is an error; problems come in the
// order of their lines, all of them.
func Parse(file string, data []byte, known Known) (*Team, document.Problems) {
	if len(data) > MaxFile {
		return nil, document.Problems{{File: file, Text: "larger than 1 MiB"}}
	}
	root, problems := document.ParsePlain(file, data)
	if root == nil {
		if tabs := tabbed(file, data); slices.ContainsFunc(tabs, near(problems[0].Line)) {
			return nil, tabs
		}
		return nil, problems
	}
	c := &checker{root: root, known: known, seen: map[string]bool{}}
	c.problems = problems // what they name was read all the same, and is checked
	c.raw = rawTeam{WorktreeBase: "..", MainPane: true, Notifications: true}
	c.take(document.Decode(root, &c.raw, document.Options{}))
	var team *Team
	if root.Kind == document.Map || root.Kind == document.Null { // else nothing of it can be missing
		team = c.team()
	}
	c.problems.Sort()
	if c.problems.Err() != nil {
		return nil, c.problems
	}
	return team, c.problems
}

// tabbed finds the tabs that keep a file from being YAML: the parser would name the first one
// only, and not by its name. A tab within a block of text is one that YAML takes.
func tabbed(file string, data []byte) (problems document.Problems) {
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
		if strings.Contains(indent, "\t") && strings.TrimSpace(text) != "" && len(problems) < maxProblems {
			problems = append(problems, document.Problem{File: file, Line: line, Text: "indented with a tab, YAML takes spaces"})
		}
	}
	return problems
}

// near matches problems on a line or the next one: the parser may have stopped before the tab.
func near(line int) func(document.Problem) bool {
	return func(p document.Problem) bool { return p.Line == line || p.Line == line+1 }
}

// rawTeam is the file before it is checked.
type rawTeam struct {
	Session           text           `doc:"session"`
	WorktreeBase      text           `doc:"worktree_base"`
	MainPane          bool           `doc:"main_pane"`
	Notifications     bool           `doc:"notifications"`
	NamespaceBranches bool           `doc:"namespace_branches"`
	Provider          text           `doc:"provider"`
	OnComplete        *document.Node `doc:"on_complete"`
	Agents            []rawAgent     `doc:"agents"`
}

type rawAgent struct {
	Name       text           `doc:"name"`
	Branch     text           `doc:"branch"`
	Task       text           `doc:"task"`
	Role       text           `doc:"role"`
	Scope      *document.Node `doc:"scope"`
	Context    *document.Node `doc:"context"`
	DependsOn  *document.Node `doc:"depends_on"`
	AutoAccept bool           `doc:"auto_accept"`
	Provider   text           `doc:"provider"`
	Model      text           `doc:"model"`
	OnComplete *document.Node `doc:"on_complete"`
	From       text           `doc:"from"`
	Issue      *int           `doc:"issue"`
}

// text is a text as it was typed: the tool that the format comes from knows no numbers, so a
// branch may be called 2024.
type text string

// UnmarshalDocument takes texts and numbers.
func (t *text) UnmarshalDocument(n *document.Node) error {
	if !typed(n) {
		return fmt.Errorf("expected text, found %s", n.Found())
	}
	*t = text(strings.TrimSpace(n.Text))
	return nil
}

func typed(n *document.Node) bool { return n.Kind == document.Scalar && n.Tag != document.TagBool }

// entry is one item of a list, with the path under which problems name it.
type entry struct{ text, path string }

// list reads a list of texts, or one text with commas. given is false if there is neither.
func (c *checker) list(path string, n *document.Node) (items []entry, given bool) {
	switch {
	case n == nil || n.Kind == document.Null || c.seen[path]:
		return nil, false
	case n.Kind == document.List:
		for i, item := range n.Items {
			at := document.Index(path, i)
			switch {
			case item.Kind == document.Null || typed(item) && strings.TrimSpace(item.Text) == "":
				c.problem(at, "empty list item")
			case !typed(item):
				c.problem(at, "expected text, found %s", item.Found())
			default:
				items = append(items, entry{strings.TrimSpace(item.Text), at})
			}
		}
	case typed(n):
		for word := range strings.SplitSeq(n.Text, ",") {
			if word = strings.TrimSpace(word); word != "" {
				items = append(items, entry{word, path})
			}
		}
	default:
		c.problem(path, "expected a list, or a text with commas, found %s", n.Found())
	}
	return items, true
}
