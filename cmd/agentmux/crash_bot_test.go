//go:build crash

package main

import (
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ofBot are the points that only a bot passes: the steps of its own, and the files of its own.
var ofBot = regexp.MustCompile(`^((write|claim|decide) ticket|(decide|comment on) refusal|drop (label|placard)|(made|started) from ticket|mark running|` +
	`hear .*|append (command|note)|hand over (retry|changes)|give receipt .*|follow up .*|note host|claimed|claims pushed|released|` +
	`.* [^ ]*(:journal\.jsonl|:bot\.lock|:tickets|tickets:.*|:claim\.json))$`)

// TestBotCrashes kills the bot at crash points of a story and starts it again: the end is that of a story
// without a kill. Each point of the bot's own is tried at the first pass, and as often again as
// AGENTMUX_CRASH_PASSES says (default 2); other points, which the bot passes for its sessions, at the
// first pass; and AGENTMUX_CRASH_PAIRS times (default 40) the next bot is killed as well.
// AGENTMUX_CRASH_STRIDE takes only each n-th of all these, AGENTMUX_CRASH_SEED another choice.
func TestBotCrashes(t *testing.T) {
	whole := newBotStory(t)
	log := whole.arm("whole", nil)
	whole.lead(0)
	want := whole.ending()
	passed := read(t, log)
	points := byName(passed)
	own := slices.DeleteFunc(slices.Clone(points), func(p point) bool { return !ofBot.MatchString(p.name) })
	rest := slices.DeleteFunc(slices.Clone(points), func(p point) bool { return ofBot.MatchString(p.name) })
	for i := range rest {
		rest[i].passes = 1
	}
	var names []string
	for _, p := range own {
		names = append(names, p.name)
	}
	t.Logf("%d points, passed %d times; of the bot's own %d: %s\n%s", len(points), len(passed), len(own), strings.Join(names, ", "), want)
	if len(own) < 30 {
		t.Errorf("%d points of the bot's own, want at least 30", len(own))
	}
	seed := numberOf("AGENTMUX_CRASH_SEED", 1)
	cases := choose(slices.Concat(own, rest), passed, rand.New(rand.NewPCG(uint64(seed), 1)))
	stride := max(1, numberOf("AGENTMUX_CRASH_STRIDE", 1))
	t.Logf("seed %d: each %d. of %d cases", seed, stride, len(cases))
	for i := seed % stride; i < len(cases); i += stride {
		at := cases[i]
		t.Run(strings.Join(at, ","), func(t *testing.T) {
			t.Parallel()
			s := newBotStory(t)
			s.arm("killed", at)
			s.lead(len(at))
			if got := s.ending(); got != want {
				t.Errorf("after %d kills at %v:\n%s\nwithout:\n%s\n%s", s.kills, at, got, want, s.out.String())
			}
			if s.kills < len(at) {
				t.Logf("%d of %d points were reached", s.kills, len(at))
			}
		})
	}
}

// arm lets the n-th bot of the story end at the n-th point of at, and all of them write down which
// they pass.
func (s *botStory) arm(name string, at []string) (log string) {
	log = filepath.Join(s.dir, name+".points")
	s.prepare = func(cmd *exec.Cmd) {
		cmd.Env = append(slices.Clip(cmd.Env), crashLog+"="+log)
		if s.kills < len(at) {
			cmd.Env = append(cmd.Env, crashAt+"="+at[s.kills])
		}
	}
	return log
}
