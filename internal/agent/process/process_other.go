//go:build unix && !linux

package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// BecomeReaper does nothing: here init adopts orphans, and they are found by their mark.
func BecomeReaper() error { return nil }

// WaitFor returns the id that wait4 takes: that of the program alone, because os/exec waits
// for ps.
func WaitFor(program int) int { return program }

// Childless is always true here: orphans do not become children of this process.
func Childless() bool { return true }

// ps returns columns of one process or, with pid 0, of all processes of this user.
func ps(pid int, columns string) (string, error) {
	args := []string{"-x", "-o", columns}
	if pid != 0 {
		args = []string{"-o", columns, "-p", strconv.Itoa(pid)}
	}
	cmd := exec.Command("/bin/ps", args...)
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC"}
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, ErrNotFound)
	}
	return strings.TrimSpace(string(out)), nil
}

func startTime(pid int) (int64, error) {
	out, err := ps(pid, "stat=,lstart=")
	if err != nil {
		return 0, err
	}
	state, start, _ := strings.Cut(out, " ")
	if out == "" || strings.HasPrefix(state, "Z") {
		return 0, fmt.Errorf("process %d: %w", pid, ErrNotFound)
	}
	at, err := time.Parse("Mon Jan _2 15:04:05 2006", strings.TrimSpace(start))
	if err != nil {
		return 0, fmt.Errorf("start of process %d: %w", pid, err)
	}
	return at.Unix(), nil
}

func programInFront(pid int) (bool, error) {
	out, err := ps(pid, "pgid=,tpgid=")
	if err != nil {
		return false, err
	}
	f := strings.Fields(out)
	return len(f) == 2 && f[1] != "0" && f[1] != "-1" && f[0] != f[1], nil
}

// marked finds the processes whose environment has the mark of a launch. ps shows the
// environment behind the command line.
func marked(mark string) []Process {
	cmd := exec.Command("/bin/ps", "-x", "-E", "-ww", "-o", "pid=,command=")
	cmd.Env = []string{"LC_ALL=C"}
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	var found []Process
	for _, line := range bytes.Split(out, []byte("\n")) {
		f := strings.Fields(string(line))
		for _, word := range f[min(1, len(f)):] {
			if word != MarkName+"="+mark {
				continue
			}
			if pid, err := strconv.Atoi(f[0]); err == nil && pid != os.Getpid() {
				if start, err := startTime(pid); err == nil {
					found = append(found, Process{pid, start})
				}
			}
			break
		}
	}
	return found
}

// Belonging finds the processes below root and those that carry the launch's mark.
func Belonging(root int, mark string) []Process {
	found := marked(mark)
	out, err := ps(0, "pid=,ppid=")
	if err != nil {
		return found
	}
	children := map[int][]int{}
	for _, line := range strings.Split(out, "\n") {
		var pid, parent int
		if n, _ := fmt.Sscan(line, &pid, &parent); n == 2 {
			children[parent] = append(children[parent], pid)
		}
	}
	seen := map[int]bool{root: true}
	for _, p := range found {
		seen[p.PID] = true
	}
	queue := children[root]
	for i := 0; i < len(queue); i++ {
		queue = append(queue, children[queue[i]]...)
		// ps itself was a child of this process and has ended by now.
		if start, err := startTime(queue[i]); err == nil && !seen[queue[i]] {
			found = append(found, Process{queue[i], start})
		}
	}
	return found
}

// ofLaunch reports whether a process carries the mark of any launch, or is the agent-exec of
// one.
func ofLaunch(pid int) bool {
	words := wordsOf(pid)
	return valueAmong(words, MarkName) != "" || len(words) > 2 && words[1] == "agent-exec"
}

// variableOf returns a variable of the environment that a process was started with.
func variableOf(pid int, name string) string { return valueAmong(wordsOf(pid), name) }

// wordsOf returns the arguments of a process and its variables.
func wordsOf(pid int) []string {
	cmd := exec.Command("/bin/ps", "-E", "-ww", "-o", "command=", "-p", strconv.Itoa(pid))
	cmd.Env = []string{"LC_ALL=C"}
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	return strings.Fields(string(out))
}

func valueAmong(words []string, name string) string {
	for _, word := range words {
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			return value
		}
	}
	return ""
}

// launched finds the processes of all launches below a directory, agent-exec among them.
func launched(launches string) []Process {
	cmd := exec.Command("/bin/ps", "-x", "-E", "-ww", "-o", "pid=,command=")
	cmd.Env = []string{"LC_ALL=C"}
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	var found []Process
	for line := range strings.Lines(string(out)) {
		id, command, _ := strings.Cut(strings.TrimSpace(line), " ")
		var launch, mark string
		for _, word := range strings.Fields(command) {
			if text, ok := strings.CutPrefix(word, LaunchName+"="); ok {
				launch = text
			}
			if text, ok := strings.CutPrefix(word, MarkName+"="); ok {
				mark = text
			}
		}
		if !strings.Contains(command, " agent-exec "+launches+"/") && !launchedIn(launches, launch, mark) {
			continue
		}
		if pid, err := strconv.Atoi(id); err == nil && pid != os.Getpid() {
			if start, err := startTime(pid); err == nil {
				found = append(found, Process{pid, start})
			}
		}
	}
	return found
}
