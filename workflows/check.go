package workflows

import (
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/workflows/prompt"
)

// maxPhases bounds the time that the checks take.
const maxPhases = 50

// maxKept bounds the work that a hostile definition can cause.
const maxKept = 1000

// checker holds one definition while it is checked.
type checker struct {
	root     *document.Node
	known    Known
	raw      rawDefinition
	problems document.Problems
	unclear  map[int]bool // phases whose way out is not known; set by graph
}

// problem reports what is wrong at place, unless place is known to be wrong: a value
// of the wrong type has no meaning to check.
func (c *checker) problem(place, format string, args ...any) {
	if !c.problems.Has(place) {
		c.add(place, format, args...)
	}
}

func (c *checker) add(place, format string, args ...any) {
	if len(c.problems) >= maxKept {
		return
	}
	c.problems = append(c.problems, c.root.Problem(place, format, args...))
}

func (c *checker) decode() {
	c.problems = append(c.problems, document.Decode(c.root, &c.raw, document.Options{Unknown: document.UnknownIgnore})...)
}

// shaped reports whether the document has phases to look at.
func (c *checker) shaped() bool {
	return c.root.Kind == document.Map || c.root.Kind == document.Null
}

func (c *checker) check(stem string) {
	c.top(stem)
	if n := len(c.raw.Phases); n > maxPhases {
		c.problem("phases", "%d phases, at most %d are allowed", n, maxPhases)
		return
	}
	for i := range c.raw.Phases {
		c.phase(i)
	}
	c.counts()
	c.unique()
	if c.has(c.raw.Start) {
		c.graph()
	}
	c.cycles()
}

func at(i int, key string) string {
	p := document.Index("phases", i)
	if key == "" {
		return p
	}
	return document.Key(p, key)
}

var (
	namePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,29}$`) })
	idPattern   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`) })
	dirPattern  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{2}_[a-z0-9_]+$`) })

	artifactPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`) })
)

// IsName reports whether a workflow may have the name.
func IsName(name string) bool {
	return namePattern().MatchString(name) && !slices.Contains(reservedNames(), name)
}

// reservedNames are words that a label after the colon uses otherwise.
func reservedNames() []string {
	return []string{"queued", "running", "needs-human", "done", "failed", "stop"}
}

func (c *checker) top(stem string) {
	c.keys("", c.root, []string{"version", "name", "description", "start", "phases"}, []string{"version", "name", "start", "phases"}, "a workflow")
	if n := c.root.Field("version"); n != nil && c.raw.Version != 1 {
		c.problem("version", "expected 1, found %s", n.Found())
	}
	if c.raw.Name != "" {
		c.name(stem)
	}
	if n := c.root.Field("phases"); n != nil && n.Kind == document.List && len(n.Items) == 0 {
		c.problem("phases", "required key missing")
	}
	if s := c.raw.Start; s != "" && !c.has(s) {
		c.problem("start", "no phase %q", s)
	}
}

func (c *checker) name(stem string) {
	switch name := c.raw.Name; {
	case !namePattern().MatchString(name):
		c.problem("name", "expected 1 to 30 of a-z, 0-9 and -, found %q", document.Excerpt(name))
	case c.known.Frozen:
	case slices.Contains(reservedNames(), name):
		c.problem("name", "%q is reserved", name)
	case !c.known.Shipped && slices.Contains(Shipped(), name):
		c.problem("name", "%s", builtIn(name))
	case name != stem:
		c.problem("name", "%q must equal the file name %q", name, stem)
	}
}

func (c *checker) has(id string) bool {
	return slices.ContainsFunc(c.raw.Phases, func(p rawPhase) bool { return p.ID == id })
}

// keys checks the keys of one map. what names its owner for the problem text.
func (c *checker) keys(prefix string, n *document.Node, allowed, required []string, what string) {
	for _, f := range n.Fields {
		if slices.Contains(allowed, f.Key) {
			continue
		}
		text := document.UnknownKey(f.Key, allowed)
		if slices.Contains(allKeys(), f.Key) {
			text = "not a key of " + what
		}
		c.problem(document.Key(prefix, f.Key), "%s", text)
	}
	for _, key := range required {
		if v := n.Field(key); v == nil || v.Kind == document.Null || v.Kind == document.Scalar && strings.TrimSpace(v.Text) == "" {
			c.problem(document.Key(prefix, key), "required key missing")
		}
	}
}

