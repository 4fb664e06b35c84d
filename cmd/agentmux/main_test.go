package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/agentmux/agentmux/internal/testexit"
	"github.com/agentmux/agentmux/internal/testplain"
)

// sideBySide is how many tests of this package run at once. A session waits half of its time,
// for programs that start and for intervals of a bot.
const sideBySide = "6"

// TestMain lets the test binary act as agentmux: everything that a session starts
// by its own path (panes, tool servers, hooks, git's askpass) ends up here, with
// arguments that are not test flags.
func TestMain(m *testing.M) {
	if os.Getenv("AGENTMUX_TEST_BINARY") != "" || len(os.Args) >= 2 && !strings.HasPrefix(os.Args[1], "-test.") {
		if stand, ok := standIns[os.Args[min(1, len(os.Args)-1)]]; ok {
			testexit.Exit(stand(os.Args[2:]))
		}
		if len(os.Args) > 2 && os.Args[1] == hostMany {
			testexit.Exit(hostSessions(os.Args[2:]))
		}
		if len(os.Args) > 4 && os.Args[1] == timedAgent {
			testexit.Exit(runTimed(os.Args[2:]))
		}
		if len(os.Args) > 3 && os.Args[1] == postHost {
			testexit.Exit(runPostHost(os.Args[2:]))
		}
		arm()
		if os.Getenv(agedEnv) != "" {
			testexit.Exit(runAged(os.Getenv(panesEnv)))
		}
		if os.Getenv(aheadEnv) != "" {
			testexit.Exit(runAhead(os.Getenv(panesEnv)))
		}
		testexit.Exit(runProcess(os.Getenv(panesEnv)))
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", sideBySide); err != nil {
			panic(err)
		}
	}
	os.Exit(runTests(m))
}

// panesEnv names the program that runs in the panes of a rig.
const panesEnv = "AGENTMUX_TEST_PANES"

// inPanes returns that program. runTests sets it; the first rig has it built.
var inPanes func() (string, error)

func runTests(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "amx")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	inPanes = sync.OnceValues(func() (string, error) { return testplain.Build(context.Background(), dir) })
	return m.Run()
}
