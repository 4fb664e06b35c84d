package duty

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
)

// Call is a tool call of an agent, or a line that records one.
type Call struct {
	Tool, Role, Task string
	Launch           orchestrator.Launch
	Visit            *int // of the launch; nil in a classic line
	Payload          orchestrator.Payload
}

// Judgement tells whether a call is accepted now.
type Judgement struct {
	OK       bool
	Already  bool     // this very submission was accepted before
	Reason   string   // why not, for people and agents
	Expected []string // tools the caller may submit with now
}

// AlreadySubmitted is the reason why a submission that was taken before has no effect.
const AlreadySubmitted = "already submitted"

func accepted() Judgement                      { return Judgement{OK: true} }
func already() Judgement                       { return Judgement{Already: true, Reason: AlreadySubmitted} }
func refuse(format string, a ...any) Judgement { return Judgement{Reason: fmt.Sprintf(format, a...)} }

type rule func(def *workflows.Definition, s *orchestrator.State, c Call) Judgement

// rules judge the calls of the tools in the table, by when each is accepted.
var rules = map[toolset.When]rule{
	toolset.InAuthorPhase:      authorRule,
	toolset.InPlanPhase:        planRule,
	toolset.WhileCoding:        doneRule,
	toolset.WhileReviewing:     reviewRule,
	toolset.WhenSummaryIsDue:   summaryRule,
	toolset.WhileTopicRuns:     researchDoneRule,
	toolset.InResearchingPhase: dispatchRule,
	toolset.WhileAtWork:        askRule,
	toolset.Always:             anyRule,
}

// KnownTool reports whether a line may name the tool.
func KnownTool(tool string) bool {
	t, ok := toolset.Find(tool)
	return ok && t.Recorded()
}

// PhaseBound reports whether a line of the tool counts only in the visit it was
// made in.
func PhaseBound(tool string) bool {
	t, ok := toolset.Find(tool)
	return ok && t.PhaseBound()
}

// Accepts judges a call against the state: role, phase and task. It does not
// look at the artifact.
func Accepts(def *workflows.Definition, s *orchestrator.State, c Call) Judgement {
	tool, _ := toolset.Find(c.Tool)
	check, ok := rules[tool.When]
	if !ok {
		return refuse("unknown tool %q", c.Tool)
	}
	j := check(def, s, c)
	if !j.OK {
		j.Expected = expectedTools(def, s, c)
	}
	return j
}

// expectedTools lists what the caller could submit with in the current phase.
func expectedTools(def *workflows.Definition, s *orchestrator.State, c Call) []string {
	phase, ok := def.Phase(s.Phase)
	if !ok {
		return nil
	}
	for _, o := range phaseAgents(def, s, phase) {
		if c.Role != "" && o.Role != c.Role {
			continue
		}
		if tool, ok := toolset.Ending(phase, s.AwaitingSummary); ok {
			return []string{tool.Name}
		}
	}
	return nil
}

func otherPhase(s *orchestrator.State, tool string) Judgement {
	return refuse("the session is in phase %s, which does not take %s", s.Phase, tool)
}

// left reports whether the call's launch belongs to a visit that is over.
func left(s *orchestrator.State, c Call) bool { return c.Visit != nil && *c.Visit < s.Visit }

func ownRole(c Call, role string) (Judgement, bool) {
	if c.Role == "" || c.Role == role {
		return Judgement{}, true
	}
	return refuse("%s is a tool of the %s, you are the %s", c.Tool, role, c.Role), false
}

func authorRule(def *workflows.Definition, s *orchestrator.State, c Call) Judgement {
	for _, phase := range def.Phases {
		if phase.Kind != workflows.KindAuthor || phase.Tool != c.Tool {
			continue
		}
		if j, ok := ownRole(c, phase.Role); !ok {
			return j
		}
		return authorPhase(s, c, phase.ID)
	}
	return refuse("workflow %s has no phase that takes %s", s.Workflow, c.Tool)
}

func authorPhase(s *orchestrator.State, c Call, phase string) Judgement {
	switch {
	case s.Phase == phase && !left(s, c):
		return accepted()
	case left(s, c) && s.Phase != orchestrator.PhaseFailed:
		return already()
	}
	return otherPhase(s, c.Tool)
}

func planRule(def *workflows.Definition, s *orchestrator.State, c Call) Judgement {
	phase, _ := def.Kind(workflows.KindPlan)
	if j, ok := ownRole(c, phase.Role); !ok {
		return j
	}
	if s.Phase == phase.ID && s.Gate != nil {
		return already()
	}
	return authorPhase(s, c, phase.ID)
}

func doneRule(def *workflows.Definition, s *orchestrator.State, c Call) Judgement {
	phase, ok := def.Phase(s.Phase)
	if ok && phase.Kind == workflows.KindTeam {
		return teamDone(def, s, c)
	}
	if !ok || phase.Kind != workflows.KindImplement && phase.Kind != workflows.KindFix {
		if left(s, c) && s.Phase != orchestrator.PhaseFailed {
			return already()
		}
		return otherPhase(s, c.Tool)
	}
	if j, ok := ownRole(c, phase.Role); !ok {
		return j
	}
	if left(s, c) {
		return already()
	}
	if phase.Kind == workflows.KindFix {
		return fixDone(s, c)
	}
	return subplanDone(s, c)
}

