package agents

import (
	"slices"
	"strings"
	"unicode"

	"github.com/agentmux/agentmux/internal/document"
)

// reserved are names that messages give to others: the person and the program.
var reserved = []string{"core", "system"}

// agents checks each agent, then what they say of one another.
func (c *checker) agents(t *Team) {
	c.names, c.branches, c.issues = map[string]int{}, map[string]int{}, map[int]int{}
	c.foldedNames, c.foldedBranches = map[string]int{}, map[string]int{}
	t.Agents = make([]Agent, len(c.raw.Agents))
	for i := range c.raw.Agents {
		if at := document.Index("agents", i); !c.seen[at] {
			c.agent(t, i, at)
		}
	}
	c.nested(t)
	for i := range t.Agents {
		if at := document.Index("agents", i); !c.seen[at] {
			c.dependencies(t, i, at)
		}
	}
	for _, cycle := range t.cycles() {
		at := document.Key(document.Index("agents", t.agent(cycle[0])), "depends_on")
		c.problem(at, "dependency cycle: %s", strings.Join(cycle, " → "))
	}
}

// agent fills in one agent, except for what names others.
func (c *checker) agent(t *Team, i int, at string) {
	raw, node := &c.raw.Agents[i], c.root.Field("agents").Items[i]
	key := func(name string) string { return document.Key(at, name) }
	a := Agent{
		Name: string(raw.Name), Role: string(raw.Role), Branch: string(raw.Branch), Task: string(raw.Task),
		AutoAccept: raw.AutoAccept, Provider: string(raw.Provider), Model: string(raw.Model), From: string(raw.From),
	}
	c.agentName(key("name"), node, a.Name, i)
	if a.Role == "" {
		a.Role = RoleBuild
	}
	if roles := []string{RoleBuild, RoleReview, RolePlan}; !c.seen[key("role")] && !slices.Contains(roles, a.Role) {
		c.problem(key("role"), "expected build, review or plan, found %q", document.Excerpt(a.Role))
	}
	c.agentIssue(key("issue"), raw.Issue, &a, i)
	c.agentBranch(key("branch"), node, &a, i)
	if a.Role != RoleReview && raw.Issue == nil && !c.seen[key("role")] {
		c.required(key("task"), node, a.Task)
	}
	if a.Provider == "" {
		a.Provider = t.Provider
	} else {
		c.provider(key("provider"), a.Provider)
	}
	if strings.HasPrefix(a.Model, "-") || strings.ContainsFunc(a.Model, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		c.problem(key("model"), "expected the name of a model, found %q", document.Excerpt(a.Model))
	}
	a.Scope = c.paths(key("scope"), raw.Scope)
	a.Context = c.paths(key("context"), raw.Context)
	own, given := c.steps(key("on_complete"), raw.OnComplete)
	if a.OnComplete = own; !given {
		a.OnComplete = t.OnComplete
	}
	t.Agents[i] = a
}

func (c *checker) agentName(at string, node *document.Node, name string, i int) {
	if !c.required(at, node, name) {
		return
	}
	if first, taken := c.names[name]; taken {
		c.problem(at, "%q is the name of agents[%d] too", document.Excerpt(name), first)
		return
	}
	if j, ok := differsInCase(c.foldedNames, name, i); ok {
		c.problem(at, "%q differs from the name of agents[%d] only in case, which not every file system tells apart", document.Excerpt(name), j)
	}
	c.names[name] = i // also a name that is refused: those who depend on it made no mistake of their own
	switch {
	case !c.name(at, name):
	case strings.Contains(name, "--"):
		c.problem(at, "a name must not hold --, found %q", name)
	case strings.HasSuffix(name, "-"):
		c.problem(at, "a name must not end with -, found %q", name)
	case slices.Contains(reserved, name):
		c.problem(at, "%q is a name that messages use, choose another one", name)
	}
}

func (c *checker) agentIssue(at string, issue *int, a *Agent, i int) {
	if issue == nil || c.seen[at] {
		return
	}
	a.Issue = *issue
	if first, taken := c.issues[a.Issue]; taken {
		c.problem(at, "%d is the issue of agents[%d] too", a.Issue, first)
		return
	}
	if c.issues[a.Issue] = i; a.Issue < 1 {
		c.problem(at, "expected the number of an issue, found %d", a.Issue)
	}
}

