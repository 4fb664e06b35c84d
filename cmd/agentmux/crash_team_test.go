//go:build crash

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/orchestrator"
)

// TestTeamCrashes is TestCrashPoints for the diamond of eight agents: wherever its host is killed, the next
// start leads to the same end. Each agent has one launch and one branch, with its work, and no file is lost.
// AGENTMUX_CRASH_STRIDE takes each n-th of the cases, AGENTMUX_CRASH_SEED others.
func TestTeamCrashes(t *testing.T) {
	whole := &tale{rig: diamondRig(t, "", "", "")}
	log := whole.arm("whole", nil)
	whole.leadAgents(0)
	want := whole.endOfDiamond()
	passed := read(t, log)
	points := byName(passed)
	t.Logf("%d points, passed %d times, %d hosts\n%s", len(points), len(passed), whole.hosts, want)
	if len(points) < 150 {
		t.Errorf("%d points, want at least 150", len(points))
	}
	seed := numberOf("AGENTMUX_CRASH_SEED", 1)
	cases := choose(points, passed, rand.New(rand.NewPCG(uint64(seed), 2)))
	stride := max(1, numberOf("AGENTMUX_CRASH_STRIDE", 1))
	t.Logf("seed %d: each %d. of %d cases", seed, stride, len(cases))
	for i := seed % stride; i < len(cases); i += stride {
		at := cases[i]
		t.Run(strings.Join(at, ","), func(t *testing.T) {
			t.Parallel()
			s := &tale{rig: diamondRig(t, "", "", "")}
			s.arm("killed", at)
			s.leadAgents(len(at))
			if got := s.endOfDiamond(); got != want {
				t.Errorf("after %d kills at %v:\n%s\nwithout:\n%s\n%s", len(at), at, got, want, s.out.String())
			}
		})
	}
}

// endOfDiamond is what must not depend on who was killed when.
func (s *tale) endOfDiamond() string {
	s.t.Helper()
	e := s.session()
	s.sound(e)
	s.github.Check(s.t)
	var left []string
	eventually(s.t, "its processes end", func() bool { left = s.processes(); return len(left) == 0 }, func() string {
		return strings.Join(left, "\n")
	})
	var starts []string
	for _, record := range s.events() {
		if d, ok := record.Data.(orchestrator.AgentStartedRecord); ok {
			starts = append(starts, string(d.Launch))
		}
	}
	slices.Sort(starts)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\nstarted %q\n", e.State.Phase, e.State.Outcome, starts)
	for _, a := range diamondOf {
		fmt.Fprintf(&b, "%s: marker %q, %s commits, files %q, here %q, in its workspace %q\n", a.name, s.read(e.Dir, "signals", a.name+".done"),
			s.git(s.clone, "rev-list", "--count", "main..x/"+a.name), s.git(s.clone, "ls-tree", "-r", "--name-only", "x/"+a.name),
			s.git(s.clone, "show", "x/"+a.name+":made/"+a.name+".txt"), s.read(s.dir, "shop-"+a.name, "made", a.name+".txt"))
		if tip, server := s.git(s.clone, "rev-parse", "x/"+a.name), s.git(s.clone, "ls-remote", s.github.CloneURL(rigRepo), "refs/heads/x/"+a.name); !strings.HasPrefix(server, tip+"\t") {
			s.t.Errorf("%s is at %s, on the server at %q", a.name, tip, server)
		}
	}
	fmt.Fprintf(&b, "branches %q, on the server %q\n", s.git(s.clone, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"), s.headsOnServer())
	fmt.Fprintf(&b, "files\n%s\n", strings.Join(s.artifacts(e), "\n"))
	s.expect(exit.Done, "agents", "cleanup") // a kill at the very end leaves the socket of what its panes printed
	fmt.Fprintf(&b, "beside it\n%s\n", strings.Join(s.beside(), "\n"))
	return b.String()
}
