package crew

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/agentmux/agentmux/bot/chore"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// chores are the commands of the project in the workspaces of the session.
func (r *Crew) chores() chore.Chores {
	return chore.Chores{Self: r.Self, Session: r.sess, Home: filepath.Join(r.place.Homes(r.StateHome), "setup"), Path: r.AgentPath(), Redactor: r.Redactor, Environ: r.Environ}
}

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
	c := r.chores().Setup(dir)
	if err := c.Run(ctx, argv); err != nil {
		return fmt.Errorf("set up workspace with %s (see %s): %w", argv[0], r.sess.Path(c.Log()), err)
	}
	return os.WriteFile(done, nil, 0o600)
}

// Test runs the configured command on the work of an agent of an agents file. A command from a
// project is skipped until a person allows it.
func (r *Crew) Test(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	argv, task := r.cfg.Agents.TestCommand, e.Args.Task
	if len(argv) == 0 {
		return orchestrator.Result{Skipped: "agents.test_command is not set"}, nil
	}
	if request, open := project.OpenTest(r.StateHome, r.sess.Project(), r.cfg); open {
		r.Log.Warn("agents.test_command is not run: it is not allowed on this machine yet", "session", r.sess.Name(), "task", task, "command", request.Argv)
		return orchestrator.Result{Skipped: "agents.test_command is not allowed on this machine yet"}, nil
	}
	dir := s.Workspaces[duty.Work(s, task)].Path
	if dir == "" {
		return orchestrator.Result{}, engine.Never(fmt.Errorf("test the work of %s: its workspace is gone", task))
	}
	c := r.chores().Test(task, dir)
	err := c.Run(ctx, argv)
	if code := (*exec.ExitError)(nil); errors.As(err, &code) || errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return orchestrator.Result{Refused: fmt.Sprintf("its test failed: %v; see %s", err, c.Log())}, nil
	}
	if err != nil {
		return orchestrator.Result{}, fmt.Errorf("test the work of %s with %s: %w", task, argv[0], err)
	}
	return orchestrator.Result{}, nil
}
