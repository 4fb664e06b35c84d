package steer

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/console"
)

// maxAncestry bounds how many processes Origin names.
const maxAncestry = 12

// Origin names this process and its ancestors, the nearest first. If the system does not tell
// them, it names the process alone.
func Origin() string {
	pid := os.Getpid()
	text := fmt.Sprintf("process %d", pid)
	var names []string
	for range maxAncestry {
		name, parent := processOf(pid)
		if name == "" {
			break
		}
		names = append(names, name)
		if parent <= 1 {
			break
		}
		pid = parent
	}
	if len(names) > 0 {
		text += ": " + strings.Join(names, " < ")
	}
	return text
}

// processOf reads the name and the parent of a process.
func processOf(pid int) (name string, parent int) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	// The second field, the name, may hold spaces and parentheses.
	begin, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if begin < 0 || end < begin {
		return "", 0
	}
	fields := bytes.Fields(data[end+1:])
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	return strings.Map(console.Printable, strings.ToValidUTF8(string(data[begin+1:end]), "?")), parent
}
