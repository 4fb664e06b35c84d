package settings

import (
	"fmt"
	"os"
	"path/filepath"
)

// Accept answers the first-run dialogs of the program beforehand, in the form of that program,
// in its directory dir, which is created if missing. dir is never a person's own directory. A
// form that is "" has no dialogs. apiKey is the key that claude asks about, or "".
func (s Launch) Accept(form, dir, apiKey string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the program's directory: %w", err)
	}
	switch form {
	case "claude":
		path := filepath.Join(dir, ".claude.json")
		return lockedAs(path+".lock", func() error { return acceptClaude(path, s.trusted(), apiKey) })
	case "copilot":
		return acceptCopilot(dir, s.trusted())
	}
	return nil
}
