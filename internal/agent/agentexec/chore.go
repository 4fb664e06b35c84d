package agentexec

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/process"
)

// runChore runs a command with the environment, directory and files of this process, as the launch whose directory
// would be dir. It has no terminal, and nothing of it is written down.
func runChore(ctx context.Context, dir string, argv []string) int {
	x := &execution{mark: process.Mark(dir)}
	if err := x.startChore(argv); err != nil {
		fmt.Fprintln(os.Stderr, "agent-exec:", err)
		return agent.NotStarted
	}
	x.supervise(ctx)
	return x.exit.Status()
}

func (x *execution) startChore(argv []string) error {
	if err := process.BecomeReaper(); err != nil {
		return err
	}
	closeOnExec()
	x.listen()
	shown := make(chan struct{})
	close(shown) // it writes to the files of this process itself
	x.output = shown
	attr := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	var err error
	if x.pid, err = syscall.ForkExec(argv[0], argv, attr); err != nil {
		return fmt.Errorf("start %s: %w", argv[0], err)
	}
	return nil
}
