package story

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentmux/agentmux/internal/usage"
	"github.com/agentmux/agentmux/orchestrator"
)

// Spent is what launches that have ended used, as their programs say. Unknown of them told
// nothing: what they used is not in the sum, and is not zero.
type Spent struct {
	usage.Usage
	Launches int `json:"launches"`
	Unknown  int `json:"unknown"`
}

// Known reports whether any program told what it used.
func (s Spent) Known() bool { return s.Launches > s.Unknown }

// String is the sum in few words, with what is not in it: "1.2 M in, 80 k out, 0.52 USD (not known
// of 1 of 5 launches)"; empty if no launch has ended.
func (s Spent) String() string {
	switch {
	case s.Launches == 0:
		return ""
	case !s.Known():
		return "not known"
	case s.Unknown > 0:
		return fmt.Sprintf("%s (not known of %d of %d launches)", s.Usage, s.Unknown, s.Launches)
	}
	return s.Usage.String()
}

// Usages are what the launches of a session used, each counted once.
type Usages map[orchestrator.Launch]launchUsage

// launchUsage is what one launch used; nil: not known.
type launchUsage struct {
	role, task string
	used       *usage.Usage
}

// Fold takes in one record. A launch may have two ends: what it was found to have exited with, and
// the end of what it left.
func (u *Usages) Fold(e orchestrator.Event) {
	d, ok := e.Data.(orchestrator.AgentExitedRecord)
	if !ok {
		return
	}
	if *u == nil {
		*u = Usages{}
	}
	if d.Usage == nil {
		d.Usage = (*u)[d.Launch].used
	}
	(*u)[d.Launch] = launchUsage{d.Role, d.Task, d.Usage}
}

// Sum is what all launches of a session used, and those of each role by its name.
type Sum struct {
	Spent
	Roles []RoleSpent `json:"roles"`
}

// RoleSpent is what the launches of a role used.
type RoleSpent struct {
	Role string `json:"role"`
	Spent
}

// Sum adds up all launches.
func (u Usages) Sum() Sum { return u.sum(func(launchUsage) bool { return true }) }

// Of adds up the launches for a task, as of an agent of an agents file.
func (u Usages) Of(task string) Sum {
	return u.sum(func(l launchUsage) bool { return l.task == task })
}

func (u Usages) sum(counts func(launchUsage) bool) Sum {
	roles := map[string]Spent{}
	for _, launch := range slices.Sorted(maps.Keys(u)) { // in one order: a sum of floats depends on it
		if l := u[launch]; counts(l) {
			roles[l.role] = roles[l.role].with(l.used)
		}
	}
	sum := Sum{Roles: make([]RoleSpent, 0, len(roles))}
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		sum.Roles = append(sum.Roles, RoleSpent{role, roles[role]})
	}
	sum.Spent = Total(sum.Roles)
	return sum
}

// Total is what the launches of all roles used.
func Total(roles []RoleSpent) (all Spent) {
	for _, r := range roles {
		all.Usage = all.Add(r.Usage)
		all.Launches, all.Unknown = all.Launches+r.Launches, all.Unknown+r.Unknown
	}
	return all
}

// with is s and one launch more.
func (s Spent) with(used *usage.Usage) Spent {
	s.Launches++
	if used == nil {
		s.Unknown++
		return s
	}
	s.Usage = s.Add(used.Sane())
	return s
}

// Line is the sum for a text on the server, by role where there are several; empty while no
// program has told anything.
func (s Sum) Line() string {
	if !s.Known() {
		return ""
	}
	line := "Tokens: " + s.String()
	if len(s.Roles) > 1 {
		for _, r := range s.Roles {
			line += "; " + r.Role + ": " + r.String()
		}
	}
	return line
}