func (c *checker) agentBranch(at string, node *document.Node, a *Agent, i int) {
	if a.Role == RoleReview {
		if a.Branch != "" {
			c.warn(at, "a review has no branch, %q is not used", document.Excerpt(a.Branch))
		}
		a.Branch = ""
		return
	}
	if role := strings.TrimSuffix(at, "branch") + "role"; a.Branch == "" && c.seen[role] || !c.required(at, node, a.Branch) {
		return // an agent of an unknown role may be a review
	}
	if why := branchProblem(a.Branch); why != "" {
		c.problem(at, "%s, found %q", why, document.Excerpt(a.Branch))
		return
	}
	if first, taken := c.branches[a.Branch]; taken {
		c.problem(at, "%q is the branch of agents[%d] too", document.Excerpt(a.Branch), first)
		return
	}
	if j, ok := differsInCase(c.foldedBranches, a.Branch, i); ok {
		c.problem(at, "%q differs from the branch of agents[%d] only in case, which not every file system tells apart", document.Excerpt(a.Branch), j)
	}
	c.branches[a.Branch] = i
}

// differsInCase finds the first agent whose name is another one, but not where case does not count: markers and
// workspaces are called by names, and refs are files. It keeps the name for those that come later.
func differsInCase(taken map[string]int, name string, i int) (first int, found bool) {
	key := strings.Map(foldRune, name)
	if first, found = taken[key]; !found {
		taken[key] = i
	}
	return first, found
}

// foldRune returns the same rune for all that differ in case only, as strings.EqualFold tells.
func foldRune(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

// nested finds branches that git cannot have beside each other: a ref is a file, so a/b needs
// a to be a directory.
func (c *checker) nested(t *Team) {
	for i := range t.Agents {
		branch := t.Agents[i].Branch
		if at := document.Key(document.Index("agents", i), "branch"); branch != "" && !c.seen[at] {
			for end := strings.LastIndexByte(branch, '/'); end > 0; end = strings.LastIndexByte(branch[:end], '/') {
				if j, ok := c.branches[branch[:end]]; ok {
					c.problem(at, "git cannot have %q beside %q, the branch of agents[%d]", document.Excerpt(branch), document.Excerpt(branch[:end]), j)
					break
				}
			}
		}
	}
}

// dependencies checks whom an agent names. What is no agent, or the agent itself, is left out,
// so that a cycle is one of several agents.
func (c *checker) dependencies(t *Team, i int, at string) {
	raw, a := &c.raw.Agents[i], &t.Agents[i]
	items, _ := c.list(document.Key(at, "depends_on"), raw.DependsOn)
	for _, item := range items {
		_, known := c.names[item.text]
		switch {
		case item.text == a.Name:
			c.problem(item.path, "an agent cannot depend on itself")
		case !known:
			c.problem(item.path, "%s", c.noAgent(t, item.text))
		case slices.Contains(a.DependsOn, item.text):
			c.warn(item.path, "%q is repeated", item.text)
		default:
			a.DependsOn = append(a.DependsOn, item.text)
		}
	}
	from := document.Key(at, "from")
	switch {
	case a.From == "" || c.seen[from]:
	case a.Role == RoleReview:
		c.problem(from, "a review starts on the base of the run")
	case !slices.Contains(a.DependsOn, a.From):
		c.problem(from, "%q is not one of depends_on", document.Excerpt(a.From))
	case t.Agents[c.names[a.From]].Role == RoleReview:
		c.problem(from, "%q is a review and has no branch", a.From)
	}
}

func (c *checker) noAgent(t *Team, name string) string {
	names := make([]string, len(t.Agents))
	for i := range t.Agents {
		names[i] = t.Agents[i].Name
	}
	text := "no agent is called \"" + document.Excerpt(name) + "\""
	if near := document.Nearest(name, names); near != "" {
		text += ", did you mean \"" + near + "\"?"
	}
	return text
}
