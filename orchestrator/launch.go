package orchestrator

import (
	"strconv"
	"strings"
)

// AgentKey names an agent of a session: its role, or <role>/<task>. Keys of old files keep
// their words, whatever these are, so the type is a string and not its parts.
type AgentKey string

// KeyOf returns the key of a role and its task; task is empty for a role with one agent.
func KeyOf(role, task string) AgentKey {
	if task == "" {
		return AgentKey(role)
	}
	return AgentKey(role + "/" + task)
}

// Split returns the role and the task of the key.
func (k AgentKey) Split() (role, task string) {
	role, task, _ = strings.Cut(string(k), "/")
	return role, task
}

// Role returns the role of the key.
func (k AgentKey) Role() string {
	role, _ := k.Split()
	return role
}

// Flat returns the key without a slash: the name of a window, the end of an address.
func (k AgentKey) Flat() string { return strings.ReplaceAll(string(k), "/", "-") }

// Address returns what messages to the agent and from it call it.
func (k AgentKey) Address() string { return "pipeline/" + k.Flat() }

// RelaunchTimers begins the names of the deadlines at which lost agents are started again.
const RelaunchTimers = "relaunch/"

// RelaunchTimer returns the name of the deadline at which a lost agent is started again.
func RelaunchTimer(key AgentKey) string { return RelaunchTimers + string(key) }

// Launch names one start of an agent: <visit>.<role>[.<task>].<attempt>. A line or a file of
// somebody else may name a launch that has no parts; it keeps its words.
type Launch string

// LaunchParts is what a launch consists of.
type LaunchParts struct {
	Visit      int
	Role, Task string
	Attempt    int // the first is 1
}

// Launch joins the parts.
func (p LaunchParts) Launch() Launch {
	name := strconv.Itoa(p.Visit) + "." + p.Role + "."
	if p.Task != "" {
		name += p.Task + "."
	}
	return Launch(name + strconv.Itoa(p.Attempt))
}

// Parts takes the launch apart; ok is false if it is not one of ours.
func (l Launch) Parts() (p LaunchParts, ok bool) {
	parts := strings.Split(string(l), ".")
	if len(parts) != 3 && len(parts) != 4 {
		return LaunchParts{}, false
	}
	visit, wrong := strconv.Atoi(parts[0])
	attempt, err := strconv.Atoi(parts[len(parts)-1])
	if wrong != nil || err != nil {
		return LaunchParts{}, false
	}
	p = LaunchParts{Visit: visit, Role: parts[1], Attempt: attempt}
	if len(parts) == 4 {
		p.Task = parts[2]
	}
	return p, true
}

// Of reports whether the launch was made in the visit.
func (l Launch) Of(visit int) bool {
	p, ok := l.Parts()
	return ok && p.Visit == visit
}
