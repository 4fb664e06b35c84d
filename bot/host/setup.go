package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/internal/command"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// setupTime bounds the preparation of one workspace.
const setupTime = 10 * time.Minute

// SetupRequest is a command that a project wants to have run in its workspaces and that
// nobody has allowed on this machine yet.
type SetupRequest struct {
	Argv []string

	file string // is there once the command is allowed
}

// OpenSetup returns the project's sandbox.setup if it still needs to be allowed. One that
// stands in the person's own configuration is allowed by that. What is allowed is this
// command in this project: the same words may run something else elsewhere.
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

// allowedFile is there once a person has allowed what the words name.
func allowedFile(stateHome string, words ...string) string {
	return filepath.Join(stateHome, "allowed", hashOf([]byte(strings.Join(words, "\x00"))))
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

// setUp runs the configured command once in a new workspace, before its first agent. One
// that a project names and nobody has allowed is passed over.
func (r *runner) setUp(ctx context.Context, dir string) error {
	argv := r.cfg.Sandbox.Setup
	if len(argv) == 0 {
		return nil
	}
	done := dir + ".setup"
	if _, err := os.Stat(done); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if request, open := OpenSetup(r.StateHome, r.sess.Project(), r.cfg); open {
		r.Log.Warn("sandbox.setup is not run: nobody has allowed it on this machine", "session", r.sess.Name(), "command", request.Argv)
		return nil
	}
	log := r.sess.Path(session.TranscriptsDir, "setup-"+filepath.Base(dir)+".log")
	out, err := session.OpenLog(log)
	if err != nil {
		return fmt.Errorf("set up workspace: %w", err)
	}
	defer out.Close()
	writer, err := newRecord(out, r.redactor)
	if err != nil {
		return fmt.Errorf("set up workspace: %w", err)
	}
	env, err := r.setupEnvironment()
	if err != nil {
		return err
	}
	file, err := lookPath(argv[0], r.agentPath())
	if err != nil {
		return never(err)
	}
	cmd := command.Cmd{Argv: argv, File: file, Env: env, Dir: dir, Stdout: writer, Stderr: writer, Limit: setupTime, Drain: time.Second}
	if err := errors.Join(cmd.Run(ctx), writer.Close()); err != nil {
		return fmt.Errorf("set up workspace with %s (see %s): %w", argv[0], log, err)
	}
	return os.WriteFile(done, nil, 0o600)
}

// setupEnvironment is built from nothing, like that of agents.
func (r *runner) setupEnvironment() ([]string, error) {
	home := filepath.Join(r.place.homes(r.StateHome), "setup")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("set up workspace: %w", err)
	}
	return []string{
		"PATH=" + r.agentPath(), "HOME=" + home, "USER=agent", "LANG=C.UTF-8", "TMPDIR=/tmp", "GIT_TERMINAL_PROMPT=0",
	}, nil
}

// lookPath finds a program in a PATH that is not this process's own.
func lookPath(name, path string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return name, nil
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("program %s is not in the agents' PATH", name)
}
