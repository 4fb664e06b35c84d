package claim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
)

// median reports the middle of what was measured, in milliseconds.
func median(b *testing.B, took []time.Duration, unit string) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, unit)
}

// BenchmarkClaim claims issues that no other host wants, over HTTP on loopback.
func BenchmarkClaim(b *testing.B) {
	w := newWorld(b)
	h := w.host()
	var took []time.Duration
	for issue := 1; b.Loop(); issue++ {
		start := time.Now()
		w.take(h, issue, claim.Running)
		took = append(took, time.Since(start))
	}
	median(b, took, "claim-p50-ms")
}

// BenchmarkClaimRace lets ten hosts claim one issue at once, until all know who has it.
func BenchmarkClaimRace(b *testing.B) {
	w := newWorld(b)
	hosts := w.claimants()
	var took []time.Duration
	for issue := 1; b.Loop(); issue++ {
		start := time.Now()
		held, _ := race(b.Context(), hosts, issue)
		took = append(took, time.Since(start))
		b.StopTimer()
		for _, h := range held {
			if h != nil {
				_ = h.Release(b.Context()) // the next round has fewer refs
			}
		}
		b.StartTimer()
	}
	median(b, took, "round-p50-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "round-max-ms")
}

// BenchmarkGuard asks for a claim with a young beat, as before each write to the outside.
func BenchmarkGuard(b *testing.B) {
	w := newWorld(b)
	held := w.take(w.host(), 12, claim.Running)
	for b.Loop() {
		if err := held.Check(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