func fixDone(s *orchestrator.State, c Call) Judgement {
	if left(s, c) || s.SubplanStatus[orchestrator.FixTask] != orchestrator.SubplanRunning {
		return already()
	}
	return accepted()
}

func subplanDone(s *orchestrator.State, c Call) Judgement {
	if c.Payload.SubplanIndex == nil {
		return refuse("subplan_index is missing; active: %s", list(s.ActivePlanIDs))
	}
	id := string(*c.Payload.SubplanIndex)
	if c.Task != "" && SubplanOf(c.Task) != id {
		return refuse("this launch works on subplan %s, not on %s", SubplanOf(c.Task), id)
	}
	switch s.SubplanStatus[id] {
	case orchestrator.SubplanRunning:
		if slices.Contains(s.ActivePlanIDs, id) {
			return accepted()
		}
	case orchestrator.SubplanSubmitted, orchestrator.SubplanDone, orchestrator.SubplanConflict:
		return already()
	case "":
		return refuse("the plan has no subplan %s; active: %s", id, list(s.ActivePlanIDs))
	}
	return refuse("subplan %s is not active; active: %s", id, list(s.ActivePlanIDs))
}

func reviewRule(def *workflows.Definition, s *orchestrator.State, c Call) Judgement {
	phase, ok := def.Phase(s.Phase)
	if !ok || phase.Kind != workflows.KindReview {
		if left(s, c) && s.Phase != orchestrator.PhaseFailed {
			return already()
		}
		return otherPhase(s, c.Tool)
	}
	role := c.Role
	if c.Payload.Role != "" {
		role = c.Payload.Role
	}
	if left(s, c) {
		return already()
	}
	if c.Role != "" && role != c.Role {
		return refuse("you are the %s and cannot submit for the %s", c.Role, role)
	}
	switch s.ActiveReviews[role] {
	case orchestrator.ReviewPending:
		return accepted()
	case orchestrator.ReviewCompleted:
		return already()
	}
	return refuse("no review of %q is pending; pending: %s", role, list(PendingReviews(s)))
}

// PendingReviews lists the roles whose verdict the round still waits for, sorted.
func PendingReviews(s *orchestrator.State) []string {
	var roles []string
	for role, status := range s.ActiveReviews {
		if status == orchestrator.ReviewPending {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return roles
}

func summaryRule(def *workflows.Definition, s *orchestrator.State, c Call) Judgement {
	roles := ReviewRoles(def, s)
	if len(roles) > 0 && c.Role != "" && c.Role != roles[0] {
		return refuse("the summary is written by the %s, you are the %s", roles[0], c.Role)
	}
	if s.AwaitingSummary && !left(s, c) {
		return accepted()
	}
	if s.Completion.Summary != "" || left(s, c) && s.Phase != orchestrator.PhaseFailed {
		return already()
	}
	return otherPhase(s, c.Tool)
}

func researchTasks(s *orchestrator.State, kind string) map[string]string {
	if kind == "web" {
		return s.WebResearchTasks
	}
	return s.ResearchTasks
}

func researchDoneRule(_ *workflows.Definition, s *orchestrator.State, c Call) Judgement {
	kind := c.Payload.Type
	if c.Role != "" && c.Role != ResearchRole(kind) {
		return refuse("you are the %s and cannot submit %q research", c.Role, kind)
	}
	if c.Task != "" && c.Task != c.Payload.Topic {
		return refuse("this launch works on topic %s, not on %s", c.Task, c.Payload.Topic)
	}
	switch researchTasks(s, kind)[c.Payload.Topic] {
	case orchestrator.ResearchDispatched:
		return accepted()
	case orchestrator.ResearchDone:
		return already()
	}
	return refuse("no %s research %q is running", kind, c.Payload.Topic)
}

func dispatchRule(def *workflows.Definition, s *orchestrator.State, c Call) Judgement {
	phase, ok := def.Phase(s.Phase)
	if !ok || !phase.Research || s.Gate != nil {
		return otherPhase(s, c.Tool)
	}
	if j, ok := ownRole(c, phase.Role); !ok {
		return j
	}
	tool, _ := toolset.Find(c.Tool)
	kind := tool.Research
	switch researchTasks(s, kind)[c.Payload.Topic] {
	case orchestrator.ResearchDispatched:
		return refuse("research %s is already running; its result comes as a message", c.Payload.Topic)
	case orchestrator.ResearchDone:
		return refuse("research %s is done: read %s", c.Payload.Topic, path.Join(ResearchDir(kind, c.Payload.Topic), "summary.md"))
	}
	if n := len(Researchers(s)); s.Settings.Research > 0 && n >= s.Settings.Research {
		return refuse("%d research tasks are running, at most %d may; wait for one to end", n, s.Settings.Research)
	}
	return accepted()
}

func anyRule(*workflows.Definition, *orchestrator.State, Call) Judgement { return accepted() }

func list(items []string) string { return cmp.Or(strings.Join(items, ", "), "none") }
