package agents

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/agentmux/agentmux/internal/document"
)

// maxName keeps directories and markers that are called after a name within the limits of file
// systems.
const maxName = 100

var nameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`) })

// checker turns a raw file into a team and collects what is wrong with it.
type checker struct {
	root     *document.Node
	known    Known
	raw      rawTeam
	problems document.Problems
	seen     map[string]bool // paths with a problem: a check of the meaning does not repeat one of the type
	names    map[string]int  // first agent of a name
	branches map[string]int  // first agent of a branch
	issues   map[int]int     // first agent of an issue

	foldedNames, foldedBranches map[string]int // see differsInCase
}

func (c *checker) take(problems document.Problems) {
	for _, p := range problems {
		if p.Path == "" || !c.seen[p.Path] {
			c.add(p)
		}
	}
}

func (c *checker) add(p document.Problem) {
	c.seen[p.Path] = true
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, p)
	}
}

func (c *checker) problem(path, format string, args ...any) {
	c.add(c.root.Problem(path, format, args...))
}

func (c *checker) warn(path, format string, args ...any) {
	p := c.root.Problem(path, format, args...)
	p.Warning = true
	c.add(p)
}

func (c *checker) team() *Team {
	raw := &c.raw
	t := &Team{
		Session: string(raw.Session), WorktreeBase: string(raw.WorktreeBase), MainPane: raw.MainPane,
		Notifications: raw.Notifications, NamespaceBranches: raw.NamespaceBranches, Provider: string(raw.Provider),
	}
	if c.required("session", c.root, t.Session) {
		c.name("session", t.Session)
	}
	if !c.seen["worktree_base"] {
		c.base(t.WorktreeBase)
	}
	c.provider("provider", t.Provider)
	t.OnComplete, _ = c.steps("on_complete", raw.OnComplete)
	switch list := c.root.Field("agents"); {
	case c.seen["agents"]:
	case list == nil || list.Kind == document.Null:
		c.problem("agents", "required key missing")
	case len(raw.Agents) == 0:
		c.problem("agents", "expected at least one agent")
	case len(raw.Agents) > maxAgents:
		c.problem(document.Index("agents", maxAgents), "%d agents, at most %d are allowed", len(raw.Agents), maxAgents)
	default:
		c.agents(t)
	}
	return t
}

// required reports whether there is a value to check further.
func (c *checker) required(at string, in *document.Node, value string) bool {
	if c.seen[at] || value != "" {
		return !c.seen[at]
	}
	if n := in.Field(at[strings.LastIndexByte(at, '.')+1:]); n == nil || n.Kind == document.Null {
		c.problem(at, "required key missing")
	} else {
		c.problem(at, "required, found nothing")
	}
	return false
}

func (c *checker) name(at, name string) bool {
	switch {
	case len(name) > maxName:
		c.problem(at, "%d bytes, at most %d are allowed", len(name), maxName)
	case !nameRule().MatchString(name):
		c.problem(at, "expected letters, digits, - and _, beginning with a letter or a digit, found %q", document.Excerpt(name))
	default:
		return true
	}
	return false
}

func (c *checker) base(dir string) {
	switch {
	case dir == "":
		c.problem("worktree_base", "required, found nothing")
	case path.IsAbs(dir) || strings.HasPrefix(dir, "~"):
		c.problem("worktree_base", "expected a path relative to the project, found %q", document.Excerpt(dir))
	case strings.ContainsFunc(dir, unicode.IsControl):
		c.problem("worktree_base", "a path must not hold control characters, found %q", document.Excerpt(dir))
	}
}

func (c *checker) provider(at, name string) {
	if name == "" || c.seen[at] || c.known.Providers == nil || slices.Contains(c.known.Providers, name) {
		return
	}
	if near := document.Nearest(name, c.known.Providers); near != "" {
		c.problem(at, "unknown provider %q, did you mean %q?", document.Excerpt(name), near)
		return
	}
	c.problem(at, "unknown provider %q, known: %s", document.Excerpt(name), strings.Join(c.known.Providers, ", "))
}

func (c *checker) steps(at string, n *document.Node) (steps []string, given bool) {
	items, given := c.list(at, n)
	for _, item := range items {
		switch {
		case !slices.Contains([]string{StepTest, StepPush, StepPull}, item.text):
			c.problem(item.path, "expected test, push or pr, found %q", document.Excerpt(item.text))
		case slices.Contains(steps, item.text):
			c.problem(item.path, "%s is repeated", item.text)
		default:
			steps = append(steps, item.text)
		}
	}
	return steps, given
}

// paths checks a scope or a context. A final / stays: it makes a path a prefix.
func (c *checker) paths(at string, n *document.Node) (paths []string) {
	items, _ := c.list(at, n)
	for _, item := range items {
		found := document.Excerpt(item.text)
		switch {
		case path.IsAbs(item.text):
			c.problem(item.path, "expected a path relative to the repository, found %q", found)
		case slices.Contains(strings.Split(item.text, "/"), ".."):
			c.problem(item.path, "a path must not hold .., found %q", found)
		case strings.ContainsFunc(item.text, unicode.IsControl):
			c.problem(item.path, "a path must not hold control characters, found %q", found)
		default:
			clean := path.Clean(item.text)
			if strings.HasSuffix(item.text, "/") && clean != "." {
				clean += "/"
			}
			if !slices.Contains(paths, clean) {
				paths = append(paths, clean)
			}
		}
	}
	return paths
}
