package duty

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

// resolves begins the task of a coder that brings its conflicting work in.
const resolves = "resolve-"

// ResolveTask returns the task of the coder that brings in the work of a subplan by hand.
func ResolveTask(subplan string) string { return resolves + subplan }

// Resolves reports whether a coder's task is to bring in conflicting work.
func Resolves(task string) bool { return strings.HasPrefix(task, resolves) }

// SubplanOf returns the subplan that a coder's task is part of.
func SubplanOf(task string) string { return strings.TrimPrefix(task, resolves) }

// researchSuffix ends the roles that research.
const researchSuffix = "-researcher"

// ResearchRole returns the role for a kind of research, code or web.
func ResearchRole(kind string) string { return kind + researchSuffix }

// Researches reports whether the role researches for another.
func Researches(role string) bool { return strings.HasSuffix(role, researchSuffix) }

// ResearchKind returns the kind of research that a role does; ok is false for any other role.
func ResearchKind(role string) (kind string, ok bool) { return strings.CutSuffix(role, researchSuffix) }

// Work returns the name of the workspace of a task, <visit>.<task>: what the task hands in is
// taken from it, and no other agent is let in. A workspace that an earlier version made keeps
// its name while its agent is at work.
func Work(s *orchestrator.State, task string) string {
	name := inVisit(s, task)
	if _, made := s.Workspaces[name]; made {
		return name
	}
	for _, old := range []string{task, orchestrator.WorkspaceSession} {
		if w, ok := s.Workspaces[old]; ok && w.Used == s.Visit {
			return old
		}
	}
	return name
}

// Unsubmitted names the workspaces whose work is in no other place.
func Unsubmitted(s *orchestrator.State) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Workspaces)) {
		if w := s.Workspaces[name]; !IsView(name) && w.Path != "" && w.Used == s.Visit {
			names = append(names, name)
		}
	}
	return names
}

// View returns the name of the workspace that is an agent's view in the present visit: never
// integrated. That of a researcher is the same in each visit, because research may last longer.
func View(s *orchestrator.State, key orchestrator.AgentKey) string {
	old := orchestrator.WorkspaceView + string(key)
	if Researches(key.Role()) {
		return old
	}
	name := inVisit(s, old)
	if w, ok := s.Workspaces[old]; ok && w.Visit == s.Visit && s.Workspaces[name] == (orchestrator.Workspace{}) {
		return old // made by an earlier version
	}
	return name
}

func inVisit(s *orchestrator.State, task string) string { return strconv.Itoa(s.Visit) + "." + task }

// OfVisit takes the name of a workspace apart; ok is false for one that no visit owns: that of
// a researcher, or of an earlier version.
func OfVisit(name string) (visit int, task string, ok bool) {
	number, task, found := strings.Cut(name, ".")
	visit, err := strconv.Atoi(number)
	if !found || err != nil {
		return 0, name, false
	}
	return visit, task, true
}

// IsView reports whether the workspace is a view.
func IsView(name string) bool {
	_, task, _ := OfVisit(name)
	return strings.HasPrefix(task, orchestrator.WorkspaceView)
}

// Viewer returns the agent whose view it is.
func Viewer(view string) orchestrator.AgentKey {
	_, task, _ := OfVisit(view)
	return orchestrator.AgentKey(strings.TrimPrefix(task, orchestrator.WorkspaceView))
}
