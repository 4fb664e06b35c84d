package process

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// soon and later are the pauses between two checks of one process, and of all processes.
const (
	soon  = 5 * time.Millisecond
	later = 25 * time.Millisecond
)

// Stop ends the launch with the given mark: TERM to its agent-exec p, which ends the rest.
// When that takes longer than Grace and two seconds, Stop kills every process of the launch.
// It returns when none is left. A process p that has ended, whose start time differs, or
// that is zero counts as ended; Stop still searches for what it left behind.
func Stop(ctx context.Context, p Process, mark string) error {
	p.Signal(syscall.SIGTERM)
	patience := time.NewTimer(Grace + 2*time.Second)
	defer patience.Stop()
	limit := time.NewTimer(2*Grace + 5*time.Second)
	defer limit.Stop()
	next := time.NewTimer(0)
	defer next.Stop()
	signal, told := syscall.SIGTERM, map[Process]bool{}
	for {
		// Finding the processes of a launch reads every process of the machine: rarely, and
		// not while agent-exec does the same.
		alive, left := p.alive(), []Process(nil)
		next.Reset(soon)
		if !alive || signal == syscall.SIGKILL {
			left = dying(marked(mark), told)
			next.Reset(later)
			if !alive && len(left) == 0 {
				return nil
			}
			for _, q := range append(left, p) {
				if signal == syscall.SIGKILL || !told[q] {
					q.Signal(signal)
				}
				told[q] = true
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return fmt.Errorf("%d processes do not end", len(left))
		case <-patience.C:
			signal = syscall.SIGKILL
		case <-next.C:
		}
	}
}

// dying adds to the processes that were found those that were told to end and still run: one that is about to end has no
// environment any more to be found by.
func dying(found []Process, told map[Process]bool) []Process {
	for p := range told {
		if p.alive() && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	return found
}

// Count returns how many processes of the launches below launches run; see StopAll.
func Count(launches string) int { return len(launched(filepath.Clean(launches))) }

// StopAll ends every process of the launches below launches, the directory in which a session
// keeps them, and returns how many there were. It finds them by the launch and the mark that
// they carry and reads no file, for a session whose files cannot be trusted. It returns when
// none is left.
func StopAll(ctx context.Context, launches string) (int, error) {
	patience := time.NewTimer(Grace + 2*time.Second)
	defer patience.Stop()
	limit := time.NewTimer(2*Grace + 5*time.Second)
	defer limit.Stop()
	tick := time.NewTicker(later)
	defer tick.Stop()
	signal, told := syscall.SIGTERM, map[Process]bool{}
	for {
		left := dying(launched(filepath.Clean(launches)), told)
		if len(left) == 0 {
			return len(told), nil
		}
		for _, p := range left {
			if signal == syscall.SIGKILL || !told[p] {
				p.Signal(signal)
			}
			told[p] = true
		}
		select {
		case <-ctx.Done():
			return len(told), fmt.Errorf("stop the launches in %s: %w", launches, ctx.Err())
		case <-limit.C:
			return len(told), fmt.Errorf("stop the launches in %s: %d processes do not end", launches, len(left))
		case <-patience.C:
			signal = syscall.SIGKILL
		case <-tick.C:
		}
	}
}
