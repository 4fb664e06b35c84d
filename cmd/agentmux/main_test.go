package main

import (
	"os"
	"strings"
	"testing"
)

// TestMain lets the test binary stand in for agentmux: whatever a session starts
// by its own path (panes, tool servers, hooks, git's askpass) ends up here, with
// arguments that are no test flags.
func TestMain(m *testing.M) {
	if os.Getenv("AGENTMUX_TEST_BINARY") == "" && (len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-test.")) {
		os.Exit(m.Run())
	}
	if len(os.Args) > 2 && os.Args[1] == hostMany {
		os.Exit(hostSessions(os.Args[2:]))
	}
	main()
}
