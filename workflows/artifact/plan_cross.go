package artifact

import (
	"slices"
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
	var subs []*Subplan
	for _, ref := range g.Plans {
		if s := byIndex[ref.Index]; s != nil && !slices.Contains(subs, s) {
			subs = append(subs, s)
		}
	}
	sets := make([]map[string]string, len(subs))
	for i, s := range subs {
		sets[i] = ownedSet(s.OwnedFiles)
	}
	for i, x := range subs {
		for j, y := range subs[:i] {
			p, q, ok := covered(sets[j], x.OwnedFiles)
			if !ok {
				q, p, ok = covered(sets[i], y.OwnedFiles)
			}
			if ok {
				c.add(path, "subplans %d and %d run in parallel but both own %s (%s, %s)", y.Index, x.Index, narrower(p, q), quoted(p), quoted(q))
			}
		}
	}
}

// ownedSet maps each owned path without its final slash to how it was written. A
// name cannot be a file and a directory at once, so the slash does not matter here.
func ownedSet(files []string) map[string]string {
	set := map[string]string{}
	for _, f := range files {
		if plain := strings.TrimSuffix(f, "/"); plain != "" {
			set[plain] = f
		}
	}
	return set
}

// covered returns the first of files that is in the set or lies below a part of it,
// and that part before it.
func covered(set map[string]string, files []string) (outer, inner string, ok bool) {
	for _, f := range files {
		for part := strings.TrimSuffix(f, "/"); part != "" && part != "."; {
			if outer, ok := set[part]; ok {
				return outer, f, true
			}
			cut := strings.LastIndexByte(part, '/')
			part = part[:max(cut, 0)]
		}
	}
	return "", "", false
}

func narrower(p, q string) string {
	if len(p) > len(q) {
		return p
	}
	return q
}
