//go:build crash

package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
)

// Row R7: the machine that runs a session is killed at crash points of the run, and another one takes the session over. The
// end is that of a run without a kill: one branch, one pull request, one status comment. Then the other machine is killed at points of
// the way on which it takes the session over. AGENTMUX_CRASH_STRIDE takes only each n-th point, as of TestCrashPoints.
func TestCrashMovedElsewhere(t *testing.T) {
	stride := max(1, numberOf("AGENTMUX_CRASH_STRIDE", 1))
	quick := journey{rigOptions{playbook: quickPlaybook}, quickRun}
	want := quick.killedAtPoints(t, stride)
	for i, at := range []string{"fetch checkpoint#1", "fill restored#1", "publish restored#1", "make workspace again#1", "begin#1", "pushed checkpoint#1"} {
		if stride > 1 && i%3 != 0 { // the short form
			continue
		}
		t.Run("taken over: "+at, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: heldPlaybook})
			r.saveOften()
			b := r.background(append([]string{"issue", "1"}, quickRun...)...)
			r.workSaved(r.atWork("coder"), b)
			_ = b.cmd.Process.Kill()
			<-b.ended
			quick.continuedElsewhere(r, at, want)
		})
	}
}

// The reference session is killed and taken over in the same way: two coders work side by side, and a fix round follows. Of
// its points the short form takes a third.
func TestCrashMovedElsewhereInParallelWork(t *testing.T) {
	stride := max(1, numberOf("AGENTMUX_CRASH_STRIDE", 1))
	if stride > 1 {
		stride *= 3
	}
	journey{rigOptions{playbook: referencePlaybook("0")}, []string{"--headless"}}.killedAtPoints(t, stride)
}

// journey is a session that machines take over from one another.
type journey struct {
	options rigOptions
	words   []string // of the command that runs it
}

// killedAtPoints has a session for each so manieth point continued elsewhere. It returns the picture of a run without a kill.
func (j journey) killedAtPoints(t *testing.T, stride int) (want string) {
	t.Helper()
	whole := newRig(t, j.options)
	log := filepath.Join(whole.dir, "whole.points")
	if code, out := j.armed(whole, log, ""); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	want = whole.picture()
	points := byName(read(t, log))
	t.Logf("each %d. of %d points", stride, len(points))
	for i := numberOf("AGENTMUX_CRASH_SEED", 1) % stride; i < len(points); i += stride {
		at := points[i].name + "#1"
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, j.options)
			j.armed(r, filepath.Join(r.dir, "killed.points"), at)
			j.continuedElsewhere(r, "", want)
		})
	}
	return want
}

// armed runs the issue, to its end or to the point at which it is killed.
func (j journey) armed(r *rig, log, at string, more ...string) (code int, out string) {
	r.t.Helper()
	cmd := r.command(slices.Concat([]string{"issue", "1"}, j.words, more)...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], crashLog+"="+log)
	if at != "" {
		cmd.Env = append(cmd.Env, crashAt+"="+at)
	}
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		r.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), text.String()
}

// continuedElsewhere has another machine end the session. It is killed at a point, too, if there is one. Where the
// session was not saved yet, another one begins, unless its pull request is open; where it has ended, nothing is
// left to do.
func (j journey) continuedElsewhere(r *rig, at, want string) {
	r.t.Helper()
	saved := len(r.savedOnes()) > 0
	if (r.claimRef() == "" || !saved) && len(r.github.Repo(rigRepo).Pulls()) == 1 {
		return // a person is told of the pull request
	}
	other := r.elsewhere(j.options)
	// The budget is of the account, which both machines have.
	r.asked.Add(2)
	other.asked.Add(1)
	if r.claimRef() != "" {
		r.asJob("a_91_1")
	}
	log := filepath.Join(other.dir, "other.points")
	code, out := j.armed(other, log, at, "--take")
	for n := 2; code != 0 && n < 5; n++ {
		late := code == exit.Locked // the claim of the dead, whose push outlived it
		if !late && (at == "" || code != -1) {
			r.t.Fatalf("exit %d\n%s", code, out)
		}
		if (late || len(other.sessions()) == 0) && r.claimRef() != "" {
			r.asJob(fmt.Sprintf("a_91_%d", n))
		}
		at = ""
		code, out = j.armed(other, log, "", "--take")
	}
	if got := other.picture(); saved && got != want {
		r.t.Errorf("continued elsewhere:\n%s\nwithout a kill:\n%s\n%s", got, want, out)
	}
}

