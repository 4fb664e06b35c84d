package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/testfull"
)

const (
	killsInAStory = 5
	meanBotLife   = 2 * time.Second
)

// TestBotKilledAtRandom kills bots with live agents at random moments, several in each story, until
// AGENTMUX_BOT_KILLS (default 5) are dead; each time the next bot continues, and the end is that of a
// story without a kill. Story i of AGENTMUX_BOT_SEED (default 1) draws the same lives again.
func TestBotKilledAtRandom(t *testing.T) {
	testfull.Only(t)
	t.Parallel()
	kills, seed := numberOf("AGENTMUX_BOT_KILLS", 5), numberOf("AGENTMUX_BOT_SEED", 1)
	whole := newBotStory(t)
	whole.lead(0)
	want := whole.ending()
	for story := 0; story*killsInAStory < kills; story++ {
		share := min(killsInAStory, kills-story*killsInAStory)
		t.Run(fmt.Sprintf("seed %d story %d", seed, story), func(t *testing.T) {
			t.Parallel()
			s := newBotStory(t)
			s.dieOften(share, rand.New(rand.NewPCG(uint64(seed), uint64(story))))
			s.lead(share)
			if got := s.ending(); got != want {
				t.Errorf("after %d kills:\n%s\nwithout:\n%s\n%s", s.kills, got, want, s.out.String())
			}
			t.Logf("%d of %d kills", s.kills, share)
		})
	}
}

// dieOften kills so many bots of a story, each after a life that is drawn.
func (s *botStory) dieOften(kills int, random *rand.Rand) {
	s.running = func(cmd *exec.Cmd) {
		if s.kills >= kills {
			return
		}
		life := 50*time.Millisecond + time.Duration(random.ExpFloat64()*float64(meanBotLife))
		time.AfterFunc(life, func() { _ = cmd.Process.Kill() }) // it may have ended by itself
	}
}

// numberOf is the number in a variable of the environment.
func numberOf(variable string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil && n >= 0 {
		return n
	}
	return otherwise
}
