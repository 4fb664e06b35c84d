package workflows

import (
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

// next reads the outcomes of one phase into p.next.
func (c *checker) next(i int, p *rawPhase) {
	p.next = map[string][]Target{}
	outcomes := Outcomes(p.Kind)
	n := c.root.Field("phases").Items[i].Field("next")
	if n == nil || n.Kind != document.Map {
		return
	}
	for _, f := range n.Fields {
		place := document.Key(at(i, "next"), f.Key)
		if !slices.Contains(outcomes, f.Key) {
			c.problem(place, "%s phase has no outcome %q, it has %s", article(p.Kind), document.Excerpt(f.Key), strings.Join(outcomes, ", "))
			continue
		}
		p.next[f.Key] = c.targets(place, f.Value)
	}
	for _, o := range outcomes {
		optional := o == OutcomeFailed && p.MaxIterations != nil && *p.MaxIterations == 0
		if n.Field(o) == nil && !optional {
			c.problem(document.Key(at(i, "next"), o), "outcome has no target")
		}
	}
}

func (c *checker) targets(place string, n *document.Node) []Target {
	if n.IsText() {
		c.target(place, n.Text)
		return []Target{{To: n.Text}}
	}
	if n.Kind != document.List {
		c.problem(place, "expected a phase, done or a list of {when, to}, found %s", n.Found())
		return nil
	}
	if len(n.Items) == 0 {
		c.problem(place, "expected at least one target")
	}
	var raw []struct {
		When []string `doc:"when"`
		To   string   `doc:"to,required"`
	}
	ps := document.Decode(n, &raw, document.Options{Path: place})
	for _, p := range ps {
		c.problem(p.Path, "%s", p.Text)
	}
	var out []Target
	for j, t := range raw {
		item := document.Index(place, j)
		isLast := j == len(raw)-1
		if isLast && len(t.When) > 0 {
			c.problem(item, "the last target must have no when")
		}
		if !isLast && len(t.When) == 0 {
			c.problem(item, "only the last target may have no when")
		}
		if t.To != "" {
			c.target(document.Key(item, "to"), t.To)
		}
		c.conditions(document.Key(item, "when"), t.When)
		out = append(out, Target{When: t.When, To: t.To})
	}
	return out
}

func (c *checker) target(place, to string) {
	if to == PhaseDone || c.has(to) {
		return
	}
	ids := []string{PhaseDone}
	for _, p := range c.raw.Phases {
		ids = append(ids, p.ID)
	}
	near := ""
	if n := document.Nearest(to, ids); n != "" {
		near = ", did you mean \"" + n + "\"?"
	}
	c.problem(place, "no phase %q%s", document.Excerpt(to), near)
}

func (c *checker) counts() {
	if len(c.raw.Phases) == 0 {
		return
	}
	byKind := map[string][]int{}
	for i, p := range c.raw.Phases {
		byKind[p.Kind] = append(byKind[p.Kind], i)
	}
	for _, kind := range []string{KindPlan, KindImplement, KindComplete} {
		if len(byKind[kind]) == 0 {
			c.problem("phases", "no phase of kind %s, one is needed", kind)
		}
	}
	for _, kind := range kinds() {
		if kind == KindAuthor {
			continue
		}
		for _, i := range byKind[kind][min(1, len(byKind[kind])):] {
			c.problem(at(i, "kind"), "a second phase of kind %s", kind)
		}
	}
}

func (c *checker) unique() {
	ids, dirs, tools := map[string]int{}, map[string]int{}, map[string]int{}
	for i, p := range c.raw.Phases {
		if first, ok := ids[p.ID]; ok && p.ID != "" {
			c.problem(at(i, "id"), "repeats the id of %s", at(first, ""))
		} else {
			ids[p.ID] = i
		}
		first, ok := dirs[p.Dir]
		switch {
		case !ok:
			dirs[p.Dir] = i
		case p.Dir != "" && !mayShare(p.Kind, c.raw.Phases[first].Kind):
			c.problem(at(i, "dir"), "shared with %s", at(first, ""))
		}
		if first, ok := tools[p.Tool]; ok && p.Tool != "" {
			c.problem(at(i, "tool"), "used by %s too", at(first, ""))
		} else {
			tools[p.Tool] = i
		}
	}
}

func mayShare(a, b string) bool {
	return a == KindFix && b == KindImplement || a == KindImplement && b == KindFix
}
