package agent

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/agentmux/agentmux/internal/durable"
)

// copilotHooks go into the private home, where copilot looks for files with hooks. Names
// with a capital letter have the fields of claude's.
func copilotHooks(s LaunchSpec) addition {
	if !s.private() {
		return addition{}
	}
	table := map[string]any{}
	for _, e := range []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "ErrorOccurred"} {
		table[e] = []any{map[string]any{"type": "command", "bash": s.hookCommand(e), "timeoutSec": 60}}
	}
	return addition{home: map[string]any{".copilot/hooks/agentmux.json": map[string]any{"version": 1, "hooks": table}}}
}

// acceptCopilot names the directories that copilot is not to ask about, and keeps
// everything else in its configuration.
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
	data, err := encode(state)
	if err != nil {
		return err
	}
	return durable.Replace(path, data)
}

// withoutComments takes the lines with comments out, which copilot writes above its JSON.
func withoutComments(data []byte) []byte {
	if json.Valid(data) {
		return data
	}
	var out []byte
	for line := range bytes.Lines(data) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("//")) {
			out = append(out, line...)
		}
	}
	return out
}
