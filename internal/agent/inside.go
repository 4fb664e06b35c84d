package agent

import (
	"os"

	"github.com/agentmux/agentmux/internal/shield"
)

// maxAncestors bounds the walk upwards: numbers of processes may be given out again meanwhile.
const maxAncestors = 200

// Inside reports whether this process belongs to a launch, and by which process that shows:
// this one or one that it was started below carries a launch's mark, or is its agent-exec.
// An agent that has a service of the machine start a process is not seen; nothing but a
// sandbox hinders that.
func Inside() (pid int, inside bool) {
	if os.Getenv(markName) != "" || os.Getenv(launchName) != "" {
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
