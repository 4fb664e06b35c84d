package crew

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/transcript"
	"github.com/agentmux/agentmux/internal/command"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// setupTime bounds the preparation of one workspace, and one test of it.
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
	log := "setup-" + filepath.Base(dir) + ".log"
	if err := (inWorkspace{r, dir}).run(ctx, argv, log); err != nil {
		return fmt.Errorf("set up workspace with %s (see %s): %w", argv[0], r.sess.Path(session.TranscriptsDir, log), err)
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
	log := "test-" + task + ".log"
	err := inWorkspace{r, dir}.run(ctx, argv, log)
	if code := (*exec.ExitError)(nil); errors.As(err, &code) || errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return orchestrator.Result{Refused: fmt.Sprintf("its test failed: %v; see %s", err, path.Join(session.TranscriptsDir, log))}, nil
	}
	if err != nil {
		return orchestrator.Result{}, fmt.Errorf("test the work of %s with %s: %w", task, argv[0], err)
	}
	return orchestrator.Result{}, nil
}

// inWorkspace runs commands of the project in a workspace, with what agents may.
type inWorkspace struct {
	*Crew
	dir string
}

// run runs a command to its end. What it prints goes to a file of the transcripts.
func (r inWorkspace) run(ctx context.Context, argv []string, log string) error {
	out, err := session.OpenLog(r.sess.Path(session.TranscriptsDir, log))
	if err != nil {
		return err
	}
	defer out.Close()
	writer, err := transcript.NewRecord(out, r.Redactor)
	if err != nil {
		return err
	}
	env, err := r.setupEnvironment()
	if err != nil {
		return err
	}
	file, err := lookPath(argv[0], r.AgentPath())
	if err != nil {
		return engine.Never(err)
	}
	cmd := command.Cmd{Argv: argv, File: file, Env: env, Dir: r.dir, Stdout: writer, Stderr: writer, Limit: setupTime, Drain: time.Second}
	return errors.Join(cmd.Run(ctx), writer.Close())
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
