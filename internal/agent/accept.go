package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentmux/agentmux/internal/durable"
)

// accept answers the program's first-run dialogs beforehand, only in a directory that is
// ours: a person's own directory is left alone.
func (s LaunchSpec) accept(login LoginKind, dir string, env map[string]string) error {
	if dir == "" || login == LoginShared {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the program's directory: %w", err)
	}
	if s.Provider.Accept != "claude" {
		return nil
	}
	return acceptClaude(filepath.Join(dir, ".claude.json"), s.trustDir(), env["ANTHROPIC_API_KEY"])
}

// acceptClaude sets three answers in claude's state file and keeps everything else in it:
// the introduction is done, the work directory is trusted, the given key is to be used.
func acceptClaude(path, trust, apiKey string) error {
	state, err := readObject(path)
	if err != nil {
		return err
	}
	before := quoted(state)
	state["hasCompletedOnboarding"] = true
	if _, ok := state["theme"]; !ok {
		state["theme"] = "dark"
	}
	projects := object(state, "projects")
	object(projects, trust)["hasTrustDialogAccepted"] = true
	if apiKey != "" {
		// claude knows a key by its last 20 characters.
		tail := apiKey[max(0, len(apiKey)-20):]
		keys := object(state, "customApiKeyResponses")
		approved, _ := keys["approved"].([]any)
		if !slices.Contains(approved, any(tail)) {
			keys["approved"] = append(approved, tail)
		}
		if _, ok := keys["rejected"]; !ok {
			keys["rejected"] = []any{}
		}
	}
	if quoted(state) == before {
		return nil // another claude may be writing it
	}
	data, err := encode(state)
	if err != nil {
		return fmt.Errorf("encode claude's state: %w", err)
	}
	return durable.Replace(path, data)
}

// readObject reads a JSON object; a missing or broken file is an empty one.
func readObject(path string) (map[string]any, error) {
	m := map[string]any{}
	data, err := durable.ReadRegular(filepath.Dir(path), filepath.Base(path), 16<<20)
	var unusable *durable.ArtifactError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case errors.As(err, &unusable):
		return nil, fmt.Errorf("read the program's state: %w", err)
	case err != nil:
		return nil, err
	}
	if json.Unmarshal(data, &m) != nil || m == nil {
		return map[string]any{}, nil
	}
	return m, nil
}

// object returns the object under key, made if missing.
func object(m map[string]any, key string) map[string]any {
	child, ok := m[key].(map[string]any)
	if !ok {
		child = map[string]any{}
		m[key] = child
	}
	return child
}