func commonKeys() []string { return []string{"id", "kind", "dir", "next", "timeout"} }

// kindKeys lists the further keys of a kind, required ones first.
func kindKeys(kind string) (required, optional []string) {
	switch kind {
	case KindAuthor:
		return []string{"role", "event", "artifact", "tool"}, []string{"prompt", "when", "file_accepts", "nominates", "research"}
	case KindPlan:
		return nil, []string{"role", "prompt", "research", "change_prompt", "gate"}
	case KindImplement:
		return nil, []string{"role", "prompt", "resolve_prompt"}
	case KindFix:
		return nil, []string{"role", "prompt"}
	case KindReview:
		return nil, []string{"roles", "default_roles", "max_iterations", "prompt", "prompts", "summary_prompt"}
	case KindComplete:
		return nil, []string{"gate"}
	}
	return nil, nil
}

func allKeys() []string {
	all := commonKeys()
	for _, kind := range kinds() {
		required, optional := kindKeys(kind)
		all = append(append(all, required...), optional...)
	}
	return all
}

func (c *checker) phase(i int) {
	p, n := &c.raw.Phases[i], c.root.Field("phases").Items[i]
	if n.Kind != document.Map {
		return
	}
	if !slices.Contains(kinds(), p.Kind) {
		c.problem(at(i, "kind"), "expected one of %s, found %s", strings.Join(kinds(), ", "), n.Field("kind").Found())
		return
	}
	required, optional := kindKeys(p.Kind)
	allowed := slices.Concat(commonKeys(), required, optional)
	c.keys(at(i, ""), n, allowed, slices.Concat([]string{"id", "dir", "next"}, required), article(p.Kind)+" phase")
	c.id(i, p.ID)
	c.dir(i, p)
	c.role(i, "role", p.Role)
	c.author(i, p)
	c.review(i, p, n)
	c.next(i, p)
	for _, name := range []string{"prompt", "change_prompt", "resolve_prompt", "summary_prompt"} {
		if v := n.Field(name); v.IsText() && slices.Contains(allowed, name) {
			c.prompt(at(i, name), v.Text)
		}
	}
	c.conditions(at(i, "when"), p.When)
}

func article(kind string) string {
	if kind == KindAuthor || kind == KindImplement {
		return "an " + kind
	}
	return "a " + kind
}

func (c *checker) id(i int, id string) {
	switch {
	case id == "":
	case id == PhaseDone || id == PhaseFailed:
		c.problem(at(i, "id"), "%q is reserved", id)
	case !idPattern().MatchString(id):
		c.problem(at(i, "id"), "expected a letter, then up to 40 of a-z, 0-9 and _, found %q", document.Excerpt(id))
	}
}

func (c *checker) dir(i int, p *rawPhase) {
	switch {
	case p.Dir == "":
	case !dirPattern().MatchString(p.Dir):
		c.problem(at(i, "dir"), "expected two digits, _ and a-z, 0-9 or _, found %q", document.Excerpt(p.Dir))
	case p.Dir == "03_research":
		c.problem(at(i, "dir"), "03_research belongs to the researchers")
	}
}

func (c *checker) role(i int, key, role string) {
	if role != "" && !slices.Contains(Roles(), role) {
		c.problem(at(i, key), "unknown role %q%s", document.Excerpt(role), meant(role, Roles()))
	}
}

// meant ends a problem with the known word that was probably meant.
func meant(word string, known []string) string {
	if near := document.Nearest(word, known); near != "" {
		return ", did you mean \"" + near + "\"?"
	}
	return ", known: " + strings.Join(known, ", ")
}

