package session

import (
	"encoding/json"
	"fmt"

	"github.com/agentmux/agentmux/orchestrator"
)

const runtimeVersion = 3

// Runtime is runtime_state.json: where the agents' panes are. It helps to find
// them; what is true is what the panes are tagged with.
type Runtime struct {
	TmuxSession string                               `json:"tmux_session"`
	Panes       map[orchestrator.AgentKey]string     `json:"panes"` // agent key -> pane id
	Version     int                                  `json:"version"`
	Socket      string                               `json:"socket"`
	Launches    map[orchestrator.AgentKey]LaunchInfo `json:"launches"` // agent key -> launch
	// Leaving are launches that have submitted, beside the next one of their key.
	Leaving []LaunchInfo `json:"leaving,omitempty"`
	// Recorder is the socket on which the host takes what the panes print.
	Recorder string `json:"recorder,omitempty"`
	// Server is the tmux server's process, by which it is ended once its socket is lost.
	Server ServerInfo `json:"server,omitzero"`
}

// ServerInfo is a process; it is signalled only if both numbers match, and for the session
// that has this socket: a copy of a session brings the notes of another.
type ServerInfo struct {
	PID      int    `json:"pid"`
	PIDStart string `json:"pid_start"`
	Socket   string `json:"socket"`
}

// LaunchInfo is where one launch runs. A process is signalled only if both
// numbers match.
type LaunchInfo struct {
	Pane     string              `json:"pane"`
	PID      int                 `json:"pid"`
	PIDStart string              `json:"pid_start"`
	Launch   orchestrator.Launch `json:"launch"`
}

// ReadRuntime returns runtime_state.json; a missing or unreadable one is empty.
func (s *Session) ReadRuntime() Runtime {
	var r Runtime
	data, err := readOwn(s.Path(RuntimeFile), 1<<20)
	if err != nil || json.Unmarshal(data, &r) != nil {
		r = Runtime{}
	}
	if r.Panes == nil {
		r.Panes = map[orchestrator.AgentKey]string{}
	}
	if r.Launches == nil {
		r.Launches = map[orchestrator.AgentKey]LaunchInfo{}
	}
	return r
}

// WriteRuntime replaces runtime_state.json.
func (s *Session) WriteRuntime(r Runtime) error {
	r.Version = runtimeVersion
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write runtime state: %w", err)
	}
	return s.disk.View(s.Path(RuntimeFile), append(data, '\n'))
}
