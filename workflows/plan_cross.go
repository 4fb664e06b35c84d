package workflows

import (
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

// cross checks what no part of a plan shows alone.
func (c *contract) cross(p *Plan) {
	byIndex := c.indexes(p)
	c.groupIDs(p)
	placed := map[int]string{}
	for i, g := range p.Groups {
		path := document.Index("groups", i)
		for j, ref := range g.Plans {
			at := document.Key(document.Index(document.Key(path, "plans"), j), "index")
			before, twice := placed[ref.Index]
			switch _, known := byIndex[ref.Index]; {
			case ref.Index < 1:
			case !known:
				c.check(at, "no subplan has index %d", ref.Index)
			case twice:
				c.check(at, "subplan %d is listed in %s already", ref.Index, before)
			default:
				placed[ref.Index] = path
			}
		}
		if g.Mode == ModeParallel {
			c.disjoint(document.Key(path, "plans"), g, byIndex)
		}
	}
	for i, s := range p.Subplans {
		if _, ok := placed[s.Index]; !ok && s.Index >= 1 && byIndex[s.Index] == &p.Subplans[i] {
			c.check(document.Key(document.Index("subplans", i), "index"), "subplan %d is in no group", s.Index)
		}
	}
}

// indexes returns the subplans by their index and checks that those are 1…N.
func (c *contract) indexes(p *Plan) map[int]*Subplan {
	byIndex := map[int]*Subplan{}
	first := map[int]int{}
	whole := true
	for i := range p.Subplans {
		s := &p.Subplans[i]
		if s.Index < 1 {
			whole = false
			continue
		}
		if j, ok := first[s.Index]; ok {
			whole = false
			c.check(document.Key(document.Index("subplans", i), "index"), "%d is the index of %s too", s.Index, document.Index("subplans", j))
			continue
		}
		first[s.Index], byIndex[s.Index] = i, s
	}
	if !whole {
		return byIndex
	}
	var gaps []string
	for i := 1; i <= len(p.Subplans); i++ {
		if byIndex[i] == nil {
			gaps = append(gaps, strconv.Itoa(i))
		}
	}
	if len(gaps) > 0 {
		c.check("subplans", "indexes must run from 1 to %d without a gap, missing %s", len(p.Subplans), strings.Join(gaps, ", "))
	}
	return byIndex
}

func (c *contract) groupIDs(p *Plan) {
	seen := map[string]int{}
	for i, g := range p.Groups {
		if j, ok := seen[g.ID]; ok && g.ID != "" {
			c.check(document.Key(document.Index("groups", i), "group_id"), "%s is the group_id of %s too", quoted(g.ID), document.Index("groups", j))
			continue
		}
		seen[g.ID] = i
	}
}

// disjoint checks that no two subplans of a parallel group own the same file.
func (c *contract) disjoint(path string, g Group, byIndex map[int]*Subplan) {
	for i, a := range g.Plans {
		for _, b := range g.Plans[i+1:] {
			x, y := byIndex[a.Index], byIndex[b.Index]
			if x == nil || y == nil || x == y {
				continue
			}
			if p, q, ok := overlap(x.OwnedFiles, y.OwnedFiles); ok {
				c.add(path, "subplans %d and %d run in parallel but both own %s (%s, %s)", x.Index, y.Index, narrower(p, q), quoted(p), quoted(q))
			}
		}
	}
}

func overlap(a, b []string) (p, q string, ok bool) {
	for _, p := range a {
		for _, q := range b {
			if within(p, q) || within(q, p) {
				return p, q, true
			}
		}
	}
	return "", "", false
}

// within reports whether inner is outer or lies below it. A name cannot be a file
// and a directory at once, so the final slash does not matter here.
func within(outer, inner string) bool {
	outer, inner = strings.TrimSuffix(outer, "/"), strings.TrimSuffix(inner, "/")
	return outer != "" && (inner == outer || strings.HasPrefix(inner, outer+"/"))
}

func narrower(p, q string) string {
	if len(p) > len(q) {
		return p
	}
	return q
}
