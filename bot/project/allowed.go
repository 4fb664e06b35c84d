package project

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
)

// CommandRequest is a command that a project wants to run in its workspaces and that was not
// allowed on this machine yet.
type CommandRequest struct {
	Key  string // of the configuration
	Argv []string

	file string // exists once the command is allowed
}

// OpenSetup returns the project's sandbox.setup if it still has to be allowed. A command in the
// person's own configuration needs no permission. A permission holds for this command in this
// project, because the same words may run something else elsewhere.
func OpenSetup(stateHome, project string, c *config.Config) (CommandRequest, bool) {
	return openCommand(c, CommandRequest{
		Key: "sandbox.setup", Argv: c.Sandbox.Setup, file: allowedFile(stateHome, append([]string{project, "setup"}, c.Sandbox.Setup...)...),
	})
}

// OpenTest is OpenSetup for agents.test_command. A yes to one does not allow the other.
func OpenTest(stateHome, project string, c *config.Config) (CommandRequest, bool) {
	return openCommand(c, CommandRequest{
		Key: "agents.test_command", Argv: c.Agents.TestCommand, file: allowedFile(stateHome, append([]string{project, "test"}, c.Agents.TestCommand...)...),
	})
}

func openCommand(c *config.Config, r CommandRequest) (CommandRequest, bool) {
	if len(r.Argv) == 0 || c.Layer(r.Key) != config.LayerProject {
		return CommandRequest{}, false
	}
	_, err := os.Stat(r.file)
	return r, err != nil
}

// Allow remembers that the command may run on this machine.
func (r CommandRequest) Allow() error { return allow(r.file) }

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
