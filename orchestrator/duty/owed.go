package duty

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// Agent is an agent that should be at work: it owes a submission.
type Agent struct {
	Role, Task string
	Template   string   // of the prompt
	PromptFile string   // relative to the session directory
	Workspace  string   // name
	Headless   bool     // never a TUI
	Since      string   // reviewers: the tree of their earlier pass, when only changes since then count
	Scope      []string // of an agents file: paths that its work may change; none means all
}

// Key returns the agent key.
func (o Agent) Key() orchestrator.AgentKey { return orchestrator.KeyOf(o.Role, o.Task) }

// Owed lists the agents that owe a submission in the current phase, and every
// running researcher. It is empty while a gate is open, and after the end.
func Owed(def *workflows.Definition, s *orchestrator.State) []Agent {
	phase, ok := def.Phase(s.Phase)
	if !ok || s.Gate != nil {
		return nil
	}
	return append(phaseAgents(def, s, phase), Researchers(s)...)
}

// Researchers lists the agents of the topics that are not finished.
func Researchers(s *orchestrator.State) []Agent {
	var owed []Agent
	for _, kind := range []string{"code", "web"} {
		tasks := researchTasks(s, kind)
		for _, topic := range slices.Sorted(maps.Keys(tasks)) {
			if tasks[topic] == orchestrator.ResearchDispatched {
				owed = append(owed, Researcher(kind, topic))
			}
		}
	}
	return owed
}

func phaseAgents(def *workflows.Definition, s *orchestrator.State, phase workflows.Phase) []Agent {
	switch phase.Kind {
	case workflows.KindAuthor:
		return []Agent{author(s, phase, phase.Prompt, underscored(phase.Role)+"_prompt.md")}
	case workflows.KindPlan:
		if s.ChangeRequest != "" {
			return []Agent{author(s, phase, phase.ChangePrompt, "changes_prompt.md")}
		}
		return []Agent{author(s, phase, phase.Prompt, underscored(phase.Role)+"_prompt.md")}
	case workflows.KindImplement:
		return coders(s, phase)
	case workflows.KindFix:
		return Fixer(def, s, phase)
	case workflows.KindReview:
		return reviewers(def, s, phase)
	case workflows.KindTeam:
		return teammates(def, s)
	}
	return nil
}

func author(s *orchestrator.State, phase workflows.Phase, template, file string) Agent {
	return Agent{
		Role: phase.Role, Template: template, PromptFile: path.Join(phase.Dir, file),
		Workspace: View(s, orchestrator.AgentKey(phase.Role)),
	}
}

func coders(s *orchestrator.State, phase workflows.Phase) []Agent {
	var owed []Agent
	for _, id := range s.ActivePlanIDs {
		if s.SubplanStatus[id] == orchestrator.SubplanRunning {
			owed = append(owed, Coder(s, phase, id))
		}
	}
	return owed
}

// Coder returns the agent of a running subplan: its coder, or the same coder while it resolves
// a conflict.
func Coder(s *orchestrator.State, phase workflows.Phase, id string) Agent {
	o := Agent{Role: phase.Role, Task: id, Template: phase.Prompt, Workspace: Work(s, id),
		PromptFile: path.Join(phase.Dir, "coder_prompt_"+id+".md")}
	if resolving(s, id) {
		o.Task, o.Template, o.Workspace = ResolveTask(id), phase.ResolvePrompt, Work(s, ResolveTask(id))
		o.PromptFile = path.Join(phase.Dir, "resolve_prompt_"+id+".md")
	}
	return o
}

// resolving reports whether the subplan met a conflict that is being resolved.
func resolving(s *orchestrator.State, id string) bool {
	return s.SubplanStatus[id] == orchestrator.SubplanRunning && len(s.Conflicts[id]) > 0
}

// Fixer returns the coder of a fix phase, as a list of one, or nil once it has submitted.
func Fixer(def *workflows.Definition, s *orchestrator.State, phase workflows.Phase) []Agent {
	if s.SubplanStatus[orchestrator.FixTask] != orchestrator.SubplanRunning {
		return nil
	}
	return []Agent{{
		Role: phase.Role, Template: phase.Prompt, Workspace: Work(s, orchestrator.FixTask),
		PromptFile: path.Join(def.DirOf(workflows.KindReview), "fix_prompt.md"),
	}}
}

func reviewers(def *workflows.Definition, s *orchestrator.State, phase workflows.Phase) []Agent {
	roles := ReviewRoles(def, s)
	if s.AwaitingSummary {
		return []Agent{{
			Role: roles[0], Template: phase.SummaryPrompt, Workspace: View(s, orchestrator.AgentKey(roles[0])),
			PromptFile: path.Join(def.DirOf(workflows.KindComplete), "summary_prompt.md"),
		}}
	}
	var owed []Agent
	for _, role := range roles {
		if s.ActiveReviews[role] != orchestrator.ReviewPending {
			continue
		}
		o := Agent{Role: role, Template: phase.ReviewPrompt(role), Workspace: View(s, orchestrator.AgentKey(role)),
			PromptFile: reviewPrompt(phase.Dir, role)}
		if former, ok := s.ReviewResults[role]; ok && former.Verdict == "pass" && former.Tree != s.Integrated.Tree {
			o.Since = former.Tree
		}
		owed = append(owed, o)
	}
	return owed
}

// Researcher returns the agent of a topic. A researcher is never a TUI.
func Researcher(kind, topic string) Agent {
	return Agent{
		Role: ResearchRole(kind), Task: topic, Template: "agents/" + ResearchRole(kind),
		PromptFile: path.Join(ResearchDir(kind, topic), "prompt.md"),
		Workspace:  orchestrator.WorkspaceView + string(orchestrator.KeyOf(ResearchRole(kind), topic)), Headless: true,
	}
}

// OwedBy returns what the agent of a key owes; ok is false if it owes nothing.
func OwedBy(def *workflows.Definition, s *orchestrator.State, key orchestrator.AgentKey) (Agent, bool) {
	for _, o := range Owed(def, s) {
		if o.Key() == key {
			return o, true
		}
	}
	return Agent{}, false
}

// underscored returns a role as file names spell it.
func underscored(role string) string { return strings.ReplaceAll(role, "-", "_") }

func reviewPrompt(dir, role string) string {
	if role == "reviewer" {
		return path.Join(dir, "review_prompt.md")
	}
	return path.Join(dir, "review_"+strings.TrimPrefix(role, "reviewer_")+"_prompt.md")
}

// ReviewRoles returns the roles of a review phase for this session, in the
// order logic, quality, expert.
func ReviewRoles(def *workflows.Definition, s *orchestrator.State) []string {
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
