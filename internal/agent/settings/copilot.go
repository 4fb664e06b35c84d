package settings

import (
	"path/filepath"
	"slices"

	"github.com/agentmux/agentmux/internal/durable"
)

// copilotHooks go into the private home, where copilot reads files with hooks. Events with a
// capital letter have the fields of claude's events.
func copilotHooks(s Launch) addition {
	if !s.Private {
		return addition{}
	}
	table := object{}
	for _, e := range []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "ErrorOccurred"} {
		table[e] = []any{object{"type": "command", "bash": s.hookCommand(e), "timeoutSec": 60}}
	}
	return addition{home: map[string]object{".copilot/hooks/agentmux.json": {"version": 1, "hooks": table}}}
}

// acceptCopilot adds the trusted directories to copilot's configuration and keeps everything
// else in it.
func acceptCopilot(dir string, trusted []string) error {
	path := filepath.Join(dir, "config.json")
	state, err := readObject(path)
	if err != nil {
		return err
	}
	list, _ := state["trustedFolders"].([]any)
	before := len(list)
	for _, dir := range trusted {
		if !slices.Contains(list, any(dir)) {
			list = append(list, dir)
		}
	}
	if len(list) == before {
		return nil
	}
	state["trustedFolders"] = list
	data, err := state.encode()
	if err != nil {
		return err
	}
	return durable.Replace(path, data)
}
