package host

import (
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/message"
)

// settings returns what a session of a kind keeps of the configuration on this machine. reachable reports whether a
// person can answer its questions.
func (o Options) settings(c *config.Config, kind string, reachable bool) orchestrator.Settings {
	s := orchestrator.Settings{
		MaxReviewIterations: c.Defaults.MaxReviewIterations,
		SkipFinalApproval:   c.Defaults.Completion.SkipFinalApproval,
		ApprovePlan:         c.Approval.Plan,
		ApproveCompletion:   c.Approval.Completion,
		QuestionTimeout:     c.Questions.OnTimeout,
		ReviewRerun:         c.Review.Rerun,
		OnExhausted:         c.Review.OnExhausted,
		ReviewTimeout:       orchestrator.Duration(c.Review.Timeout),
		ScopePolicy:         c.Implement.ScopePolicy,
		AtTerminal:          !c.Agents.Headless,
		LimitPhase:          orchestrator.Duration(c.Limits.Phase),
		LimitTotal:          orchestrator.Duration(c.Limits.Total),
		LimitStall:          orchestrator.Duration(c.Limits.Stall),
		LimitSummary:        orchestrator.Duration(c.Limits.Summary),
		LimitHumanWait:      orchestrator.Duration(c.Limits.HumanWait),
		LimitRemote:         orchestrator.Duration(c.Limits.Remote),
		ProviderWait:        orchestrator.Duration(c.Limits.ProviderWait),
		AgentRetries:        c.Limits.AgentRetries,
		Parallel:            c.Limits.Parallel,
		Research:            c.Limits.Research,
		Ready:               c.GitHub.Ready,
		Reachable:           reachable,
		AckTimeout:          orchestrator.Duration(c.Msg.AckTimeout),
		AskTimeout:          orchestrator.Duration(c.Msg.AskTimeout), Msg: message.Rules{Warn: c.Msg.Routing == "warn", Max: c.Msg.MaxIterations},
		CheckpointEvery: orchestrator.Duration(c.Checkpoint.Every),
	}
	if kind == orchestrator.KindAgents {
		s.ScopePolicy = c.Agents.ScopePolicy
	}
	// A session that is saved nowhere else is not parked to give the machine back: who answers would find nothing of it.
	if c.Checkpoint.Remote && !c.Bot.SingleHost {
		s.ParkAfter = orchestrator.Duration(o.ParkAfter)
	}
	return s
}

// Providers returns the programs a configuration knows.
func Providers(c *config.Config) (agent.Providers, error) {
	providers, problems := agent.Load(c.Overrides())
	return providers, problems.Err()
}
