package agent

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
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
	go reap(reaped(x.pid), changes, quit)
	x.strays = map[Process]bool{}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	stop := ctx.Done()
	for !x.finished() {
		var again <-chan time.Time // a launch that goes on wakes nobody
		if !x.ending.IsZero() {
			again = tick.C
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
			x.tell()
		case <-again:
		}
	}
	for _, left := range x.strays {
		if left {
			x.exit.Strays++
		}
	}
}

// reap collects children: of, or all with -1, also those left to us by their parents.
// Without a child it waits for the next one until quit.
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

// changed takes note of what happened to a child.
func (x *execution) changed(c change) {
	if c.pid != x.pid {
		return
	}
	switch {
	case c.status.Stopped():
		// Nobody is here to type "fg".
		x.inFront()
		x.signalGroup(syscall.SIGCONT)
	case c.status.Exited():
		code := c.status.ExitStatus()
		x.exit.Code, x.ended = &code, true
		x.end()
	case c.status.Signaled():
		x.exit.Signal, x.ended = signalName(c.status.Signal()), true
		x.end()
	}
}

// inFront makes the program's group the one that reads the terminal.
func (x *execution) inFront() {
	if x.tty != nil {
		// It fails when the terminal is gone, and then HUP tells so.
		_ = setForeground(x.tty, x.pid)
	}
}

// signalled passes a signal on. Those that ask to end do so for the whole launch.
func (x *execution) signalled(s os.Signal) {
	sig, ok := s.(syscall.Signal)
	if !ok {
		return
	}
	if sig == syscall.SIGTERM || sig == syscall.SIGHUP {
		x.tell()
		return
	}
	x.signalGroup(sig)
}

// tell ends the launch because somebody asked for it.
func (x *execution) tell() {
	x.exit.Stopped = true
	x.end()
}

// end sends TERM to everything once.
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

// finished looks after what is left of a launch that is ending, and reports that nothing
// is. New processes may appear while others end, so each look starts anew.
func (x *execution) finished() bool {
	if x.ending.IsZero() {
		return false
	}
	kill := time.Since(x.ending) >= Grace
	if kill && !x.ended && !x.killed {
		x.killed = true
		x.signalGroup(syscall.SIGKILL)
	}
	left := belonging(os.Getpid(), x.mark)
	for _, p := range left {
		if p.PID == x.pid && !x.ended {
			continue
		}
		_, told := x.strays[p]
		if kill {
			p.signal(syscall.SIGKILL)
		} else if !told {
			p.signal(syscall.SIGTERM)
		}
		x.strays[p] = x.strays[p] || x.ended
	}
	if !x.ended || len(left) > 0 || !childless() {
		return false
	}
	// A pipe held open by nobody ends at once; its last lines are still to be shown.
	select {
	case <-x.output:
		return true
	default:
		return kill
	}
}

// signalGroup signals the program's process group while the program lives, so its number
// cannot have been given to another group.
func (x *execution) signalGroup(s syscall.Signal) {
	if !x.ended {
		_ = syscall.Kill(-x.pid, s) // it may just have ended
	}
}
