package decide

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// OwedAgent is an agent that should be at work: it owes a submission.
type OwedAgent struct {
	Role, Task string
	Template   string // of the prompt
	PromptFile string // relative to the session directory
	Workspace  string // name
	Headless   bool   // never a TUI
	Since      string // reviewers: the tree of their earlier pass, when only changes since then count
}

// Key returns the agent key.
func (o OwedAgent) Key() string { return orchestrator.AgentKey(o.Role, o.Task) }

// Owed lists the agents that owe a submission in the current phase, and every
// running researcher. It is empty while a gate is open, and after the end.
func Owed(def *workflows.Definition, s *orchestrator.State) []OwedAgent {
	phase, ok := def.Phase(s.Phase)
	if !ok || s.Gate != nil {
		return nil
	}
	return append(phaseAgents(def, s, phase), runningResearchers(s)...)
}

// runningResearchers lists the agents of the topics that are not finished.
func runningResearchers(s *orchestrator.State) []OwedAgent {
	var owed []OwedAgent
	for _, kind := range []string{"code", "web"} {
		tasks := researchTasks(s, kind)
		for _, topic := range slices.Sorted(maps.Keys(tasks)) {
			if tasks[topic] == orchestrator.ResearchDispatched {
				owed = append(owed, researcher(kind, topic))
			}
		}
	}
	return owed
}

func phaseAgents(def *workflows.Definition, s *orchestrator.State, phase workflows.Phase) []OwedAgent {
	switch phase.Kind {
	case workflows.KindAuthor:
		return []OwedAgent{author(phase, phase.Prompt, underscored(phase.Role)+"_prompt.md")}
	case workflows.KindPlan:
		if s.ChangeRequest != "" {
			return []OwedAgent{author(phase, phase.ChangePrompt, "changes_prompt.md")}
		}
		return []OwedAgent{author(phase, phase.Prompt, underscored(phase.Role)+"_prompt.md")}
	case workflows.KindImplement:
		return coders(s, phase)
	case workflows.KindFix:
		return fixer(def, s, phase)
	case workflows.KindReview:
		return reviewers(def, s, phase)
	}
	return nil
}

func author(phase workflows.Phase, template, file string) OwedAgent {
	return OwedAgent{
		Role: phase.Role, Template: template, PromptFile: path.Join(phase.Dir, file),
		Workspace: orchestrator.WorkspaceView + phase.Role,
	}
}

func coders(s *orchestrator.State, phase workflows.Phase) []OwedAgent {
	var owed []OwedAgent
	for _, id := range s.ActivePlanIDs {
		if s.SubplanStatus[id] == orchestrator.SubplanRunning {
			owed = append(owed, coder(s, phase, id))
		}
	}
	return owed
}

// coder returns the agent of a running subplan: the coder itself, or the same
// coder resolving its conflict.
func coder(s *orchestrator.State, phase workflows.Phase, id string) OwedAgent {
	o := OwedAgent{Role: phase.Role, Task: id, Template: phase.Prompt, Workspace: orchestrator.WorkspaceSession,
		PromptFile: path.Join(phase.Dir, "coder_prompt_"+id+".md")}
	if s.GroupMode == "parallel" {
		o.Workspace = id
	}
	if resolving(s, id) {
		o.Task, o.Template, o.Workspace = resolveTask(id), phase.ResolvePrompt, resolveTask(id)
		o.PromptFile = path.Join(phase.Dir, "resolve_prompt_"+id+".md")
	}
	return o
}

// resolving reports whether the subplan met a conflict that is being resolved.
func resolving(s *orchestrator.State, id string) bool {
	return s.SubplanStatus[id] == orchestrator.SubplanRunning && len(s.Conflicts[id]) > 0
}

func fixer(def *workflows.Definition, s *orchestrator.State, phase workflows.Phase) []OwedAgent {
	if s.SubplanStatus[orchestrator.FixTask] != orchestrator.SubplanRunning {
		return nil
	}
	return []OwedAgent{{
		Role: phase.Role, Template: phase.Prompt, Workspace: orchestrator.WorkspaceSession,
		PromptFile: path.Join(dirOf(def, workflows.KindReview), "fix_prompt.md"),
	}}
}

func reviewers(def *workflows.Definition, s *orchestrator.State, phase workflows.Phase) []OwedAgent {
	roles := reviewRoles(def, s)
	if s.AwaitingSummary {
		return []OwedAgent{{
			Role: roles[0], Template: phase.SummaryPrompt, Workspace: orchestrator.WorkspaceView + roles[0],
			PromptFile: path.Join(dirOf(def, workflows.KindComplete), "summary_prompt.md"),
		}}
	}
	var owed []OwedAgent
	for _, role := range roles {
		if s.ActiveReviews[role] != orchestrator.ReviewPending {
			continue
		}
		o := OwedAgent{Role: role, Template: phase.ReviewPrompt(role), Workspace: orchestrator.WorkspaceView + role,
			PromptFile: reviewPrompt(phase.Dir, role)}
		if last, ok := s.ReviewResults[role]; ok && last.Verdict == "pass" && last.Tree != s.Integrated.Tree {
			o.Since = last.Tree
		}
		owed = append(owed, o)
	}
	return owed
}

