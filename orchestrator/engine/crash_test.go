//go:build crash

package engine_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/crash"
)

// Variables that arm a host: where it writes down the points it passes, and the one at
// which it ends.
const (
	crashLog = "AGENTMUX_CRASH_LOG"
	crashAt  = "AGENTMUX_CRASH_AT"
)

func arm(t *testing.T) {
	if log := os.Getenv(crashLog); log != "" {
		if err := crash.Arm(log, os.Getenv(crashAt)); err != nil {
			t.Fatal(err)
		}
	}
}

func number(variable string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil && n >= 0 {
		return n
	}
	return otherwise
}

// pairs is how many cases kill the next host as well, at one of the first points it passes.
const (
	pairs = 200
	early = 30
)

// TestCrashEngine kills the host at each crash point that it passes in a session, as often
// as it passes it, and then at pairs of points: the session comes to the same end.
// AGENTMUX_CRASH_STRIDE takes only each n-th of them, AGENTMUX_CRASH_SEED draws the pairs.
func TestCrashEngine(t *testing.T) {
	log := filepath.Join(t.TempDir(), "points")
	want := killedStory(t, func(int) death { return death{env: []string{crashLog + "=" + log}} })
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	passed := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(passed) < 500 {
		t.Errorf("%d points are passed, want at least 500", len(passed))
	}
	seed := number("AGENTMUX_CRASH_SEED", 1)
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	var cases [][]string
	for _, at := range passed {
		cases = append(cases, []string{at})
	}
	for range pairs {
		cases = append(cases, []string{passed[random.IntN(len(passed))], strconv.Itoa(1 + random.IntN(early))})
	}
	stride := max(1, number("AGENTMUX_CRASH_STRIDE", 1))
	t.Logf("seed %d: each %d. of %d cases", seed, stride, len(cases))
	for i := seed % stride; i < len(cases); i += stride {
		at := cases[i]
		t.Run(strings.Join(at, ","), func(t *testing.T) {
			t.Parallel()
			got := killedStory(t, func(host int) death {
				d := death{env: []string{crashLog + "=" + os.DevNull}}
				if host < len(at) {
					d.env = append(d.env, crashAt+"="+at[host])
				}
				return d
			})
			if got != want {
				t.Errorf("the story is\n%s\nwant\n%s", got, want)
			}
		})
	}
}
