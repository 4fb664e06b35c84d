//go:build crash

package main

import (
	"os"
	"slices"

	"github.com/agentmux/agentmux/internal/crash"
)

// Variables that arm a host: where it writes down the points it passes, and the one at
// which it ends.
const (
	crashLog = "AGENTMUX_CRASH_LOG"
	crashAt  = "AGENTMUX_CRASH_AT"
)

// arm makes a host stop at crash points. Agents and their tools are not armed.
func arm() {
	hosts := []string{"issue", "run", "resume", "session", "bot", "agents"}
	if log := os.Getenv(crashLog); log != "" && len(os.Args) > 1 && slices.Contains(hosts, os.Args[1]) {
		if err := crash.Arm(log, os.Getenv(crashAt)); err != nil {
			panic(err)
		}
	}
}
