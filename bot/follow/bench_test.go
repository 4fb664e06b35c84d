package follow_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/follow"
	"github.com/agentmux/agentmux/internal/redact"
)

// BenchmarkRequest words a round about a review and a log of 1 MiB, the most that is read of one.
func BenchmarkRequest(b *testing.B) {
	log := strings.Repeat("2026-01-15T11:05:12.1234567Z --- FAIL: TestRetry (0.00s): want <3>, got [4] of `x` & more, see a.go:12\n", 1<<20/100)
	all := []follow.Evidence{asked(strings.Repeat("Please give up **after three** of them. ", 100)), failed(log)}
	secrets := redact.New()
	for b.Loop() {
		follow.Request(all, secrets)
	}
}
