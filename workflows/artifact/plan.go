package artifact

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

// Modes of a group.
const (
	ModeSerial   = "serial"
	ModeParallel = "parallel"
)

// Bounds of a plan.
const (
	maxSubplans = 50
	maxTasks    = 200
)

// Plan is a valid plan.yaml of version 2.
type Plan struct {
	Version     int       `doc:"version"`
	Overview    string    `doc:"plan_overview"`
	NeedsDesign bool      `doc:"needs_design"`
	NeedsDocs   bool      `doc:"needs_docs"` // for people; nothing reads it
	DocFiles    []string  `doc:"doc_files"`  // for people; nothing reads it
	Groups      []Group   `doc:"groups"`     // in the order in which they run
	Subplans    []Subplan `doc:"subplans"`

	ReviewStrategy *document.Node `doc:"review_strategy"` // of old plans; ignored
}

// Group is a set of subplans that run one after another or side by side.
type Group struct {
	ID    string    `doc:"group_id"`
	Mode  string    `doc:"mode"`
	Plans []PlanRef `doc:"plans"`
}

// PlanRef names a subplan of a group.
type PlanRef struct {
	Index int    `doc:"index"`
	Name  string `doc:"name"`
}

// Subplan is the work of one coder.
type Subplan struct {
	Index        int      `doc:"index"` // 1…N
	Title        string   `doc:"title"`
	Scope        string   `doc:"scope"`
	OwnedFiles   []string `doc:"owned_files"`  // files, or directories ending in /
	Dependencies Lines    `doc:"dependencies"` // for readers; the groups set the order
	Approach     string   `doc:"implementation_approach"`
	Acceptance   string   `doc:"acceptance_criteria"`
	Tasks        []string `doc:"tasks"`
	Isolation    string   `doc:"isolation_rationale"` // may be empty
}

// Lines is a text or a list of texts.
type Lines []string

// UnmarshalDocument reads either form.
func (l *Lines) UnmarshalDocument(n *document.Node) error {
	items := n.Items
	if n.Kind != document.List {
		items = []*document.Node{n}
	}
	*l = Lines{}
	for _, item := range items {
		if !item.IsText() && (item.Kind != document.Scalar || n.Kind != document.List) {
			return errors.New("expected text or a list of texts, found " + item.Found())
		}
		*l = append(*l, item.Text)
	}
	return nil
}

// Schedule is the part of a plan that a session runs by. Subplans are named by
// their index as text.
type Schedule struct {
	Groups      []ScheduledGroup    `json:"groups"`
	NeedsDesign bool                `json:"needs_design"`
	Owned       map[string][]string `json:"owned"` // subplan -> owned files
}

// ScheduledGroup is one group of a Schedule.
type ScheduledGroup struct {
	GroupID string   `json:"group_id"`
	Mode    string   `json:"mode"`
	Plans   []string `json:"plans"`
}

// Subplans counts the subplans of all groups.
func (s *Schedule) Subplans() int {
	n := 0
	for _, g := range s.Groups {
		n += len(g.Plans)
	}
	return n
}

// Schedule returns the plan's schedule.
func (p *Plan) Schedule() Schedule {
	s := Schedule{NeedsDesign: p.NeedsDesign, Owned: map[string][]string{}}
	for _, g := range p.Groups {
		out := ScheduledGroup{GroupID: g.ID, Mode: g.Mode}
		for _, ref := range g.Plans {
			out.Plans = append(out.Plans, strconv.Itoa(ref.Index))
		}
		s.Groups = append(s.Groups, out)
	}
	for _, sub := range p.Subplans {
		s.Owned[strconv.Itoa(sub.Index)] = slices.Clone(sub.OwnedFiles)
	}
	return s
}

const migration = "expected 2, found %s; version 2 is one plan.yaml that holds plan_overview, needs_design, needs_docs, doc_files, groups and subplans"

// ParsePlan reads a plan.yaml. The plan is nil when a problem is an error. A plan of
// another version gets just that one error, since all others would follow from it.
func ParsePlan(data []byte) (*Plan, document.Problems) {
	c, ok := newContract(data)
	if !ok {
		return nil, c.result()
	}
	if v, isInt := c.root.Field("version").Int(); !isInt || v != 2 {
		c.problems = nil
		c.add("version", migration, c.root.Field("version").Found())
		return nil, c.problems
	}
	p := &Plan{}
	c.decode(p)
	c.plan(p)
	problems := c.result()
	if problems.Err() != nil {
		return nil, problems
	}
	return p, problems
}

