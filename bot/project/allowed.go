package project

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
)

// SetupRequest is a command that a project wants to run in its workspaces and that was not
// allowed on this machine yet.
type SetupRequest struct {
	Argv []string

	file string // exists once the command is allowed
}

// OpenSetup returns the project's sandbox.setup if it still has to be allowed. A command in the
// person's own configuration needs no permission. A permission holds for this command in this
// project, because the same words may run something else elsewhere.
func OpenSetup(stateHome, project string, c *config.Config) (SetupRequest, bool) {
	argv := c.Sandbox.Setup
	if len(argv) == 0 || c.Layer("sandbox.setup") != config.LayerProject {
		return SetupRequest{}, false
	}
	r := SetupRequest{Argv: argv, file: allowedFile(stateHome, append([]string{project}, argv...)...)}
	_, err := os.Stat(r.file)
	return r, err != nil
}

// Allow remembers that the command may run on this machine.
func (r SetupRequest) Allow() error { return allow(r.file) }

// allowedFile names the file that exists once a person has allowed what the words name.
func allowedFile(stateHome string, words ...string) string {
	return filepath.Join(stateHome, "allowed", fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(words, "\x00")))))
}

func allow(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("remember the answer: %w", err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return fmt.Errorf("remember the answer: %w", err)
	}
	return nil
}
