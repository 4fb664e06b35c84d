package artifact

import (
	"regexp"
	"strconv"

	"github.com/agentmux/agentmux/internal/document"
)

var planFilePattern = regexp.MustCompile(`^plan_([0-9]{1,4})\.md$`)

// ParseExecutionPlan reads the execution_plan.yaml of a session of an earlier tool.
// The exists function tells whether a plan file lies beside it; nil skips that
// check. Such a plan owns no files. The schedule is nil when a problem is an error.
func ParseExecutionPlan(data []byte, exists func(file string) bool) (*Schedule, document.Problems) {
	c, ok := newContract(data)
	if !ok {
		return nil, c.result()
	}
	var e executionPlan
	c.decode(&e)
	c.executionPlan(&e, exists)
	problems := c.result()
	if problems.Err() != nil {
		return nil, problems
	}
	s := &Schedule{NeedsDesign: e.NeedsDesign, Owned: map[string][]string{}}
	for _, g := range e.Groups {
		out := ScheduledGroup{GroupID: g.GroupID, Mode: g.Mode}
		for _, ref := range g.Plans {
			out.Plans = append(out.Plans, strconv.Itoa(planIndex(ref.File)))
		}
		s.Groups = append(s.Groups, out)
	}
	return s, problems
}

// planIndex returns N of plan_N.md, or 0.
func planIndex(file string) int {
	m := planFilePattern.FindStringSubmatch(file)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return n
}

func (c *contract) executionPlan(e *executionPlan, exists func(string) bool) {
	if len(e.Groups) == 0 {
		c.check("groups", "expected at least one group")
	}
	groups, indexes := map[string]bool{}, map[int]bool{}
	for i := range e.Groups {
		g := &e.Groups[i]
		path := document.Index("groups", i)
		id := document.Key(path, "group_id")
		c.required(id, &g.GroupID)
		if groups[g.GroupID] {
			c.check(id, "repeated group_id %s", quoted(g.GroupID))
		}
		groups[g.GroupID] = true
		if g.Mode != ModeSerial && g.Mode != ModeParallel {
			c.check(document.Key(path, "mode"), "expected serial or parallel, found %s", quoted(g.Mode))
		}
		if len(g.Plans) == 0 {
			c.check(document.Key(path, "plans"), "expected at least one plan")
		}
		for j := range g.Plans {
			c.executionRef(document.Index(document.Key(path, "plans"), j), &g.Plans[j], indexes, exists)
		}
	}
	for i := 1; i <= len(indexes); i++ {
		if !indexes[i] {
			c.check("groups", "plan files must run from plan_1.md to plan_%d.md without a gap, missing plan_%d.md", len(indexes), i)
			return
		}
	}
}

func (c *contract) executionRef(path string, ref *executionRef, indexes map[int]bool, exists func(string) bool) {
	c.required(document.Key(path, "name"), &ref.Name)
	file := document.Key(path, "file")
	n := planIndex(ref.File)
	switch {
	case n == 0:
		c.check(file, "expected plan_<N>.md, found %s", quoted(ref.File))
	case indexes[n]:
		c.check(file, "%s is listed twice", ref.File)
	case exists != nil && !exists(ref.File):
		c.check(file, "%s does not exist", ref.File)
	}
	if n > 0 {
		indexes[n] = true
	}
}
