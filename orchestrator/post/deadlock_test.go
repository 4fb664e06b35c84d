package post_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/post"
)

// A random walk over the graph of waiting asks never leaves it with a circle: somebody can always go
// on. Each circle that is found is one.
func TestAsksNeverWaitInACircle(t *testing.T) {
	walks := uint64(10_000)
	if testing.Short() {
		walks = 500
	}
	for seed := range walks {
		random := rand.New(rand.NewPCG(seed, 1))
		agents := 2 + random.IntN(len(names)-1)
		var asks []orchestrator.Message
		for range 30 {
			if open := openOnes(asks); len(open) > 0 && random.IntN(3) == 0 {
				asks[open[random.IntN(len(open))]].Open = false
				continue
			}
			from, to := random.IntN(agents), random.IntN(agents)
			m := orchestrator.Message{From: names[from], To: names[to], Open: true}
			circle := post.Deadlock(asks, m.From, m.To)
			if circle == nil {
				asks = append(asks, m)
			} else if problem := notACircle(asks, m, circle); problem != "" {
				t.Fatalf("seed %d: %s: %v", seed, problem, circle)
			}
			if !someoneIsFree(asks, agents) {
				t.Fatalf("seed %d: everybody waits: %+v", seed, asks)
			}
		}
	}
}

var names = [...]string{"m/a0", "m/a1", "m/a2", "m/a3", "m/a4", "m/a5", "m/a6"}

func openOnes(asks []orchestrator.Message) (open []int) {
	for i := range asks {
		if asks[i].Open {
			open = append(open, i)
		}
	}
	return open
}

func notACircle(asks []orchestrator.Message, newest orchestrator.Message, circle []string) string {
	if circle[0] != newest.From || circle[1] != newest.To || circle[len(circle)-1] != newest.From {
		return "it does not begin with the newest ask, or does not end where it began"
	}
	for i := 1; i+1 < len(circle); i++ {
		if !slices.ContainsFunc(asks, func(m orchestrator.Message) bool { return m.Open && m.From == circle[i] && m.To == circle[i+1] }) {
			return circle[i] + " does not wait for " + circle[i+1]
		}
	}
	return ""
}

// someoneIsFree takes away, again and again, the agents that wait for nobody and the asks to them.
func someoneIsFree(asks []orchestrator.Message, agents int) bool {
	gone := map[string]bool{}
	for len(gone) < agents {
		before := len(gone)
		for _, name := range names[:agents] {
			waits := slices.ContainsFunc(asks, func(m orchestrator.Message) bool { return m.Open && m.From == name && !gone[m.To] })
			if !waits {
				gone[name] = true
			}
		}
		if len(gone) == before {
			return false
		}
	}
	return true
}
