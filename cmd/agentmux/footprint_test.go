package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator/session"
)

// Kinds of processes around sessions. All but tmux and the agents are ours.
const (
	kindHost       = "host"
	kindAgentExec  = "agent-exec"
	kindTranscript = "transcript"
	kindMonitor    = "monitor"
	kindToolServer = "mcp"
	kindTmux       = "tmux"
	kindAgent      = "agent"
)

// ours are the kinds that are this program.
var ours = []string{kindHost, kindAgentExec, kindTranscript, kindMonitor, kindToolServer}

// spent is what processes have taken.
type spent struct {
	cpu time.Duration // of the processes and the children they waited for
	pss int64         // bytes: memory, of what is shared only the share
}

func (s spent) plus(o spent) spent { return spent{s.cpu + o.cpu, s.pss + o.pss} }

// footprint is what the processes around some sessions have taken, by kind, and how many
// there are.
type footprint struct {
	kinds map[string]spent
	count map[string]int
	forks int64 // of the machine since it was started
}

// ours sums up the kinds that are this program.
func (p footprint) ours() spent {
	var sum spent
	for _, kind := range ours {
		sum = sum.plus(p.kinds[kind])
	}
	return sum
}

// footprint measures the host, the tmux servers and all their descendants.
func (f *fleet) footprint() footprint {
	f.t.Helper()
	p := footprint{kinds: map[string]spent{}, count: map[string]int{}, forks: forks(f.t)}
	kinds := map[int]string{f.host.Process.Pid: kindHost}
	for _, dir := range f.dirs {
		kinds[f.serverOf(dir)] = kindTmux
	}
	children := descent(f.t)
	queue := []int{}
	for pid := range kinds {
		queue = append(queue, pid)
	}
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		kind, known := kinds[pid]
		if !known {
			kind = kindOf(pid)
		}
		s, err := readSpent(pid)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended since; who waited for it has its time
		}
		if err != nil {
			f.t.Fatal(err)
		}
		p.kinds[kind] = p.kinds[kind].plus(s)
		p.count[kind]++
		queue = append(queue, slices.DeleteFunc(slices.Clone(children[pid]), func(child int) bool { return kinds[child] != "" })...)
	}
	return p
}

// serverOf is the tmux server of a session.
func (f *fleet) serverOf(dir string) int {
	f.t.Helper()
	sess, err := session.Open(dir)
	if err != nil {
		f.t.Fatal(err)
	}
	out, err := exec.Command("tmux", "-S", sess.ReadRuntime().Socket, "display-message", "-p", "#{pid}").Output()
	if err != nil {
		f.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		f.t.Fatal(err)
	}
	return pid
}

// kindOf tells a process by the subcommand it was started with.
func kindOf(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	words := strings.Split(string(data), "\x00")
	for _, kind := range []string{kindAgentExec, kindTranscript, kindMonitor, kindToolServer} {
		if len(words) > 1 && words[1] == kind {
			return kind
		}
	}
	if filepath.Base(words[0]) == kindTmux {
		return kindTmux
	}
	return kindAgent
}

// descent maps each process to its children.
func descent(tb testing.TB) map[int][]int {
	tb.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		tb.Fatal(err)
	}
	children := map[int][]int{}
	for _, name := range names {
		fields, err := statFields(name)
		pid, convErr := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil || convErr != nil {
			continue // it has ended since
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	return children
}

// statFields are the fields of a stat file from the state on (proc_pid_stat(5)).
func statFields(name string) ([]string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	// The name in parentheses may hold anything, so count from its end.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 22 {
		return nil, fmt.Errorf("%s has %d fields", name, len(fields))
	}
	return fields, nil
}

// clockTick is USER_HZ of Linux.
const clockTick = time.Second / 100

// readSpent reads the time of a process to the nanosecond, of its children to a clockTick.
func readSpent(pid int) (spent, error) {
	var s spent
	dir := fmt.Sprintf("/proc/%d", pid)
	fields, err := statFields(dir + "/stat")
	if err != nil {
		return s, err
	}
	for _, field := range fields[13:15] { // cutime, cstime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return s, err
		}
		s.cpu += time.Duration(n) * clockTick
	}
	tasks, err := filepath.Glob(dir + "/task/*/schedstat")
	if err != nil {
		return s, err
	}
	for _, task := range tasks {
		var n int64
		if data, err := os.ReadFile(task); err == nil {
			_, _ = fmt.Sscan(string(data), &n) // a thread that has ended adds nothing
		}
		s.cpu += time.Duration(n)
	}
	s.pss, err = readPSS(dir + "/smaps_rollup")
	return s, err
}

func readPSS(name string) (int64, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "Pss:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no Pss", name)
}

// forks is how many processes and threads the machine has made.
func forks(tb testing.TB) int64 {
	tb.Helper()
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "processes "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			return n
		}
	}
	tb.Fatal("/proc/stat does not count processes")
	return 0
}
