//go:build crash

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/start"
	"github.com/agentmux/agentmux/orchestrator"
)

// Row R7 for a run of an agents file: the machine that takes it over is killed at each crash point from the takeover to the end, and
// started again there, by what a person would type: the same command, or one that continues what is here. The end is that of a
// machine that was not killed: nobody who was done is started again, and each agent has one branch and one pull request.
func TestCrashPointsOfMovedAgents(t *testing.T) {
	whole := newMovedTale(t)
	log := whole.arm("whole", nil)
	whole.leadMoved(0, false)
	want := whole.endOfAgents()
	points := byName(read(t, log))
	stride := max(1, numberOf("AGENTMUX_CRASH_STRIDE", 1))
	t.Logf("each %d. of %d points\n%s", stride, len(points), want)
	if len(points) < 50 {
		t.Errorf("%d points, want at least 50", len(points))
	}
	for i := range points {
		if i%stride != numberOf("AGENTMUX_CRASH_SEED", 1)%stride && points[i].name != "release lock" { // where only the claim is owed
			continue
		}
		at, same := points[i].name+"#1", i/stride%2 == 0
		t.Run(fmt.Sprintf("%s, same command %v", at, same), func(t *testing.T) {
			t.Parallel()
			s := newMovedTale(t)
			s.arm("killed", []string{at})
			s.leadMoved(1, same)
			if got := s.endOfAgents(); got != want {
				t.Errorf("killed at %s:\n%s\nwithout:\n%s\n%s", at, got, want, s.out.String())
			}
		})
	}
}

// newMovedTale is a machine that is to continue a run of which one agent is done and the other has begun.
func newMovedTale(t *testing.T) *tale {
	t.Helper()
	o := rigOptions{playbook: strings.Replace(teamPlaybook, "      - submit: {tool: submit_done, via: cli, args: [submit, done]}\n", "      - hang: true\n", 1)}
	r := newRig(t, o)
	r.saveOften()
	file := strings.NewReplacer("agents:\n", "on_complete: [push, pr]\nagents:\n", "    task: Write the words\n", "    issue: 1\n").Replace(teamFile)
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), file)
	b := r.background("agents", "start", "--yes", "--headless")
	e := r.atWork("build")
	r.eventually("one agent is done and the work of the other is on the server", func() bool {
		_, m, names := r.saved(e)
		return slices.Contains(names, "session/signals/words.done") && len(m.Work["1.greeting"].Changed) > 0
	}, b.out.String)
	_ = b.cmd.Process.Kill()
	<-b.ended
	r.asJob("a_91_1")
	other := &tale{rig: r.elsewhere(rigOptions{playbook: teamPlaybook})}
	other.write(filepath.Join(other.clone, ".dmux-agents.yml"), file)
	// The budget is of the account, which both machines have.
	r.asked.Add(3)
	return other
}

// leadMoved continues the run until every agent is done and nothing is owed. After a kill the same command is given again, or
// the one for a run that is here.
func (s *tale) leadMoved(kills int, same bool) {
	s.t.Helper()
	for {
		entries := s.sessions()
		args := []string{"agents", "start", "--yes", "--headless"}
		switch {
		case len(entries) > 1:
			s.fatal("sessions: %+v", entries)
		case len(entries) == 1 && entries[0].State != nil && entries[0].State.Phase == orchestrator.PhaseDone && !start.Owes(s.t.Context(), entries[0]):
			return
		case len(entries) == 0 || same:
			args = append(args, "--from-checkpoint", "--take")
		}
		if s.hosts++; s.hosts > kills+maxHosts {
			s.fatal("host %d, and still not at an end", s.hosts)
		}
		if s.host(args) {
			s.kills++
			s.minutePasses()
			if len(s.sessions()) == 0 && s.claimRef() != "" {
				s.asJob("a_91_2")
			}
		}
	}
}

// Row R7: a machine that is killed after it made its commit on a branch that another one pushed late, and before it recorded
// that, makes the same one again.
func TestCrashOnABranchThatWasPushedLate(t *testing.T) {
	t.Parallel()
	repo, other, was := pushedLate(t)
	other.asked.Add(3)
	s := &tale{rig: other}
	s.arm("killed", []string{"effect done ensure_commit#1"})
	s.leadMoved(1, true)
	if s.kills != 1 {
		t.Error("the machine was not killed")
	}
	if parent := other.git(other.clone, "rev-parse", "f/base^"); parent != was || len(repo.Pulls()) != 2 {
		t.Errorf("f/base is on %s, what was pushed is %s; %d pull requests\n%s", parent, was, len(repo.Pulls()), s.out.String())
	}
}
