package orchestrator

import "github.com/agentmux/agentmux/internal/usage"

// AgentStartedRecord tells that a launch runs in its pane.
type AgentStartedRecord struct {
	Attempt      int    `json:"attempt"`
	Effort       string `json:"effort,omitempty"`
	FallbackFor  string `json:"fallback_for,omitempty"` // the configured provider, if another one took over
	Launch       Launch `json:"launch"`
	Model        string `json:"model"`
	Prompt       string `json:"prompt"`
	PromptSHA256 string `json:"prompt_sha256"`
	Provider     string `json:"provider"`
	Role         string `json:"role"`
	Task         string `json:"task"`
}

// AgentExitedRecord tells how a launch ended; ExitCode and Usage are nil if they are not known.
type AgentExitedRecord struct {
	ExitCode *int         `json:"exit_code"`
	Expected bool         `json:"expected"`
	Launch   Launch       `json:"launch"`
	Role     string       `json:"role"`
	Signal   string       `json:"signal"`
	Task     string       `json:"task"`
	Usage    *usage.Usage `json:"usage,omitempty"`
}

// AgentFailedRecord gives an agent up. Tail is the end of what its program printed. Records of earlier versions
// have no cause; of an agent of an agents file their tail is the cause.
type AgentFailedRecord struct {
	Attempts int    `json:"attempts"`
	Cause    string `json:"cause,omitempty"`
	Role     string `json:"role"`
	Tail     string `json:"tail"`
	Task     string `json:"task"`
}

// AgentStalledRecord tells of a silence and what was done about it.
type AgentStalledRecord struct {
	Action  string `json:"action"`
	Role    string `json:"role"`
	Seconds int    `json:"seconds"`
	Task    string `json:"task"`
}

// AgentMarkedRecord tells what the marker of an agent of an agents file says, and who wrote it:
// host, or a person. Branch is set if its work is not on the branch that the file names, Instead.
type AgentMarkedRecord struct {
	Agent   string `json:"agent"`
	Branch  string `json:"branch,omitempty"`
	By      string `json:"by"`
	Instead string `json:"instead_of,omitempty"`
	Marker  string `json:"marker"`
}

// AgentBlockedRecord tells that an agent of an agents file waits for another.
type AgentBlockedRecord struct {
	Agent      string `json:"agent"`
	Dependency string `json:"dependency"`
}

// AgentStatusRecord is a report of an agent.
type AgentStatusRecord struct {
	CurrentTask string `json:"current_task,omitempty"`
	Message     string `json:"message"`
	Percent     *int   `json:"percent,omitempty"`
	Role        string `json:"role"`
	Task        string `json:"task"`
}

// AgentWaitingRecord tells what a launch waits for, and until when if that is known.
type AgentWaitingRecord struct {
	For    string `json:"for"`
	Launch Launch `json:"launch"`
	Role   string `json:"role"`
	Task   string `json:"task"`
	Until  Time   `json:"until,omitzero"`
}

// OnProvider reports whether the provider lets the launch wait, which earlier versions called "provider".
func (d AgentWaitingRecord) OnProvider() bool {
	return d.For == WaitsForProvider || d.For == "provider"
}

// PersonTypedRecord tells that a person took part in a turn of a launch at its pane. What they typed is not told.
type PersonTypedRecord struct {
	Launch Launch `json:"launch"`
	Role   string `json:"role"`
	Task   string `json:"task"`
	Turn   int    `json:"turn"`
}