func researcher(kind, topic string) OwedAgent {
	return OwedAgent{
		Role: researchRole(kind), Task: topic, Template: "agents/" + researchRole(kind),
		PromptFile: path.Join(orchestrator.ResearchDir(kind, topic), "prompt.md"),
		Workspace:  orchestrator.WorkspaceView + orchestrator.AgentKey(researchRole(kind), topic), Headless: true,
	}
}

// owedAgent finds the owed agent of a key.
func owedAgent(def *workflows.Definition, s *orchestrator.State, key string) (OwedAgent, bool) {
	for _, o := range Owed(def, s) {
		if o.Key() == key {
			return o, true
		}
	}
	return OwedAgent{}, false
}

// resolveTask names the task of a coder that brings its conflicting work in.
func resolveTask(id string) string { return "resolve-" + id }

// subplanOf returns the subplan a coder's task works on.
func subplanOf(task string) string { return strings.TrimPrefix(task, "resolve-") }

// researchRole returns the role and the short type of a research tool or type.
func researchRole(kind string) string { return kind + "-researcher" }

// underscored is how role names stand in file names.
func underscored(role string) string { return strings.ReplaceAll(role, "-", "_") }

func reviewPrompt(dir, role string) string {
	if role == "reviewer" {
		return path.Join(dir, "review_prompt.md")
	}
	return path.Join(dir, "review_"+strings.TrimPrefix(role, "reviewer_")+"_prompt.md")
}

func dirOf(def *workflows.Definition, kind string) string {
	p, _ := def.Kind(kind)
	return p.Dir
}

// reviewRoles returns the roles of a review phase for this session, in the
// order logic, quality, expert.
func reviewRoles(def *workflows.Definition, s *orchestrator.State) []string {
	p, ok := def.Kind(workflows.KindReview)
	if !ok {
		return nil
	}
	var roles []string
	for _, role := range p.Roles {
		if slices.Contains(s.Nominations, role) {
			roles = append(roles, role)
		}
	}
	if len(roles) == 0 {
		return slices.Clone(p.DefaultRoles)
	}
	return roles
}

// Check reports the first broken invariant of a state, as an error that names it.
func Check(def *workflows.Definition, s *orchestrator.State) error {
	for _, rule := range invariants {
		if text := rule(def, s); text != "" {
			return fmt.Errorf("state: %s", text)
		}
	}
	return nil
}

var invariants = []func(*workflows.Definition, *orchestrator.State) string{checkTerminal, checkGroups, checkSchedule}

func checkTerminal(def *workflows.Definition, s *orchestrator.State) string {
	_, known := def.Phase(s.Phase)
	switch {
	case s.Phase == orchestrator.PhaseDone && s.Outcome != orchestrator.OutcomeDone && s.Outcome != orchestrator.OutcomeNeedsHuman:
		return fmt.Sprintf("phase done with outcome %q", s.Outcome)
	case s.Phase == orchestrator.PhaseFailed && s.Outcome != orchestrator.OutcomeFailed && s.Outcome != orchestrator.OutcomeCanceled:
		return fmt.Sprintf("phase failed with outcome %q", s.Outcome)
	case s.Phase == orchestrator.PhaseFailed && s.LastEvent != orchestrator.LastRunFailed && s.LastEvent != orchestrator.LastRunCanceled:
		return fmt.Sprintf("phase failed with last_event %q", s.LastEvent)
	case known && s.Outcome != "" && s.Outcome != orchestrator.OutcomeNeedsHuman:
		return fmt.Sprintf("phase %s with outcome %q", s.Phase, s.Outcome)
	case !known && s.Phase != orchestrator.PhaseDone && s.Phase != orchestrator.PhaseFailed:
		return fmt.Sprintf("phase %q is not in the workflow", s.Phase)
	}
	if _, ok := orchestrator.Label(s.LastEvent); !ok {
		return fmt.Sprintf("last_event %q is not in the catalog", s.LastEvent)
	}
	return ""
}

func checkGroups(_ *workflows.Definition, s *orchestrator.State) string {
	if s.GroupIndex < 0 || s.GroupIndex > s.GroupTotal {
		return fmt.Sprintf("group index %d of %d", s.GroupIndex, s.GroupTotal)
	}
	idle := s.GroupIndex == 0 || len(s.CompletedGroups) == s.GroupTotal
	if (s.GroupMode == "") != idle {
		return fmt.Sprintf("group mode %q at group %d of %d", s.GroupMode, s.GroupIndex, s.GroupTotal)
	}
	for _, id := range s.ActivePlanIDs {
		if slices.Contains(s.CompletedSubplans, id) {
			return fmt.Sprintf("subplan %s is active and completed", id)
		}
	}
	return ""
}

func checkSchedule(def *workflows.Definition, s *orchestrator.State) string {
	if s.Schedule == nil {
		kind, ok := def.Phase(s.Phase)
		if ok && slices.Contains([]string{workflows.KindImplement, workflows.KindReview, workflows.KindFix, workflows.KindComplete}, kind.Kind) && !s.IsClassic() {
			return "phase " + s.Phase + " without a schedule"
		}
		return ""
	}
	scheduled := map[string]bool{}
	for _, group := range s.Schedule.Groups {
		for _, id := range group.Plans {
			scheduled[id] = true
		}
	}
	for _, id := range append(slices.Clone(s.ActivePlanIDs), s.CompletedSubplans...) {
		if !scheduled[id] {
			return fmt.Sprintf("subplan %s is not in the schedule", id)
		}
	}
	return ""
}
