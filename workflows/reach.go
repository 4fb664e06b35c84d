package workflows

import (
	"slices"
	"strings"
)

// graph checks reachability and cycles. An unknown target, reported already, leads
// nowhere.
func (c *checker) graph() {
	all := func(rawPhase, string) bool { return true }
	fromStart := c.reach(c.raw.Start, "", all)
	for i, p := range c.raw.Phases {
		if !fromStart[p.ID] {
			c.add(at(i, ""), "phase %q cannot be reached from start", p.ID)
		}
		if !c.reach(p.ID, "", all)[PhaseDone] {
			c.add(at(i, "next"), "done cannot be reached from phase %q", p.ID)
		}
	}
	var plan string
	for _, p := range c.raw.Phases {
		if p.Kind == KindPlan {
			plan = p.ID
		}
	}
	withoutPlan := c.reach(c.raw.Start, plan, all)
	for i, p := range c.raw.Phases {
		if plan != "" && p.Kind == KindImplement && withoutPlan[p.ID] {
			c.add(at(i, ""), "phase %q can be reached without phase %q", p.ID, plan)
		}
	}
	c.cycles()
}

// reach returns what can be reached from id, itself included, without entering
// avoid, along the edges that take allows.
func (c *checker) reach(id, avoid string, take func(p rawPhase, outcome string) bool) map[string]bool {
	seen := map[string]bool{}
	open := []string{id}
	for len(open) > 0 {
		id, open = open[0], open[1:]
		if seen[id] || id == avoid {
			continue
		}
		seen[id] = true
		open = append(open, c.successors(id, take)...)
	}
	return seen
}

func (c *checker) successors(id string, take func(p rawPhase, outcome string) bool) []string {
	var out []string
	for _, p := range c.raw.Phases {
		if p.ID != id {
			continue
		}
		for _, o := range Outcomes(p.Kind) {
			for _, t := range p.next[o] {
				if take(p, o) {
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
	var fix, review string
	for _, p := range c.raw.Phases {
		switch p.Kind {
		case KindFix:
			fix = p.ID
		case KindReview:
			review = p.ID
		}
	}
	take := func(_ rawPhase, outcome string) bool { return outcome != OutcomeChangesRequested }
	reported := map[string]bool{}
	for i, p := range c.raw.Phases {
		if reported[p.ID] {
			continue
		}
		way := c.cycle(p.ID, func(from, to string) bool { return from == fix && to == review }, take)
		if way == nil {
			continue
		}
		for _, id := range way {
			reported[id] = true
		}
		c.add(at(i, "next"), "cycle %s: only review and fix may alternate", strings.Join(way, " -> "))
	}
}

// cycle returns a shortest way from id back to id that uses no allowed edge.
func (c *checker) cycle(id string, allowed func(from, to string) bool, take func(p rawPhase, outcome string) bool) []string {
	type way []string
	seen := map[string]bool{}
	open := []way{{id}}
	for len(open) > 0 {
		w := open[0]
		open = open[1:]
		from := w[len(w)-1]
		for _, to := range c.successors(from, take) {
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
