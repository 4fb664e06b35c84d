package workflows

import (
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

// graph checks reachability and cycles.
func (c *checker) graph() {
	c.unclear = map[int]bool{}
	for i := range c.raw.Phases {
		c.unclear[i] = c.vague(i)
	}
	fromStart := c.reach(c.raw.Start, "", c.anywhere)
	for i, p := range c.raw.Phases {
		if p.ID == "" || p.ID == PhaseDone {
			continue
		}
		if !fromStart[p.ID] {
			c.add(at(i, ""), "phase %q cannot be reached from start", p.ID)
		}
		if !c.reach(p.ID, "", c.anywhere)[PhaseDone] {
			c.add(at(i, "next"), "done cannot be reached from phase %q", p.ID)
		}
	}
	var plan string
	for _, p := range c.raw.Phases {
		if p.Kind == KindPlan {
			plan = p.ID
		}
	}
	withoutPlan := c.reach(c.raw.Start, plan, c.exactly)
	for i, p := range c.raw.Phases {
		if plan != "" && p.Kind == KindImplement && withoutPlan[p.ID] {
			c.add(at(i, ""), "phase %q can be reached without phase %q", p.ID, plan)
		}
	}
}

// reach returns what can be reached from id, itself included, without entering
// avoid.
func (c *checker) reach(id, avoid string, successors func(id string) []string) map[string]bool {
	seen := map[string]bool{}
	open := []string{id}
	for len(open) > 0 {
		id, open = open[0], open[1:]
		if seen[id] || id == avoid {
			continue
		}
		seen[id] = true
		open = append(open, successors(id)...)
	}
	return seen
}

// anywhere lets a phase whose way out is misspelled lead everywhere, so that one
// mistake is not reported once more for each phase behind it.
func (c *checker) anywhere(id string) []string {
	for i, p := range c.raw.Phases {
		if p.ID == id && c.unclear[i] {
			return append(c.ids(), PhaseDone)
		}
	}
	return c.exactly(id)
}

func (c *checker) exactly(id string) []string { return c.successors(id, "") }

// successors returns where a phase leads by all outcomes but one.
func (c *checker) successors(id, except string) []string {
	var out []string
	for _, p := range c.raw.Phases {
		if p.ID != id || id == PhaseDone {
			continue
		}
		for _, o := range Outcomes(p.Kind) {
			for _, t := range p.next[o] {
				if o != except {
					out = append(out, t.To)
				}
			}
		}
	}
	return out
}

// cycles reports the phases that lie on a cycle which is neither the one of review
// and fix nor goes through requested changes.
func (c *checker) cycles() {
	kind := map[string]string{}
	for _, p := range c.raw.Phases {
		kind[p.ID] = p.Kind
	}
	round := func(from, to string) bool { return kind[from] == KindFix && kind[to] == KindReview }
	reported := map[string]bool{}
	for i, p := range c.raw.Phases {
		if reported[p.ID] {
			continue
		}
		way := c.cycle(p.ID, round)
		if way == nil {
			continue
		}
		for _, id := range way {
			reported[id] = true
		}
		c.add(at(i, "next"), "cycle %s: only review and fix may alternate", strings.Join(way, " -> "))
	}
}

// cycle returns a shortest way from id back to id that uses no allowed edge and no
// requested changes.
func (c *checker) cycle(id string, allowed func(from, to string) bool) []string {
	type way []string
	seen := map[string]bool{}
	open := []way{{id}}
	for len(open) > 0 {
		w := open[0]
		open = open[1:]
		from := w[len(w)-1]
		for _, to := range c.successors(from, OutcomeChangesRequested) {
			if allowed(from, to) {
				continue
			}
			next := append(slices.Clone(w), to)
			if to == id {
				return next
			}
			if !seen[to] {
				seen[to] = true
				open = append(open, next)
			}
		}
	}
	return nil
}

// vague reports whether the way out of a phase is not known.
func (c *checker) vague(i int) bool {
	prefix := at(i, "next")
	return slices.ContainsFunc(c.problems, func(p document.Problem) bool {
		return p.Path == at(i, "") || p.Path == at(i, "kind") || strings.HasPrefix(p.Path, prefix+".") || p.Path == prefix
	})
}

func (c *checker) ids() []string {
	var out []string
	for _, p := range c.raw.Phases {
		out = append(out, p.ID)
	}
	return out
}
