package orchestrator

import (
	"time"

	"github.com/agentmux/agentmux/workflows/message"
)

// Settings holds every configured value the reducer uses, frozen in the state until a resume: a replay decides the same.
type Settings struct {
	MaxReviewIterations int           `json:"max_review_iterations"`
	SkipFinalApproval   bool          `json:"skip_final_approval"`
	ApprovePlan         bool          `json:"approve_plan"`
	ApproveCompletion   bool          `json:"approve_completion"`
	QuestionTimeout     string        `json:"questions_on_timeout"` // decide, park
	ReviewRerun         string        `json:"review_rerun"`         // failed, all, trust
	OnExhausted         string        `json:"review_on_exhausted"`  // draft_pr, stop
	ReviewTimeout       Duration      `json:"review_timeout"`
	ScopePolicy         string        `json:"scope_policy"`          // report, fail
	AtTerminal          bool          `json:"at_terminal,omitempty"` // agents of an agents file that others wait for may have terminals
	LimitPhase          Duration      `json:"limit_phase"`
	LimitTotal          Duration      `json:"limit_total"`
	LimitStall          Duration      `json:"limit_stall"`
	LimitSummary        Duration      `json:"limit_summary"`
	LimitHumanWait      Duration      `json:"limit_human_wait"`
	LimitRemote         Duration      `json:"limit_remote"`
	ProviderWait        Duration      `json:"provider_wait"` // for a provider, before a fallback takes over; 0 = without end
	AgentRetries        int           `json:"agent_retries"`
	Parallel            int           `json:"parallel"`
	Research            int           `json:"research"`
	Ready               string        `json:"ready"`     // on_pass, never
	Reachable           bool          `json:"reachable"` // somebody can answer questions
	AckTimeout          Duration      `json:"ack_timeout"`
	AskTimeout          Duration      `json:"ask_timeout"` // of an ask to another agent; 0 = none
	Msg                 message.Rules `json:"msg,omitzero"`
	CheckpointEvery     Duration      `json:"checkpoint_every"`     // while agents work; 0 = only at the steps of the work
	ParkAfter           Duration      `json:"park_after,omitempty"` // with nothing to do until a person decides; 0 = the session keeps its host
}

// DefaultSettings returns the documented defaults.
func DefaultSettings() Settings {
	return Settings{
		MaxReviewIterations: 3,
		QuestionTimeout:     "decide", ReviewRerun: "failed", OnExhausted: "draft_pr",
		ReviewTimeout:  Duration(45 * time.Minute),
		ScopePolicy:    "report",
		LimitPhase:     Duration(2 * time.Hour),
		LimitTotal:     Duration(12 * time.Hour),
		LimitStall:     Duration(20 * time.Minute),
		LimitSummary:   Duration(10 * time.Minute),
		LimitHumanWait: Duration(4 * time.Hour),
		LimitRemote:    Duration(30 * time.Minute),
		ProviderWait:   Duration(30 * time.Minute),
		AgentRetries:   1, Parallel: 4, Research: 5,
		Ready: "on_pass", Reachable: true,
		AckTimeout:      Duration(10 * time.Minute),
		AskTimeout:      Duration(30 * time.Minute),
		CheckpointEvery: Duration(10 * time.Minute),
	}
}