func (c *checker) author(i int, p *rawPhase) {
	if p.Kind != KindAuthor {
		return
	}
	events := []string{EventPMCompleted, EventArchitectureWritten, EventDesignWritten}
	if p.Event != "" && !slices.Contains(events, p.Event) {
		c.problem(at(i, "event"), "an author phase cannot emit %q%s", document.Excerpt(p.Event), meant(p.Event, events))
	}
	tools := AuthorTools()
	if p.Tool != "" && !slices.Contains(tools, p.Tool) {
		c.problem(at(i, "tool"), "unknown tool %q%s", document.Excerpt(p.Tool), meant(p.Tool, tools))
	}
	inDir := path.Dir(p.Artifact) == p.Dir && artifactPattern().MatchString(path.Base(p.Artifact)) && path.Clean(p.Artifact) == p.Artifact
	if p.Artifact != "" && p.Artifact != RequirementsFile && !inDir {
		c.problem(at(i, "artifact"), "expected requirements.md or a file in %s, found %q", p.Dir, document.Excerpt(p.Artifact))
	}
}

func (c *checker) review(i int, p *rawPhase, n *document.Node) {
	if p.Kind != KindReview {
		return
	}
	for _, key := range []string{"roles", "default_roles"} {
		roles := p.Roles
		if key == "default_roles" {
			roles = p.DefaultRoles
		}
		if v := n.Field(key); v != nil && v.Kind == document.List && len(v.Items) == 0 {
			c.problem(at(i, key), "expected at least one role")
		}
		for j, role := range roles {
			c.reviewRole(document.Index(at(i, key), j), role, roles[:j])
		}
	}
	allowed := p.Roles
	if len(allowed) == 0 {
		allowed = ReviewRoles()[1:]
	}
	for j, role := range p.DefaultRoles {
		if !slices.Contains(allowed, role) {
			c.problem(document.Index(at(i, "default_roles"), j), "%q is not one of roles", document.Excerpt(role))
		}
	}
	for _, role := range slices.Sorted(maps.Keys(p.Prompts)) {
		place := document.Key(at(i, "prompts"), role)
		if !slices.Contains(allowed, role) {
			c.problem(place, "%q is not one of roles%s", document.Excerpt(role), meant(role, allowed))
		}
		if n.Field("prompts").Field(role).IsText() {
			c.prompt(place, p.Prompts[role])
		}
	}
	if p.MaxIterations != nil && *p.MaxIterations < 0 {
		c.problem(at(i, "max_iterations"), "expected 0 or more, found %d", *p.MaxIterations)
	}
}

func (c *checker) reviewRole(place, role string, before []string) {
	switch {
	case role == "": // of a wrong type, reported already
	case !slices.Contains(ReviewRoles(), role):
		c.problem(place, "%q is not a review role%s", document.Excerpt(role), meant(role, ReviewRoles()))
	case slices.Contains(before, role):
		c.problem(place, "%q is listed twice", role)
	}
}

func (c *checker) prompt(place, name string) {
	if slices.Contains(prompt.Templates(), name) {
		return
	}
	project, isProject := strings.CutPrefix(name, "project/")
	switch {
	case isProject && c.known.Frozen:
	case isProject && c.known.Prompts != nil && fs.ValidPath(project) && !strings.Contains(project, "/"):
		if info, err := fs.Stat(c.known.Prompts, name+".md"); err == nil && info.Mode().IsRegular() {
			c.template(name)
			return
		}
		c.problem(place, "no file %s/%s.md", prompt.ProjectDir, document.Excerpt(name))
	default:
		near := ""
		if n := document.Nearest(name, prompt.Templates()); n != "" {
			near = ", did you mean \"" + n + "\"?"
		}
		c.problem(place, "unknown prompt %q%s", document.Excerpt(name), near)
	}
}

// template checks a prompt of the project, once however many phases use it.
func (c *checker) template(name string) {
	for _, p := range prompt.Problems(c.known.Prompts, name, c.hasFile) {
		if !slices.Contains(c.problems, p) && len(c.problems) < maxKept {
			c.problems = append(c.problems, p)
		}
	}
}

func conditions() []string {
	return []string{ConditionProductManager, ConditionNeedsDesign, ConditionInteractive, ConditionIssue}
}

func (c *checker) conditions(place string, when []string) {
	for j, w := range when {
		name := strings.TrimPrefix(w, "!")
		if w != "" && !slices.Contains(conditions(), name) {
			c.problem(document.Index(place, j), "unknown condition %q%s", document.Excerpt(w), meant(name, conditions()))
		}
	}
}
