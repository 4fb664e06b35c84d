package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of <linux/prctl.h>.
const prSetChildSubreaper = 36

// becomeReaper makes orphans of our tree our children instead of init's.
func becomeReaper() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return fmt.Errorf("become reaper: %w", errno)
	}
	return nil
}

// reaped is whom to wait for: everybody, as orphans become our children.
func reaped(int) int { return -1 }

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
		return procStat{}, fmt.Errorf("process %d: %w", pid, ErrNoProcess)
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

func processStart(pid int) (int64, error) {
	s, err := readStat(pid)
	if err == nil && (s.state == "Z" || s.state == "X") {
		err = fmt.Errorf("process %d has ended: %w", pid, ErrNoProcess)
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
	if errors.Is(err, ErrNoProcess) {
		return false, nil
	}
	return err == nil && program.parent == pid, err
}

// each calls f for every process; those that end meanwhile are left out.
func each(f func(pid int, s procStat)) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil && s.state != "Z" && s.state != "X" {
			f(pid, s)
		}
	}
}

// marked finds the processes whose environment has the mark of a launch.
func marked(mark string) []Process {
	var found []Process
	want := []byte(markName + "=" + mark)
	each(func(pid int, s procStat) {
		if pid == os.Getpid() {
			return
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			return // another user's, or gone
		}
		for _, v := range bytes.Split(env, []byte{0}) {
			if bytes.Equal(v, want) {
				found = append(found, Process{pid, s.start})
				return
			}
		}
	})
	return found
}

// belonging finds the processes below root and those that carry the launch's mark.
func belonging(root int, mark string) []Process {
	children := map[int][]Process{}
	each(func(pid int, s procStat) { children[s.parent] = append(children[s.parent], Process{pid, s.start}) })
	found := children[root]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].PID]...)
	}
	seen := map[Process]bool{}
	for _, p := range found {
		seen[p] = true
	}
	for _, p := range marked(mark) {
		if !seen[p] {
			found = append(found, p)
		}
	}
	return found
}
