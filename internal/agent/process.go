package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrNoProcess means that no process has the id, or another one than the recorded.
var ErrNoProcess = errors.New("no such process")

// Process is a process that cannot be mistaken for a later one with the same id.
type Process struct {
	PID   int
	Start int64 // as ProcessStart gives it
}

// ProcessStart returns when the process started, in a unit of this machine's own that is
// comparable only with itself. A process that does not exist, or only as a zombie, gives
// ErrNoProcess.
func ProcessStart(pid int) (int64, error) {
	if pid <= 0 {
		return 0, fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	}
	return processStart(pid)
}

// InFront reports whether the program started by the agent-exec process pid, and not that
// process itself, reads the terminal. Only then does typing reach an agent.
func InFront(pid int) (bool, error) { return programInFront(pid) }

// Stop ends a launch from outside: TERM to its agent-exec, which ends the rest and writes
// exit.json. When that takes longer than Grace and some more, everything that belongs to
// the launch in dir is killed. It returns when nothing is left. A process that is gone,
// whose start time is another, or that is zero counts as ended; what it left behind is
// still looked for. A launch that was never prepared has nothing to end.
func Stop(ctx context.Context, p Process, dir string) error {
	l, err := ReadLaunch(dir)
	if errors.Is(err, fs.ErrNotExist) && p == (Process{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop launch: %w", err)
	}
	p.signal(syscall.SIGTERM)
	patience := time.NewTimer(Grace + 2*time.Second)
	defer patience.Stop()
	limit := time.NewTimer(2*Grace + 5*time.Second)
	defer limit.Stop()
	again := time.NewTimer(0)
	defer again.Stop()
	signal, told := syscall.SIGTERM, map[Process]bool{}
	for {
		// Who belongs to the launch is asked of every process of the machine: rarely,
		// and not while agent-exec is at it.
		alive, left := p.alive(), []Process(nil)
		again.Reset(soon)
		if !alive || signal == syscall.SIGKILL {
			left = marked(l.Mark)
			again.Reset(later)
			if !alive && len(left) == 0 {
				return nil
			}
			for _, q := range append(left, p) {
				if signal == syscall.SIGKILL || !told[q] {
					q.signal(signal)
				}
				told[q] = true
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stop launch %s: %w", l.Launch, ctx.Err())
		case <-limit.C:
			return fmt.Errorf("stop launch %s: %d processes do not end", l.Launch, len(left))
		case <-patience.C:
			signal = syscall.SIGKILL
		case <-again.C:
		}
	}
}

// soon and later are the pauses between two looks at one process, and at all of them.
const (
	soon  = 5 * time.Millisecond
	later = 25 * time.Millisecond
)

// End ends this very process and waits for it: TERM, and KILL when that takes longer than
// Grace. One that is gone, or whose start time is another, has ended.
func (p Process) End(ctx context.Context) error {
	p.signal(syscall.SIGTERM)
	patience := time.NewTimer(Grace)
	defer patience.Stop()
	again := time.NewTicker(soon)
	defer again.Stop()
	for p.alive() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("end process %d: %w", p.PID, ctx.Err())
		case <-patience.C:
			p.signal(syscall.SIGKILL)
		case <-again.C:
		}
	}
	return nil
}

// alive reports whether this very process runs.
func (p Process) alive() bool {
	start, err := ProcessStart(p.PID)
	return err == nil && start == p.Start
}

// signal sends s to this very process, or to nobody.
func (p Process) signal(s syscall.Signal) {
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

// StopAll ends everything that belongs to a launch below launches, the directory in which a
// session keeps them, and says how many processes that were. It asks the processes of the
// machine, by the launch and the mark that they carry, and no file: it is for a session whose
// files cannot be believed. It returns when nothing is left.
func StopAll(ctx context.Context, launches string) (int, error) {
	patience := time.NewTimer(Grace + 2*time.Second)
	defer patience.Stop()
	limit := time.NewTimer(2*Grace + 5*time.Second)
	defer limit.Stop()
	again := time.NewTicker(later)
	defer again.Stop()
	signal, told := syscall.SIGTERM, map[Process]bool{}
	for {
		left := launched(filepath.Clean(launches))
		if len(left) == 0 {
			return len(told), nil
		}
		for _, p := range left {
			if signal == syscall.SIGKILL || !told[p] {
				p.signal(signal)
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
		case <-again.C:
		}
	}
}

// launchedIn reports whether variables, as a process shows them, are those of a launch below
// launches. The mark is that of the directory the launch had: the name alone says nothing.
func launchedIn(launches, launch, mark string) bool {
	return launchForm.MatchString(launch) && mark == LaunchSpec{Dir: filepath.Join(launches, launch)}.mark()
}
