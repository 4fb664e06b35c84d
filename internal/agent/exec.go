package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Grace is how long the processes of a launch have between TERM and KILL.
const Grace = 5 * time.Second

// Exec runs the launch whose directory is dir and returns the code the calling process is
// to exit with. It is the first process of a pane and takes over the whole process: its
// signals, its children and its terminal.
//
// The program is started in a process group of its own, in front of the terminal. A
// program that is stopped (Ctrl-Z) goes on at once. When the program ends, or when this
// process is told to end by TERM, HUP or ctx, everything that belongs to the launch gets
// TERM, after Grace KILL, and only then exit.json is written.
func Exec(ctx context.Context, dir string) int {
	if _, ended, err := ReadExit(dir); err != nil || ended {
		fmt.Fprintln(os.Stderr, "agent-exec: this launch has ended already", dir)
		return exitNotStarted
	}
	x := &execution{}
	err := x.start(dir)
	x.started = time.Now()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent-exec:", err)
		x.exit = Exit{Error: err.Error(), Code: new(int)}
		*x.exit.Code = exitNotStarted
	} else {
		x.supervise(ctx)
	}
	x.exit.StartedAt, x.exit.EndedAt = x.started.UTC(), time.Now().UTC()
	if err := x.exit.write(dir); err != nil {
		fmt.Fprintln(os.Stderr, "agent-exec:", err)
	}
	return x.exit.status()
}

// execution is one program being run. Only supervise's goroutine touches it.
type execution struct {
	mark    string // of the launch's processes
	started time.Time
	pid     int      // of the program, also its process group
	tty     *os.File // the controlling terminal, nil without one
	output  <-chan struct{}
	signals chan os.Signal

	exit   Exit
	ended  bool             // the program itself
	ending time.Time        // when TERM was sent, zero before
	killed bool             // KILL was sent
	strays map[Process]bool // the other processes that were signalled; true: seen after the program's end
}

// start reads the launch, gets its environment and starts the program.
func (x *execution) start(dir string) error {
	l, env, err := receive(dir)
	if err != nil {
		return err
	}
	x.mark = l.Mark
	if err := becomeReaper(); err != nil {
		return err
	}
	closeOnExec()
	x.tty, err = os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		x.tty = nil // started without a terminal
	}
	x.signals = make(chan os.Signal, 16)
	signal.Notify(x.signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	if err := x.spawn(l, dir, env); err != nil {
		return fmt.Errorf("start %s: %w", l.Argv[0], err)
	}
	// We are still in front ourselves. A program that was quick enough to use the terminal
	// before this line was stopped for it, and is sent on by supervise.
	x.inFront()
	// To put the program in front again from behind it, the terminal must not stop us.
	// Set after the start, because a program inherits ignored signals.
	signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN)
	return nil
}

// spawn forks the program with descriptors 0 to 2 and nothing else.
func (x *execution) spawn(l Launch, dir string, env []string) error {
	stdin, err := input(l)
	if err != nil {
		return err
	}
	stdout, done, err := x.display(l, dir)
	if err != nil {
		return err
	}
	attr := &syscall.ProcAttr{Dir: l.Cwd, Env: env, Files: []uintptr{stdin.Fd(), stdout.Fd(), os.Stderr.Fd()}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	// Not Foreground: the child would do that from behind, be stopped, and never get to
	// the exec we wait for, unless it ignored SIGTTOU for the rest of its life.
	x.pid, err = syscall.ForkExec(l.Argv[0], l.Argv, attr)
	for _, f := range []*os.File{stdin, stdout} {
		if f != os.Stdin && f != os.Stdout {
			f.Close()
		}
	}
	x.output = done
	return err
}

// input is the program's standard input.
func input(l Launch) (*os.File, error) {
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

// display gives the program's standard output: the terminal itself, or a pipe whose
// stream is rendered on it. done is closed when the stream has ended.
func (x *execution) display(l Launch, dir string) (out *os.File, done <-chan struct{}, err error) {
	if l.Stream == "" {
		closed := make(chan struct{})
		close(closed)
		return os.Stdout, closed, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer r.Close()
		renderStream(r, os.Stdout, func(s Signal) {
			if err := appendSignal(dir, s); err != nil {
				fmt.Fprintln(os.Stderr, "agent-exec:", err)
			}
		})
	}()
	return w, ended, nil
}
