package session

import (
	"bytes"
	"fmt"
	"os"
)

// processStart returns when a process began, in the system's own unit, so that a
// later process with the same number is told apart. It is empty where the system
// does not say.
func processStart(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field, the name, may hold spaces and parentheses.
	end := bytes.LastIndexByte(data, ')')
	fields := bytes.Fields(data[end+1:])
	const startTime = 19 // field 22, counted after the name
	if end < 0 || len(fields) <= startTime {
		return ""
	}
	return string(fields[startTime])
}