func (c *contract) plan(p *Plan) {
	c.required("plan_overview", &p.Overview)
	for _, key := range []string{"needs_design", "needs_docs", "doc_files"} {
		c.present(key, c.root, key)
	}
	for i := range p.DocFiles {
		c.required(document.Index("doc_files", i), &p.DocFiles[i])
	}
	if len(p.Groups) == 0 {
		c.check("groups", "expected at least one group")
	}
	switch n := len(p.Subplans); {
	case n == 0:
		c.check("subplans", "expected at least one subplan")
	case n > maxSubplans:
		c.check("subplans", "%d subplans, at most %d are allowed", n, maxSubplans)
	}
	for i := range p.Groups {
		c.group(document.Index("groups", i), &p.Groups[i])
	}
	for i := range p.Subplans {
		c.subplan(document.Index("subplans", i), c.root.Field("subplans").Items[i], &p.Subplans[i])
	}
	if len(p.Subplans) <= maxSubplans {
		c.cross(p)
	}
	c.strategy(p.ReviewStrategy)
}

func (c *contract) group(path string, g *Group) {
	c.required(document.Key(path, "group_id"), &g.ID)
	if g.Mode != ModeSerial && g.Mode != ModeParallel {
		c.check(document.Key(path, "mode"), "expected serial or parallel, found %s", quoted(g.Mode))
	}
	plans := document.Key(path, "plans")
	if len(g.Plans) == 0 {
		c.check(plans, "expected at least one plan")
	}
	for i := range g.Plans {
		ref := document.Index(plans, i)
		c.index(document.Key(ref, "index"), g.Plans[i].Index)
		c.required(document.Key(ref, "name"), &g.Plans[i].Name)
	}
}

func quoted(text string) string {
	if text == "" {
		return "nothing"
	}
	return strconv.Quote(document.Excerpt(text))
}

func (c *contract) index(path string, i int) {
	if i < 1 {
		c.check(path, "expected a whole number from 1, found %d", i)
	}
}

func (c *contract) subplan(path string, n *document.Node, s *Subplan) {
	c.index(document.Key(path, "index"), s.Index)
	c.required(document.Key(path, "title"), &s.Title)
	c.required(document.Key(path, "scope"), &s.Scope)
	c.required(document.Key(path, "implementation_approach"), &s.Approach)
	c.required(document.Key(path, "acceptance_criteria"), &s.Acceptance)
	c.optional(document.Key(path, "isolation_rationale"), &s.Isolation)
	c.present(document.Key(path, "dependencies"), n, "dependencies")
	for i, d := range s.Dependencies {
		c.length(document.Index(document.Key(path, "dependencies"), i), d)
	}
	tasks := document.Key(path, "tasks")
	switch n := len(s.Tasks); {
	case n == 0:
		c.check(tasks, "expected at least one task")
	case n > maxTasks:
		c.check(tasks, "%d tasks, at most %d are allowed", n, maxTasks)
	}
	for i := range s.Tasks {
		c.required(document.Index(tasks, i), &s.Tasks[i])
	}
	owned := document.Key(path, "owned_files")
	if len(s.OwnedFiles) == 0 {
		c.check(owned, "expected at least one path")
	}
	for i, f := range s.OwnedFiles {
		if problem := ownedProblem(f); problem != "" {
			c.check(document.Index(owned, i), "%s, found %s", problem, quoted(f))
		}
	}
}

// ownedProblem says what is wrong with one owned path.
func ownedProblem(p string) string {
	plain := strings.TrimSuffix(p, "/")
	parts := strings.Split(plain, "/")
	switch {
	case strings.TrimSpace(plain) == "" && p != "/":
		return "expected a path"
	case strings.HasPrefix(p, "/"):
		return "expected a path relative to the repository"
	case slices.Contains(parts, ".."):
		return "a path must not hold .."
	case strings.EqualFold(parts[0], ".agentmux"):
		return "nothing in .agentmux/ can be owned"
	case slices.Contains(parts, ".") || slices.Contains(parts, ""):
		return "expected a path without . and doubled /"
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "a path must not hold control characters"
	}
	return ""
}

// strategy checks the field that earlier plans had.
func (c *contract) strategy(n *document.Node) {
	if n == nil || n.Kind == document.Null {
		return
	}
	w := c.root.Problem("review_strategy", "deprecated and ignored")
	w.Warning = true
	c.problems = append(c.problems, w)
	if n.Kind != document.Map {
		return
	}
	severity := n.Field("severity")
	if severity == nil || !slices.Contains([]string{"low", "medium", "high"}, severity.Text) {
		c.add("review_strategy.severity", "expected low, medium or high, found %s", severity.Found())
	}
}
