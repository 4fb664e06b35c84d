package agentexec

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/process"
)

// change is one report of wait4.
type change struct {
	pid    int
	status syscall.WaitStatus
}

// supervise returns when no process of the launch is left.
func (x *execution) supervise(ctx context.Context) {
	changes := make(chan change)
	quit := make(chan struct{})
	defer close(quit)
	go reap(process.WaitFor(x.pid), changes, quit)
	x.strays = map[process.Process]bool{}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	stop := ctx.Done()
	for !x.finished() {
		var check <-chan time.Time // only while the launch ends
		if !x.ending.IsZero() {
			check = tick.C
		}
		select {
		case c, ok := <-changes:
			if !ok {
				changes = nil
				break
			}
			x.changed(c)
		case s := <-x.signals:
			x.signalled(s)
		case <-stop:
			stop = nil
			x.stop()
		case <-check:
		}
	}
	for _, left := range x.strays {
		if left {
			x.exit.Strays++
		}
	}
}

// reap waits for the child with the id of, or with -1 for all, including adopted orphans.
// Without a child it waits for the next one until quit is closed.
func reap(of int, changes chan<- change, quit <-chan struct{}) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(of, &status, syscall.WUNTRACED, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			pause := time.NewTimer(20 * time.Millisecond)
			select {
			case <-quit:
				pause.Stop()
				return
			case <-pause.C:
			}
			continue
		}
		select {
		case changes <- change{pid, status}:
		case <-quit:
			return
		}
	}
}

// changed records what happened to a child.
func (x *execution) changed(c change) {
	if c.pid != x.pid {
		return
	}
	switch {
	case c.status.Stopped():
		// No shell is here in which a person could type "fg".
		x.inFront()
		x.signalGroup(syscall.SIGCONT)
	case c.status.Exited():
		code := c.status.ExitStatus()
		x.exit.Code, x.ended = &code, true
		x.end()
	case c.status.Signaled():
		x.exit.Signal, x.ended = agent.SignalName(c.status.Signal()), true
		x.end()
	}
}

// inFront puts the program's group in the foreground of the terminal.
func (x *execution) inFront() {
	if x.tty != nil {
		// It fails when the terminal is closed, and then HUP arrives.
		_ = setForeground(x.tty, x.pid)
	}
}

// signalled passes a signal on to the program. TERM and HUP end the whole launch.
func (x *execution) signalled(s os.Signal) {
	sig, ok := s.(syscall.Signal)
	if !ok {
		return
	}
	if sig == syscall.SIGTERM || sig == syscall.SIGHUP {
		x.stop()
		return
	}
	x.signalGroup(sig)
}

// stop ends the launch on request.
func (x *execution) stop() {
	x.exit.Stopped = true
	x.end()
}

// end starts the end of the launch: TERM to the program. A second call changes nothing.
func (x *execution) end() {
	if !x.ending.IsZero() {
		return
	}
	x.ending = time.Now()
	if !x.ended {
		x.signalGroup(syscall.SIGTERM)
		x.signalGroup(syscall.SIGCONT) // a stopped process gets no TERM
	}
}

// finished signals what is left of a launch that is ending, and reports whether nothing is.
// New processes may appear while others end, so each call lists them afresh.
func (x *execution) finished() bool {
	if x.ending.IsZero() {
		return false
	}
	kill := time.Since(x.ending) >= process.Grace
	if kill && !x.ended && !x.killed {
		x.killed = true
		x.signalGroup(syscall.SIGKILL)
	}
	left := process.Belonging(os.Getpid(), x.mark)
	for _, p := range left {
		if p.PID == x.pid && !x.ended {
			continue
		}
		_, told := x.strays[p]
		if kill {
			p.Signal(syscall.SIGKILL)
		} else if !told {
			p.Signal(syscall.SIGTERM)
		}
		x.strays[p] = x.strays[p] || x.ended
	}
	if !x.ended || len(left) > 0 || !process.Childless() {
		return false
	}
	// Without a writer the pipe ends at once; its last lines still have to be shown.
	select {
	case <-x.output:
		return true
	default:
		return kill
	}
}

// signalGroup signals the program's process group while the program lives, because later its
// number may belong to another group.
func (x *execution) signalGroup(s syscall.Signal) {
	if !x.ended {
		_ = syscall.Kill(-x.pid, s) // it may just have ended
	}
}
