// Package command starts the programs whose answer is waited for.
//
// One call is one program in a process group of its own, with an environment and a directory
// that the caller names whole, a limit of time, and an answer of which no more is kept than
// the caller wants. When Run returns, the program has ended; if it was told to end, its group
// has been killed.
package command

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Cmd is a program to run. Argv, Env and Limit are required.
type Cmd struct {
	Argv []string
	File string   // what is run; empty: Argv[0], looked up in the PATH of this process
	Env  []string // all of it, as name=value
	Dir  string   // empty: that of this process

	Files []*os.File // what it has open besides, from descriptor 3 on

	Stdin          io.Reader
	Stdout, Stderr io.Writer

	Limit time.Duration // after it, or when its context ends, the program is told to end
	Grace time.Duration // how long it may take for that; 0: it is killed at once
	// Drain is how long the pipes are read after its end: until then another child of this
	// process, which has not become its program yet, may hold them open.
	Drain time.Duration
}

// Run runs the program to its end. The error is an *exec.ExitError of a program that failed,
// exec.ErrWaitDelay of one whose pipes stayed open, and the cause of the context's end, or
// context.DeadlineExceeded, of one that was told to end.
func (c Cmd) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	if c.File != "" {
		cmd.Path, cmd.Err = c.File, nil
	}
	if cmd.Env = c.Env; cmd.Env == nil {
		cmd.Env = []string{} // nil would hand on this process's own
	}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.Dir, c.Stdin, c.Stdout, c.Stderr, c.Drain
	cmd.ExtraFiles = c.Files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var late *time.Timer
	cmd.Cancel = func() error {
		if c.Grace == 0 {
			return signal(cmd, syscall.SIGKILL)
		}
		late = time.AfterFunc(c.Grace, func() { _ = signal(cmd, syscall.SIGKILL) })
		return signal(cmd, syscall.SIGTERM)
	}
	err := cmd.Run() // it has waited for Cancel
	if late != nil {
		late.Stop()
	}
	if ctx.Err() == nil {
		return err
	}
	if cmd.Process != nil {
		_ = signal(cmd, syscall.SIGKILL) // its helpers
	}
	if err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// signal reaches the program and all it started.
func signal(cmd *exec.Cmd, sig syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, sig) }

// ErrTooLarge is the error of an answer that is longer than its Output takes.
var ErrTooLarge = errors.New("answer too large")

// Output keeps the first Max bytes of what is written to it.
type Output struct {
	Max    int64
	Refuse bool // more than that is an error; else the rest is dropped

	data []byte
	over bool
}

// Write fails with ErrTooLarge if more was written than is taken.
func (o *Output) Write(p []byte) (int, error) {
	room := max(o.Max-int64(len(o.data)), 0)
	if int64(len(p)) <= room {
		o.data = append(o.data, p...)
		return len(p), nil
	}
	o.data, o.over = append(o.data, p[:room]...), true
	if o.Refuse {
		return 0, ErrTooLarge
	}
	return len(p), nil
}

// Bytes is what was kept.
func (o *Output) Bytes() []byte { return o.data }

// String is what was kept.
func (o *Output) String() string { return string(o.data) }

// Over reports whether more than Max bytes were written.
func (o *Output) Over() bool { return o.over }