// TestCrashMovedAtRandom kills machines at random moments of a session, several in each story, until AGENTMUX_MOVED_KILLS
// (default 50) are dead. After each kill another machine takes the session over, and the end is that of a run without a
// kill. Story i of AGENTMUX_CRASH_SEED (default 1) draws the same lives again.
func TestCrashMovedAtRandom(t *testing.T) {
	t.Parallel()
	kills, seed := numberOf("AGENTMUX_MOVED_KILLS", 50), numberOf("AGENTMUX_CRASH_SEED", 1)
	options := rigOptions{playbook: quickPlaybook}
	whole := movable{rig: newRig(t, options)}
	began := time.Now()
	if code, out := whole.lives(runLimit); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	longest, want := time.Since(began), whole.picture()
	for story := 0; story*killsInAStory < kills; story++ {
		share := min(killsInAStory, kills-story*killsInAStory)
		t.Run(fmt.Sprintf("seed %d story %d", seed, story), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(seed), uint64(story)))
			life := func() time.Duration { return time.Duration(random.Int64N(int64(longest))) }
			for left := share; left > 0; { // a session may end before all of its share are dead
				m := movable{newRig(t, options), options, life}
				m.saveOften()
				left -= m.diesOften(left, want)
			}
		})
	}
}

// movable is a machine on which a session lives for as long as is drawn.
type movable struct {
	*rig
	options rigOptions
	life    func() time.Duration
}

// diesOften has one machine after the other work on the session, each killed after a life that is drawn, until so many are
// dead or one has ended the session. It returns how many are dead.
func (m movable) diesOften(kills int, want string) (dead int) {
	m.t.Helper()
	first, lost, free := m, false, false
	for {
		limit := runLimit
		if dead < kills {
			limit = m.life()
		}
		code, out := m.lives(limit)
		if code == 0 {
			if got := m.picture(); !lost && got != want {
				m.t.Errorf("after %d kills:\n%s\nwithout:\n%s\n%s", dead, got, want, out)
			}
			m.t.Logf("%d kills, begun once more: %v", dead, lost)
			return dead
		}
		if code == exit.Locked && free && m.claimRef() != "" { // the push of the dead, which outlived it, has come
			m.asJob(fmt.Sprintf("a_93_%d", dead))
			free, lost = false, lost || len(m.savedOnes()) == 0
			continue
		}
		if code != -1 || limit == runLimit {
			m.t.Fatalf("after %d kills: exit %d\n%s", dead, code, out)
		}
		dead++
		first.asked.Add(2) // the budget is of the account, which all machines have
		held, saved := m.claimRef() != "", len(m.savedOnes()) > 0
		m.t.Logf("killed after %s, claimed %v, saved %v", limit, held, saved)
		free = !held
		if (!held || !saved) && len(m.github.Repo(rigRepo).Pulls()) == 1 {
			return dead // a person is told of the pull request, as there is no session to continue
		}
		if lost = lost || held && !saved; held { // without a checkpoint a session begins from the start
			m.asJob(fmt.Sprintf("a_93_%d", dead))
		}
		m.rig = m.elsewhere(m.options)
		m.saveOften()
	}
}

// lives runs the issue to its end, or to a kill after a time: the code is -1 then.
func (m movable) lives(limit time.Duration) (code int, out string) {
	m.t.Helper()
	b := m.background(append(append([]string{"issue", "1"}, quickRun...), "--take")...)
	select {
	case <-b.ended:
	case <-time.After(limit):
		_ = b.cmd.Process.Kill()
		<-b.ended
	}
	return b.cmd.ProcessState.ExitCode(), b.out.String()
}
