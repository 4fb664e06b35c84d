package process

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"

	"github.com/agentmux/agentmux/internal/shield"
)

// The variables that every process of a launch carries. Two sessions may have a launch of the
// same name, so processes are found by the mark.
const (
	MarkName   = "AGENTMUX_MARK"
	LaunchName = "AGENTMUX_LAUNCH"
)

// launchForm is the form of a launch's name.
var launchForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// IsLaunchName reports whether a launch can have the name.
func IsLaunchName(name string) bool { return launchForm.MatchString(name) }

// Mark returns the mark of the launch with the directory dir. It differs from those of all
// other sessions and does not change when the launch is prepared again.
func Mark(dir string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(dir)))
	return hex.EncodeToString(sum[:16])
}

// launchedIn reports whether the two variables, as a process shows them, belong to a launch
// below launches. The name alone proves nothing: the mark has to fit its directory.
func launchedIn(launches, launch, mark string) bool {
	return IsLaunchName(launch) && mark == Mark(filepath.Join(launches, launch))
}

// maxAncestors bounds the walk to the parents, because process ids may be reused meanwhile.
const maxAncestors = 200

// Inside reports whether this process belongs to a launch, and returns the process that shows
// it: this one or an ancestor that carries a launch's mark or is its agent-exec. A process
// that an agent had a service of the machine start is not recognized; only a sandbox prevents
// that.
func Inside() (pid int, inside bool) {
	if os.Getenv(MarkName) != "" || os.Getenv(LaunchName) != "" {
		return os.Getpid(), true
	}
	pid = os.Getpid()
	for range maxAncestors {
		if ofLaunch(pid) {
			return pid, true
		}
		if pid = shield.Parent(pid); pid <= 1 {
			return 0, false
		}
	}
	return 0, false
}

// Inherited returns the variable of the nearest ancestor that has it, or "". Some programs
// start their tools without most variables.
func Inherited(name string) string {
	pid := os.Getpid()
	for range maxAncestors {
		if pid = shield.Parent(pid); pid <= 1 {
			return ""
		}
		if value := variableOf(pid, name); value != "" {
			return value
		}
	}
	return ""
}
