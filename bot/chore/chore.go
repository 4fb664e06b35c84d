// Package chore runs the commands of a project in workspaces of agents: what sets one up, and
// what tests the work in it.
//
// What runs there may be written by an agent. So a chore is a launch like that of an agent, with an
// environment built from nothing: it steers no session, and what it starts is counted and found
// by its mark. Its first process is an agent-exec, which on Linux adopts what leaves its parents, so
// that also a process without the mark is ended with it.
//
// Stored: the output of each chore, as Log names it, and one home for all, which lasts as long as those
// of the agents.
package chore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/transcript"
	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/internal/command"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// limit bounds one chore.
const limit = 10 * time.Minute

// grace is how long its agent-exec may take to end all of it.
const grace = process.Grace + time.Second

// What begins the name of a chore as a launch. That of an agent begins with the number of a visit.
const (
	setup = "setup-"
	test  = "test-"
)

// Chores are the commands of a project in the workspaces of one session.
type Chores struct {
	Self     string // path of agentmux, whose agent-exec runs them
	Session  *session.Session
	Home     string // their home directory, made if missing
	Path     string // PATH of agents
	Redactor *redact.Redactor
	Environ  func(name string) (string, bool) // the variables of this process
}

// Chore is what runs in one workspace.
type Chore struct {
	Chores
	launch, dir string
}

// Setup returns the chore that prepares the workspace in dir.
func (c Chores) Setup(dir string) Chore { return Chore{c, setup + filepath.Base(dir), dir} }

// Test returns the chore that tests the work of a task in the workspace in dir.
func (c Chores) Test(task, dir string) Chore { return Chore{c, test + task, dir} }

// EndFormer ends what chores under a host that was killed left running.
func (c Chores) EndFormer(ctx context.Context) error {
	logs, _ := os.ReadDir(c.Session.Path(session.TranscriptsDir)) // absent: none ever ran
	for _, log := range logs {
		launch, isLog := strings.CutSuffix(log.Name(), ".log")
		if !isLog || !strings.HasPrefix(launch, setup) && !strings.HasPrefix(launch, test) {
			continue
		}
		if err := (Chore{Chores: c, launch: launch}).end(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Log is where the session has what the chore printed.
func (c Chore) Log() string { return path.Join(session.TranscriptsDir, c.launch+".log") }

// Run runs a command to its end. It ends what the command leaves running, and before it what it left
// under a host that was killed. The error is *exec.ExitError of a command that failed,
// context.DeadlineExceeded of one that took too long.
func (c Chore) Run(ctx context.Context, argv []string) error {
	out, err := session.OpenLog(c.Session.Path(c.Log()))
	if err != nil {
		return err
	}
	defer out.Close()
	writer, err := transcript.NewRecord(out, c.Redactor)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Home, 0o700); err != nil {
		return fmt.Errorf("make the home of %s: %w", c.launch, err)
	}
	file, err := lookPath(argv[0], c.Path)
	if err != nil {
		return engine.Never(err)
	}
	if err := c.end(ctx); err != nil {
		return err
	}
	argv = append([]string{c.Self, "agent-exec", c.launchDir(), file}, argv[1:]...)
	cmd := command.Cmd{Argv: argv, Env: c.environment(), Dir: c.dir, Stdout: writer, Stderr: writer, Limit: limit, Grace: grace, Drain: time.Second}
	err = cmd.Run(ctx)
	return errors.Join(err, c.end(context.WithoutCancel(ctx)), writer.Close())
}

// end ends the processes of the chore.
func (c Chore) end(ctx context.Context) error {
	if err := process.Stop(ctx, process.Process{}, c.mark()); err != nil {
		return fmt.Errorf("end what %s left running: %w", c.launch, err)
	}
	return nil
}

// launchDir would be the directory of the launch. It is not made.
func (c Chore) launchDir() string { return c.Session.Path(session.LaunchesDir, c.launch) }

// mark is that of a launch of the session, so that all that find launches find the chore.
func (c Chore) mark() string { return process.Mark(c.launchDir()) }

// environment is built from nothing, like that of agents.
func (c Chore) environment() []string {
	env := []string{
		"PATH=" + c.Path, "HOME=" + c.Home, "USER=agent", "LANG=C.UTF-8", "TMPDIR=/tmp", "GIT_TERMINAL_PROMPT=0",
		process.LaunchName + "=" + c.launch, process.MarkName + "=" + c.mark(),
	}
	if id, ok := c.Environ("RUNNER_TRACKING_ID"); ok { // the runner of a job ends what has it
		env = append(env, "RUNNER_TRACKING_ID="+id)
	}
	return env
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
