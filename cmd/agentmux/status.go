package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

func (a *app) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "status [S]",
		Short:   "Show a session: phase, agents, questions, what to do next",
		Example: "  agentmux status\n  agentmux status '#42' --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, err := a.find(args, nil)
			if err != nil {
				return err
			}
			if entry.Err != nil {
				return entry.Err
			}
			if asJSON {
				return printJSON(a.out, a.statusOf(cmd.Context(), entry))
			}
			a.printStatus(cmd.Context(), a.out, entry)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "machine-readable output")
	return group(groupStart, cmd)
}

// statusJSON is what status tells a script.
type statusJSON struct {
	sessionJSON
	Outcome   string                  `json:"outcome,omitempty"`
	Reason    string                  `json:"reason,omitempty"`
	Cause     string                  `json:"cause,omitempty"`
	Gate      string                  `json:"gate,omitempty"`
	Iteration int                     `json:"review_iteration"`
	Agents    map[string]string       `json:"agents"`
	Subplans  map[string]string       `json:"subplans"`
	Questions []orchestrator.Question `json:"questions"`
	Sandbox   string                  `json:"sandbox"`
	Setup     string                  `json:"setup,omitempty"`  // why sandbox.setup is not run
	GitHub    string                  `json:"github,omitempty"` // why not everything is shown there
	Next      string                  `json:"next,omitempty"`
}

func (a *app) statusOf(ctx context.Context, e session.Entry) statusJSON {
	s, shown := e.State, a.shown()
	out := statusJSON{
		sessionJSON: listJSON([]session.Entry{e})[0], Outcome: string(s.Outcome), Reason: string(s.OutcomeReason),
		Cause: shown(string(s.Cause)), Iteration: s.ReviewIteration, Agents: map[string]string{}, Subplans: s.SubplanStatus,
		Questions: []orchestrator.Question{}, Sandbox: "none", Setup: a.setupOf(e), Next: nextStep(ctx, e),
	}
	if s.Mirror {
		out.GitHub = shown(ghsync.Trouble(e.Dir))
	}
	if s.Gate != nil {
		out.Gate = s.Gate.Name
	}
	for key, agent := range s.Agents {
		if agent.Launch != "" {
			out.Agents[key] = agentWord(agent)
		}
	}
	for _, q := range s.Questions {
		if q.Open() {
			q.Text, q.Options = shown(q.Text), slices.Clone(q.Options)
			for i := range q.Options {
				q.Options[i] = shown(q.Options[i])
			}
			out.Questions = append(out.Questions, q)
		}
	}
	return out
}

func agentWord(agent orchestrator.Agent) string {
	if agent.Waiting != "" {
		return "waiting for " + string(agent.Waiting)
	}
	return "at work, launch " + agent.Launch
}

// nextStep is the one line that tells what a person can do now.
func nextStep(ctx context.Context, e session.Entry) string {
	s := e.State
	switch {
	case s.Paused && !s.Ended(): // a gate takes no answer now
		return "agentmux resume " + e.Name
	case s.Gate != nil:
		return fmt.Sprintf("agentmux approve %s, or agentmux changes \"...\" %s", e.Name, e.Name)
	case slices.ContainsFunc(s.Questions, orchestrator.Question.Open):
		return "agentmux answer ID \"...\" --session " + e.Name
	case s.Parked(), s.Phase == orchestrator.PhaseFailed:
		return "agentmux resume " + e.Name
	case s.Ended():
		if step := proposal(ctx, e.Dir, s); step != "" || e.Running || s.Phase != orchestrator.PhaseDone || s.Completion.PRNumber == 0 {
			return step
		}
		if owes(e) {
			return "agentmux resume " + e.Name + " shows the rest on GitHub"
		}
		return "review the pull request" + draftStep(s) + "; agentmux changes \"...\" " + e.Name + " asks for another round"
	case !e.Running:
		return "no host runs it: agentmux resume " + e.Name
	}
	return "agentmux attach " + e.Name
}

// draftStep is what a person does with a pull request that passed and is a draft at the end:
// one was wanted, files were held, or the server or the account cannot end drafts.
func draftStep(s *orchestrator.State) string {
	if s.Outcome != orchestrator.OutcomeDone || s.Completion.PRNumber == 0 || !s.Completion.Draft {
		return ""
	}
	return ", a draft, and make it ready for review there"
}

func (a *app) printStatus(ctx context.Context, w io.Writer, e session.Entry) {
	s, shown := e.State, a.shown()
	row := func(name, format string, args ...any) {
		// A text of several lines must not look like rows of ours.
		text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
		fmt.Fprintf(w, "%-10s %s\n", name, shown(text))
	}
	row("session", "%s", e.Name)
	if s.IssueNumber > 0 {
		row("issue", "%s#%d %s", s.Repo, s.IssueNumber, s.IssueTitle)
	}
	row("phase", "%s (%s)", s.Phase, e.Condition())
	if s.OutcomeReason != "" {
		row("reason", "%s", s.OutcomeReason)
	}
	if s.Cause != "" {
		row("cause", "%s", s.Cause)
	}
	row("workflow", "%s, config: %s, sandbox: none (not built yet; agents run as you)", s.Workflow, s.ConfigSource)
	if note := a.setupOf(e); note != "" {
		row("setup", "%s", note)
	}
	row("branch", "%s from %s", s.FeatureBranch, s.BaseBranch)
	if s.Completion.PRURL != "" {
		row("pull", "%s", s.Completion.PRURL)
	}
	if trouble := ghsync.Trouble(e.Dir); trouble != "" && s.Mirror {
		row("github", "%s", trouble)
	}
	printWork(row, s)
	if next := nextStep(ctx, e); next != "" {
		row("next", "%s", next)
	}
}

func printWork(row func(string, string, ...any), s *orchestrator.State) {
	if s.SubplanCount > 0 {
		row("subplans", "%d of %d done", len(s.CompletedSubplans), s.SubplanCount)
	}
	for _, role := range slices.Sorted(maps.Keys(s.ReviewResults)) {
		res := s.ReviewResults[role]
		row("review", "round %d, %s: %s", res.Iteration+1, role, res.Verdict)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Agents)) {
		if agent := s.Agents[key]; agent.Launch != "" {
			row("agent", "%s: %s", key, agentWord(agent))
		}
	}
	for _, q := range s.Questions {
		if q.Open() {
			row("question", "%s from %s: %s %s", q.ID, orchestrator.AgentKey(q.Role, q.Task), q.Text, strings.Join(q.Options, " | "))
		}
	}
}
