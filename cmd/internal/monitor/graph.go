package monitor

import (
	"slices"

	"github.com/agentmux/agentmux/orchestrator/story"
)

// ordered returns agents of an agents file in an order in which each comes after all that it
// depends on, and for each the index of the one that it is drawn under, -1 for none: the last of
// those it depends on. What the graph leaves open has the order of the file.
func ordered(team []story.Member) (members []story.Member, under []int) {
	byName := make(map[string]int, len(team))
	for i := range team {
		byName[team[i].Name] = i
	}
	var order []int // of indices of team: a forest from its roots to its leaves
	parent := make([]int, len(team))
	last := make([]int, len(team)) // of those drawn under it, in order
	for i := range last {
		parent[i], last[i] = -1, i
	}
	for _, i := range sorted(team, byName) {
		at := len(order)
		// Those in order never change places, so that all that i depends on stays in front of it.
		after := -1
		for _, name := range team[i].DependsOn {
			if d, ok := byName[name]; ok {
				after = max(after, slices.Index(order, d))
			}
		}
		if after >= 0 {
			parent[i] = order[after]
			at = slices.Index(order, last[parent[i]]) + 1
		}
		order = slices.Insert(order, at, i)
		for up := parent[i]; up >= 0 && last[up] == order[at-1]; up = parent[up] {
			last[up] = i
		}
	}
	for _, i := range order {
		members = append(members, team[i])
		under = append(under, slices.Index(order, parent[i]))
	}
	return members, under
}

// sorted returns the indices of a team so that each agent comes after all that it depends on,
// otherwise in the order of the file.
func sorted(team []story.Member, byName map[string]int) []int {
	var order []int
	seen := make([]bool, len(team))
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, name := range team[i].DependsOn {
			if d, ok := byName[name]; ok {
				visit(d)
			}
		}
		order = append(order, i)
	}
	for i := range team {
		visit(i)
	}
	return order
}

// maxBranches bounds the columns that the lines of the graph take.
const maxBranches = 12

// branches draws the lines of a forest in front of its nodes, which stand below those they are
// under.
func branches(under []int) []string {
	lastChild := make([]int, len(under))
	for i, up := range under {
		if up >= 0 {
			lastChild[up] = i
		}
	}
	out := make([]string, len(under))
	below := make([]string, len(under)) // what the lines of a node's own nodes begin with
	for i, up := range under {
		switch {
		case up < 0:
		case lastChild[up] == i:
			out[i], below[i] = below[up]+"└ ", below[up]+"  "
		default:
			out[i], below[i] = below[up]+"├ ", below[up]+"│ "
		}
	}
	for i, text := range out {
		if runes := []rune(text); len(runes) > maxBranches {
			out[i] = "… " + string(runes[len(runes)-maxBranches+2:])
		}
	}
	return out
}

// kept leaves of a forest the nodes with these indices, in their order. What was under one that
// is left out is then under the one above that.
func kept(under, indices []int) []int {
	out := make([]int, len(indices))
	for i, index := range indices {
		up := under[index]
		for up >= 0 && !slices.Contains(indices, up) {
			up = under[up]
		}
		out[i] = slices.Index(indices, up)
	}
	return out
}
