package main

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// fromEnv is a number of an environment variable, else the usual.
func fromEnv(tb testing.TB, name string, usual int) int {
	tb.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		tb.Fatalf("%s=%q: want a number above 0", name, text)
	}
	return n
}

// quantile returns the smallest sample that at least the share q of all does not exceed.
func quantile(samples []time.Duration, q float64) time.Duration {
	slices.Sort(samples)
	n := len(samples)
	return samples[min(n-1, max(0, int(q*float64(n)+0.999999)-1))]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// report gives the median and the 99th percentile of samples in milliseconds.
func report(b *testing.B, name string, samples []time.Duration) {
	b.Helper()
	if len(samples) == 0 {
		b.Fatalf("no samples of %s", name)
	}
	b.ReportMetric(ms(quantile(samples, 0.5)), name+"-p50-ms")
	b.ReportMetric(ms(quantile(samples, 0.99)), name+"-p99-ms")
}

// BenchmarkSession runs the feature workflow with agents that do no work: two parallel
// coders, a failing review, a fix, a passing review; real tmux, real git, the fake GitHub
// on loopback, nothing shown on the issue. It runs at least AGENTMUX_BENCH_SESSIONS
// (10) sessions of eight launches. Metrics:
//
//	transition  a tool line is appended -> the state that has decided about it is on disk
//	handoff     a tool line is appended -> the program it led to has been started, with
//	            the prompt as its argument; what the program itself needs to come up is
//	            not in it. Waits for the former agent to end, merges of its work and the
//	            new workspace are in it. Measured at agent-exec's fork of the program.
//	session     the whole command, from its start to its end
//	overhead    session without the time in which an agent ran
func BenchmarkSession(b *testing.B) {
	sessions := max(b.N, fromEnv(b, "AGENTMUX_BENCH_SESSIONS", 10))
	var transitions, handOffs, whole, overhead []time.Duration
	byKind := map[string][]time.Duration{}
	for range sessions {
		r := newRig(b, rigOptions{})
		cmd := r.command("issue", "1", "--headless", "--no-mirror")
		start := time.Now()
		rec := r.record(cmd)
		took := time.Since(start)
		r.done(r.session())
		whole, overhead = append(whole, took), append(overhead, took-rec.agentsTime(b))
		transitions = append(transitions, rec.transitions()...)
		for launch, d := range rec.handOffs(b) {
			handOffs = append(handOffs, d)
			byKind[kind(launch)] = append(byKind[kind(launch)], d)
		}
		r.cleanUp()
	}
	b.ReportMetric(0, "ns/op")
	report(b, "transition", transitions)
	report(b, "handoff", handOffs)
	b.ReportMetric(ms(quantile(whole, 0.5)), "session-p50-ms")
	b.ReportMetric(ms(quantile(overhead, 0.5)), "overhead-p50-ms")
	for name, samples := range byKind {
		b.Logf("hand-off to %s: median %s of %d", name, quantile(samples, 0.5).Round(time.Millisecond/10), len(samples))
	}
}
