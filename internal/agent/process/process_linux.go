package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of <linux/prctl.h>.
const prSetChildSubreaper = 36

// BecomeReaper makes this process adopt the orphans below it, in place of init.
func BecomeReaper() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return fmt.Errorf("become reaper: %w", errno)
	}
	return nil
}

// WaitFor returns the id that wait4 takes: -1 for all children, because this process adopts
// orphans. Elsewhere it is that of the program.
func WaitFor(int) int { return -1 }

// Childless reports whether this process has no child, not even one that has ended and was not
// waited for. Orphans of the launch are its children, so a process that was started while
// /proc was read is not missed.
func Childless() bool {
	const all = 0 // P_ALL of <linux/wait.h>
	_, _, errno := syscall.RawSyscall6(syscall.SYS_WAITID, all, 0, 0, syscall.WEXITED|syscall.WNOHANG|syscall.WNOWAIT, 0, 0)
	return errno == syscall.ECHILD
}

// procStat is the part of /proc/<pid>/stat that is used.
type procStat struct {
	state         string
	parent, group int
	front         int // the group in front of the process's terminal, -1 without one
	start         int64
}

func readStat(pid int) (procStat, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return procStat{}, fmt.Errorf("process %d: %w", pid, ErrNotFound)
	}
	if err != nil {
		return procStat{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	// The name in parentheses may hold anything, so count from its end.
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(f) < 20 {
		return procStat{}, fmt.Errorf("look at process %d: %d fields", pid, len(f))
	}
	s := procStat{state: f[0]}
	var errs [4]error
	s.parent, errs[0] = strconv.Atoi(f[1])
	s.group, errs[1] = strconv.Atoi(f[2])
	s.front, errs[2] = strconv.Atoi(f[5])
	s.start, errs[3] = strconv.ParseInt(f[19], 10, 64)
	return s, errors.Join(errs[:]...)
}

func startTime(pid int) (int64, error) {
	s, err := readStat(pid)
	if err == nil && (s.state == "Z" || s.state == "X") {
		err = fmt.Errorf("process %d has ended: %w", pid, ErrNotFound)
	}
	return s.start, err
}

func programInFront(pid int) (bool, error) {
	s, err := readStat(pid)
	if err != nil {
		return false, err
	}
	if s.front <= 0 || s.front == s.group {
		return false, nil
	}
	program, err := readStat(s.front)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && program.parent == pid, err
}

// ids returns those of all processes.
func ids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// each calls f for every process. It leaves out those that end meanwhile.
func each(f func(pid int, s procStat)) {
	for _, pid := range ids() {
		if s, err := readStat(pid); err == nil && s.state != "Z" && s.state != "X" {
			f(pid, s)
		}
	}
}

// marked finds the processes whose environment has the mark of a launch. Most have not, and of
// those it reads nothing else.
func marked(mark string) []Process {
	var found []Process
	own, a := os.Getpid(), search{mark: mark}
	for _, pid := range ids() {
		if pid == own || !a.carries(pid) {
			continue
		}
		// Once more after the start time: a later process with the same id has another.
		if start, err := startTime(pid); err == nil && a.carries(pid) {
			found = append(found, Process{pid, start})
		}
	}
	return found
}

// search looks for the mark of a launch in one process after the other.
type search struct {
	mark string
	buf  []byte
}

// carries reports whether a process has the mark. The answer is false for a process of another
// user and for one that has ended.
func (a *search) carries(pid int) bool {
	// Without package os, which would ask the poller about each of them.
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/environ", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = syscall.Close(fd) }()
	if a.buf == nil {
		a.buf = make([]byte, 16<<10)
	}
	length := 0
	for {
		n, err := syscall.Read(fd, a.buf[length:])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return false
		}
		if n == 0 {
			break
		}
		if length += n; length == len(a.buf) {
			a.buf = append(a.buf, make([]byte, len(a.buf))...)
		}
	}
	want := MarkName + "=" + a.mark
	env := a.buf[:length]
	if !bytes.Contains(env, []byte(want)) {
		return false
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if string(v) == want {
			return true
		}
	}
	return false
}

// Belonging finds the processes below root and those that carry the launch's mark. It reads
// /proc once, because the end of a launch waits for it on machines with many processes.
func Belonging(root int, mark string) []Process {
	children := map[int][]Process{}
	var marked []Process
	a := search{mark: mark}
	each(func(pid int, s procStat) {
		p := Process{pid, s.start}
		children[s.parent] = append(children[s.parent], p)
		if pid != root && a.carries(pid) {
			marked = append(marked, p)
		}
	})
	found := children[root]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].PID]...)
	}
	seen := map[Process]bool{}
	for _, p := range found {
		seen[p] = true
	}
	for _, p := range marked {
		if !seen[p] {
			found = append(found, p)
		}
	}
	return found
}

// ofLaunch reports whether a process carries the mark of any launch, or is the agent-exec of
// one.
func ofLaunch(pid int) bool {
	if variableOf(pid, MarkName) != "" {
		return true
	}
	command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	words := bytes.Split(command, []byte{0})
	return len(words) > 2 && string(words[1]) == "agent-exec"
}

// launched finds the processes of all launches below a directory, agent-exec among them.
func launched(launches string) []Process {
	var found []Process
	own := os.Getpid()
	each(func(pid int, s procStat) {
		if pid != own && ofLaunchIn(pid, launches) {
			found = append(found, Process{pid, s.start})
		}
	})
	return found
}

// ofLaunchIn reports whether a process of this user belongs to a launch below a directory.
func ofLaunchIn(pid int, launches string) bool {
	command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // empty for one that has ended or belongs to another user
	words := strings.Split(string(command), "\x00")
	if len(words) > 2 && words[1] == "agent-exec" && filepath.Dir(words[2]) == launches {
		return true
	}
	return launchedIn(launches, variableOf(pid, LaunchName), variableOf(pid, MarkName))
}

// variableOf returns a variable of the environment that a process was started with, or "" when
// the process has none of that name or does not let this one read it.
func variableOf(pid int, name string) string {
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(v, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}
