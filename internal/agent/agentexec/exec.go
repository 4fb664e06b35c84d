package agentexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/process"
)

// Run runs the launch whose directory is dir and returns the code that the calling process
// exits with. That process is the first one of a pane. Run takes over all of it: its signals,
// its children and its terminal.
//
// The program is started in a process group of its own, in front of the terminal. A
// program that is stopped (Ctrl-Z) is continued at once. When the program ends, or when this
// process is told to end by TERM, HUP or ctx, everything that belongs to the launch gets
// TERM, after Grace KILL, and only then exit.json is written.
//
// With a chore, that command is run instead, and ended in the same way.
func Run(ctx context.Context, dir string, chore ...string) int {
	if len(chore) > 0 {
		return runChore(ctx, dir, chore)
	}
	if _, ended, err := agent.ReadExit(dir); err != nil || ended {
		fmt.Fprintln(os.Stderr, "agent-exec: this launch has ended already", dir)
		return agent.NotStarted
	}
	x := &execution{}
	err := x.start(dir)
	x.started = time.Now()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent-exec:", err)
		x.exit = agent.Exit{Error: err.Error(), Code: new(int)}
		*x.exit.Code = agent.NotStarted
	} else {
		x.supervise(ctx)
	}
	x.exit.StartedAt, x.exit.EndedAt = x.started.UTC(), time.Now().UTC()
	if err := x.exit.Write(dir); err != nil {
		fmt.Fprintln(os.Stderr, "agent-exec:", err)
	}
	return x.exit.Status()
}

// execution is one program being run. Only supervise's goroutine touches it.
type execution struct {
	mark    string // of the launch's processes
	started time.Time
	pid     int      // of the program, also its process group
	tty     *os.File // the controlling terminal, nil without one
	output  <-chan struct{}
	signals chan os.Signal

	exit   agent.Exit
	ended  bool                     // the program itself
	ending time.Time                // when TERM was sent, zero before
	killed bool                     // KILL was sent
	strays map[process.Process]bool // the other processes that were signalled; true: seen after the program's end
}

// start reads the launch, gets its environment and starts the program.
func (x *execution) start(dir string) error {
	l, env, err := agent.Receive(dir)
	if err != nil {
		return err
	}
	x.mark = l.Mark
	if err := process.BecomeReaper(); err != nil {
		return err
	}
	closeOnExec()
	x.tty, err = os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		x.tty = nil // started without a terminal
	}
	x.listen()
	// tmux ignores these in what it starts. A program that inherits that and reads before it is in
	// front gets an error, not a stop. What this process catches, the exec sets to its default.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTTIN, syscall.SIGTTOU)
	if err := x.spawn(l, dir, env); err != nil {
		return fmt.Errorf("start %s: %w", l.Argv[0], err)
	}
	// This process is still in front. A program that used the terminal before this line was
	// stopped for it, and supervise continues it.
	x.inFront()
	// To put the program in front again from the background, this process must not be stopped
	// by the terminal. Set after the start, because a program inherits ignored signals.
	signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN)
	return nil
}

// listen takes over the signals of this process.
func (x *execution) listen() {
	x.signals = make(chan os.Signal, 16)
	signal.Notify(x.signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
}

// spawn forks the program with descriptors 0 to 2 and nothing else.
func (x *execution) spawn(l agent.Launch, dir string, env []string) error {
	stdin, err := input(l)
	if err != nil {
		return err
	}
	stdout, done, err := x.display(l, dir)
	if err != nil {
		return err
	}
	attr := &syscall.ProcAttr{Dir: l.Cwd, Env: env, Files: []uintptr{stdin.Fd(), stdout.Fd(), os.Stderr.Fd()}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	// Not Foreground: the child would set it from the background, be stopped, and never reach
	// the exec that ForkExec waits for, unless it ignored SIGTTOU for the rest of its life.
	x.pid, err = syscall.ForkExec(l.Argv[0], l.Argv, attr)
	for _, f := range []*os.File{stdin, stdout} {
		if f != os.Stdin && f != os.Stdout {
			f.Close()
		}
	}
	x.output = done
	return err
}

// input returns the program's standard input.
func input(l agent.Launch) (*os.File, error) {
	switch l.Stdin {
	case "null":
		return os.Open(os.DevNull)
	case "line":
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		// One line fits the pipe's buffer, so this does not wait for a reader.
		_, err = io.WriteString(w, l.Line+"\n")
		if err := errors.Join(err, w.Close()); err != nil {
			return nil, errors.Join(err, r.Close())
		}
		return r, nil
	}
	return os.Stdin, nil
}
