//go:build crash

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCrashPoints kills the host at crash points of a run and leads the session on: its
// end is that of a run without a kill. Each point is tried when it is passed for the
// first time, and as often again as AGENTMUX_CRASH_PASSES says (default 2), at passes that
// the seed picks. AGENTMUX_CRASH_PAIRS (default 40) is how many times the next host is
// killed as well, at one of the first points it passes. AGENTMUX_CRASH_STRIDE takes only
// each n-th of all these, AGENTMUX_CRASH_SEED another choice of passes and pairs.
func TestCrashPoints(t *testing.T) {
	whole := newStory(t)
	log := whole.arm("whole", nil)
	whole.lead(0)
	want := whole.ending()
	if n := whole.late(); n != 1 {
		t.Errorf("late changes were recorded %d times, want once", n)
	}
	passed := read(t, log)
	points := byName(passed)
	t.Logf("%d points, passed %d times, %d hosts\n%s", len(points), len(passed), whole.hosts, want)
	if len(points) < 120 {
		t.Errorf("%d points, want at least 120", len(points))
	}
	seed := numberOf("AGENTMUX_CRASH_SEED", 1)
	cases := choose(points, passed, rand.New(rand.NewPCG(uint64(seed), 0)))
	stride := max(1, numberOf("AGENTMUX_CRASH_STRIDE", 1))
	t.Logf("seed %d: each %d. of %d cases", seed, stride, len(cases))
	for i := seed % stride; i < len(cases); i += stride {
		at := cases[i]
		t.Run(strings.Join(at, ","), func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			killed := s.arm("killed", at)
			s.lead(len(at))
			if got := s.ending(); got != want {
				t.Errorf("after %d kills at %v:\n%s\nwithout:\n%s\n%s", len(at), at, got, want, s.out.String())
			}
			if n := len(read(t, killed)); n == 0 {
				t.Error("no point was passed")
			}
			if s.kills < len(at) {
				t.Logf("%d of %d points were reached", s.kills, len(at))
			}
		})
	}
}

// arm lets the n-th host of the story end at the n-th point of at, and all of them write
// down which they pass.
func (s *tale) arm(name string, at []string) (log string) {
	log = filepath.Join(s.dir, name+".points")
	s.prepare = func(cmd *exec.Cmd) {
		cmd.Env = append(slices.Clip(cmd.Env), crashLog+"="+log)
		if s.kills < len(at) {
			cmd.Env = append(cmd.Env, crashAt+"="+at[s.kills])
		}
	}
	return log
}

func read(t *testing.T, log string) []string {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(bytes.TrimSpace(data)), "\n")
}

// byName are the points in the order in which they are first passed, with how often one
// host passes them.
func byName(passed []string) []point {
	var points []point
	for _, pass := range passed {
		name, count, _ := strings.Cut(pass, "#")
		n, _ := strconv.Atoi(count)
		i := slices.IndexFunc(points, func(p point) bool { return p.name == name })
		if i < 0 {
			points = append(points, point{name: name})
			i = len(points) - 1
		}
		points[i].passes = max(points[i].passes, n)
	}
	return points
}

type point struct {
	name   string
	passes int
}

// early is how many points a host passes at least before it is at work again.
const early = 60

// choose lists what to try: one or two places to end at.
func choose(points []point, passed []string, random *rand.Rand) [][]string {
	var cases [][]string
	for _, p := range points {
		cases = append(cases, []string{p.name + "#1"})
	}
	for _, p := range points {
		for range min(p.passes-1, numberOf("AGENTMUX_CRASH_PASSES", 2)-1) {
			cases = append(cases, []string{fmt.Sprintf("%s#%d", p.name, 2+random.IntN(p.passes-1))})
		}
	}
	for range numberOf("AGENTMUX_CRASH_PAIRS", 40) {
		first := passed[random.IntN(len(passed))]
		cases = append(cases, []string{first, strconv.Itoa(1 + random.IntN(early))})
	}
	return cases
}
