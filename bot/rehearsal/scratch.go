package rehearsal

import (
	"os"
	"path/filepath"
)

// Scratch makes the state home of a bot that only says what it would do. It has nothing of the true one, home, but the id of the
// host, to know the own claims. The caller removes it.
func Scratch(home string) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "agentmux-dry-run-"); err != nil {
		return "", err
	}
	if id, err := os.ReadFile(filepath.Join(home, "host_id")); err == nil {
		if err := os.WriteFile(filepath.Join(dir, "host_id"), id, 0o600); err != nil {
			_ = os.RemoveAll(dir)
			return "", err
		}
	}
	return dir, nil
}
