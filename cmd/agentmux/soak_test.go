//go:build crash

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator/session"
)

// killsInARun is how often the hosts of one session are killed.
const killsInARun = 20

// TestSoak kills hosts at random, many in each run, until AGENTMUX_SOAK_KILLS (default 50)
// are dead. After each kill the session's directory is sound; at the end of each run people
// find what they would have found without a kill. Run i of AGENTMUX_SOAK_SEED (default 1)
// draws the same deaths again: every other host ends at the n-th crash point it passes, the
// others after a time.
func TestSoak(t *testing.T) {
	kills, seed := numberOf("AGENTMUX_SOAK_KILLS", 50), numberOf("AGENTMUX_SOAK_SEED", 1)
	whole := newStory(t)
	whole.lead(0)
	want := whole.ending()
	var done atomic.Int64
	start := time.Now()
	t.Cleanup(func() {
		took := time.Since(start)
		t.Logf("seed %d: %d kills in %s, %.0f an hour", seed, done.Load(), took.Round(time.Second), float64(done.Load())/took.Hours())
	})
	for run := 0; run*killsInARun < kills; run++ {
		share := min(killsInARun, kills-run*killsInARun)
		t.Run(fmt.Sprintf("seed %d run %d", seed, run), func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.dieOften(share, rand.New(rand.NewPCG(uint64(seed), uint64(run))))
			s.lead(share)
			if got := s.ending(); got != want {
				t.Errorf("after %d kills:\n%s\nwithout:\n%s\n%s", s.kills, got, want, s.out.String())
			}
			done.Add(int64(s.kills))
		})
	}
}

const (
	meanPoints = 150
	meanLife   = 700 * time.Millisecond
)

// dieOften kills so many hosts of a story: the first at a point, the second after a time,
// and so on.
func (s *tale) dieOften(kills int, random *rand.Rand) {
	byTime := false
	var life time.Duration
	s.prepare = func(cmd *exec.Cmd) {
		s.t.Helper()
		for _, e := range s.sessions() {
			if err := session.CheckDir(e.Dir).Err(); err != nil {
				s.t.Errorf("after %d kills: %v", s.kills, err)
			}
		}
		life = 0
		if s.kills >= kills {
			return
		}
		points := 1 + int(random.ExpFloat64()*meanPoints)
		span := 5*time.Millisecond + time.Duration(random.ExpFloat64()*float64(meanLife))
		if byTime = !byTime; byTime {
			cmd.Env = append(slices.Clip(cmd.Env), crashLog+"="+os.DevNull, crashAt+"="+strconv.Itoa(points))
		} else {
			life = span
		}
	}
	s.running = func(cmd *exec.Cmd) {
		if life > 0 {
			time.AfterFunc(life, func() { _ = cmd.Process.Kill() }) // it may have ended by itself
		}
	}
}
