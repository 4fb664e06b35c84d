//go:build crash

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/start"
	"github.com/agentmux/agentmux/orchestrator"
)

// TestCrashPointsOfAgents is TestCrashPoints for a run of an agents file with an issue: wherever its host
// is killed, the next start leads to the same end. No agent is started twice, each has one branch and one
// pull request, and the issue shows what happened once.
func TestCrashPointsOfAgents(t *testing.T) {
	whole := newAgentsTale(t)
	log := whole.arm("whole", nil)
	whole.leadAgents(0)
	want := whole.endOfAgents()
	passed := read(t, log)
	points := byName(passed)
	t.Logf("%d points, passed %d times, %d hosts\n%s", len(points), len(passed), whole.hosts, want)
	if len(points) < 60 {
		t.Errorf("%d points, want at least 60", len(points))
	}
	seed := numberOf("AGENTMUX_CRASH_SEED", 1)
	cases := choose(points, passed, rand.New(rand.NewPCG(uint64(seed), 1)))
	stride := max(1, numberOf("AGENTMUX_CRASH_STRIDE", 1))
	t.Logf("seed %d: each %d. of %d cases", seed, stride, len(cases))
	for i := seed % stride; i < len(cases); i += stride {
		at := cases[i]
		t.Run(strings.Join(at, ","), func(t *testing.T) {
			t.Parallel()
			s := newAgentsTale(t)
			s.arm("killed", at)
			s.leadAgents(len(at))
			if got := s.endOfAgents(); got != want {
				t.Errorf("after %d kills at %v:\n%s\nwithout:\n%s\n%s", len(at), at, got, want, s.out.String())
			}
		})
	}
}

func newAgentsTale(t *testing.T) *tale {
	t.Helper()
	s := &tale{rig: newRig(t, rigOptions{playbook: teamPlaybook, config: "sandbox: {unsafe_flags: true}\n"})}
	file := strings.NewReplacer("agents:\n", "on_complete: [push, pr]\nagents:\n", "    task: Write the words\n", "    issue: 1\n").Replace(teamFile)
	s.write(filepath.Join(s.clone, ".dmux-agents.yml"), file)
	return s
}

// leadAgents starts hosts until every agent is done and nothing is owed.
func (s *tale) leadAgents(kills int) {
	s.t.Helper()
	for {
		if entries := s.sessions(); len(entries) == 1 && entries[0].State != nil {
			if e := entries[0]; e.State.Phase == orchestrator.PhaseDone && !start.Owes(s.t.Context(), e) {
				return
			}
		} else if len(entries) > 1 {
			s.fatal("sessions: %+v", entries)
		}
		if s.hosts++; s.hosts > kills+maxHosts {
			s.fatal("host %d, and still not at an end", s.hosts)
		}
		if s.host([]string{"agents", "start", "--yes", "--headless"}) {
			s.kills++
			s.minutePasses()
		}
	}
}

// minutePasses ages what was noted so far. A branch that a start reserved, and a kill kept from making
// its session, is kept for a minute: the session may be about to be made.
func (s *tale) minutePasses() {
	s.t.Helper()
	old := time.Now().Add(-2 * time.Minute)
	err := filepath.WalkDir(filepath.Join(s.dir, "home", ".local", "state", "agentmux", "made"), func(file string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(file, old, old)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
}

// endOfAgents is what must not depend on who was killed when.
func (s *tale) endOfAgents() string {
	s.t.Helper()
	s.sound(s.session())
	var b strings.Builder
	b.WriteString(s.teamPicture())
	repo := s.github.Repo(rigRepo)
	fmt.Fprintf(&b, "\nlabels %v\nclaims %q\n", repo.Issue(1).Labels, s.git(s.clone, "ls-remote", s.github.CloneURL(rigRepo), "refs/agentmux/claims/*"))
	for _, c := range repo.Comments(1) {
		fmt.Fprintf(&b, "%s\n", steady(c.Body))
	}
	for _, p := range repo.Pulls() {
		fmt.Fprintf(&b, "%s\n%s\n", p.Title, steady(p.Body))
	}
	fmt.Fprintf(&b, "refs %s\n", s.git(s.clone, "for-each-ref", "--format=%(refname)", "refs/heads"))
	return b.String()
}
