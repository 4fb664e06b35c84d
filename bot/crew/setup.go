package crew

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/transcript"
	"github.com/agentmux/agentmux/internal/command"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// setupTime bounds the preparation of one workspace.
const setupTime = 10 * time.Minute

// SetUp runs the configured command once in a new workspace, before its first agent. A command
// from a project is skipped until a person allows it.
func (r *Crew) SetUp(ctx context.Context, dir string) error {
	argv := r.cfg.Sandbox.Setup
	if len(argv) == 0 {
		return nil
	}
	done := dir + ".setup"
	if _, err := os.Stat(done); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if request, open := project.OpenSetup(r.StateHome, r.sess.Project(), r.cfg); open {
		r.Log.Warn("sandbox.setup is not run: it is not allowed on this machine yet", "session", r.sess.Name(), "command", request.Argv)
		return nil
	}
	log := r.sess.Path(session.TranscriptsDir, "setup-"+filepath.Base(dir)+".log")
	out, err := session.OpenLog(log)
	if err != nil {
		return fmt.Errorf("set up workspace: %w", err)
	}
	defer out.Close()
	writer, err := transcript.NewRecord(out, r.Redactor)
	if err != nil {
		return fmt.Errorf("set up workspace: %w", err)
	}
	env, err := r.setupEnvironment()
	if err != nil {
		return err
	}
	file, err := lookPath(argv[0], r.AgentPath())
	if err != nil {
		return engine.Never(err)
	}
	cmd := command.Cmd{Argv: argv, File: file, Env: env, Dir: dir, Stdout: writer, Stderr: writer, Limit: setupTime, Drain: time.Second}
	if err := errors.Join(cmd.Run(ctx), writer.Close()); err != nil {
		return fmt.Errorf("set up workspace with %s (see %s): %w", argv[0], log, err)
	}
	return os.WriteFile(done, nil, 0o600)
}

// setupEnvironment returns an environment that is built from nothing, like that of agents.
func (r *Crew) setupEnvironment() ([]string, error) {
	home := filepath.Join(r.place.Homes(r.StateHome), "setup")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("set up workspace: %w", err)
	}
	return []string{
		"PATH=" + r.AgentPath(), "HOME=" + home, "USER=agent", "LANG=C.UTF-8", "TMPDIR=/tmp", "GIT_TERMINAL_PROMPT=0",
	}, nil
}

// lookPath finds a program in path, not in the PATH of this process.
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
