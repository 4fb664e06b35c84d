package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Grace is how long the processes of a launch have between TERM and KILL.
const Grace = 5 * time.Second

// ErrNotFound means that no process has the id, or that a later process has it.
var ErrNotFound = errors.New("no such process")

// Process is a process that cannot be mistaken for a later one with the same id.
type Process struct {
	PID   int
	Start int64 // as StartTime returns it
}

// StartTime returns when the process started, in a unit of this machine that is comparable
// only with itself. A process that does not exist, or only as a zombie, gives ErrNotFound.
func StartTime(pid int) (int64, error) {
	if pid <= 0 {
		return 0, fmt.Errorf("process %d: %w", pid, ErrNotFound)
	}
	return startTime(pid)
}

// InFront reports whether the program started by the agent-exec process pid, and not that
// process itself, reads the terminal. Only then does typing reach an agent.
func InFront(pid int) (bool, error) { return programInFront(pid) }

// End ends the process and waits for it: TERM, and KILL after Grace. A process that
// does not exist, or whose start time differs, has ended.
func (p Process) End(ctx context.Context) error {
	p.Signal(syscall.SIGTERM)
	patience := time.NewTimer(Grace)
	defer patience.Stop()
	tick := time.NewTicker(soon)
	defer tick.Stop()
	for p.alive() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("end process %d: %w", p.PID, ctx.Err())
		case <-patience.C:
			p.Signal(syscall.SIGKILL)
		case <-tick.C:
		}
	}
	return nil
}

// alive reports whether the process runs, and not a later one with its id.
func (p Process) alive() bool {
	start, err := StartTime(p.PID)
	return err == nil && start == p.Start
}

// Signal sends s to the process, and never to a later one with its id.
func (p Process) Signal(s syscall.Signal) {
	// The handle is taken before the start time is compared: on Linux it stays with the
	// process, so no later process with the same id can get the signal.
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return
	}
	if p.alive() {
		_ = handle.Signal(s) // it may just have ended
	}
	_ = handle.Release()
}
