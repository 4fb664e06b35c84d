package register

import (
	"errors"
	"os"
	"strings"

	"github.com/agentmux/agentmux/internal/agent/process"
)

// maker is the process that reserves something for a session that it makes.
type maker struct {
	PID   int    `json:"pid"`
	Start int64  `json:"start"` // as process.StartTime returns it
	Where string `json:"where"`
}

// thisProcess returns nil where the system does not say when a process began.
func thisProcess() *maker {
	start, err := process.StartTime(os.Getpid())
	if err != nil {
		return nil
	}
	return &maker{PID: os.Getpid(), Start: start, Where: where()}
}

// where names what counts processes here. A state home may be shared by machines and containers, and its
// reservations outlive a boot: elsewhere the number of a process says nothing.
func where() string {
	name, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return strings.Join([]string{name, strings.TrimSpace(string(boot)), space}, " ")
}

// gone reports whether the process has ended for certain.
func (m *maker) gone() bool {
	if m == nil || m.Where != where() {
		return false
	}
	start, err := process.StartTime(m.PID)
	return errors.Is(err, process.ErrNotFound) || err == nil && start != m.Start
}
