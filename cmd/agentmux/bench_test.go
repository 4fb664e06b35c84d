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

// BenchmarkIdle measures what sessions cost whose agent is at work and says nothing, all
// hosted by one process, over AGENTMUX_BENCH_SECONDS (10). Metrics, for one session and
// hour: cpu-s of the host and what it runs (tmux), around-cpu-s of the tmux server, the
// monitor in its first window and agent-exec; and host-MB, the memory of the host for all
// sessions.
func BenchmarkIdle(b *testing.B) {
	for _, n := range []int{1, 10} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			f := newFleet(b, n)
			f.takeUp()
			f.tell("pause") // comes when all are taken up
			f.awaitPaused(true)
			f.tell("resume")
			f.awaitPaused(false)
			around := f.around()
			span := time.Duration(max(b.N, fromEnv(b, "AGENTMUX_BENCH_SECONDS", 10))) * time.Second
			pause(2 * time.Second)
			before, beforeAround := spentBy(b, f.host.Process.Pid), spentBy(b, around...)
			pause(span)
			after, afterAround := spentBy(b, f.host.Process.Pid), spentBy(b, around...)
			hours := span.Hours() * float64(n)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric((after.cpu-before.cpu).Seconds()/hours, "cpu-s/session-h")
			b.ReportMetric((afterAround.cpu-beforeAround.cpu).Seconds()/hours, "around-cpu-s/session-h")
			b.ReportMetric(float64(after.rss)/1e6, "host-MB")
			f.drop()
		})
	}
}

// pause lets d pass: what is measured is that nothing happens.
func pause(d time.Duration) { <-time.NewTimer(d).C }

// BenchmarkResume measures how long one process takes to take up AGENTMUX_BENCH_RESUME
// (20) sessions whose hosts were killed while their agents went on: from its start until
// every session has carried out a command that was waiting for it. The agents must be the
// same processes after it.
func BenchmarkResume(b *testing.B) {
	n := fromEnv(b, "AGENTMUX_BENCH_RESUME", 20)
	f := newFleet(b, n)
	agents := f.agents()
	var took []time.Duration
	for range max(3, b.N) {
		f.tell("pause")
		start := time.Now()
		f.takeUp()
		f.awaitPaused(true)
		took = append(took, time.Since(start))
		f.tell("resume")
		f.awaitPaused(false)
		if now := f.agents(); !slices.Equal(agents, now) {
			b.Fatalf("agents %v, then %v", agents, now)
		}
		f.drop()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(n), "sessions")
	b.ReportMetric(ms(quantile(took, 0.5)), "adopted-p50-ms")
	b.ReportMetric(ms(quantile(took, 1)), "adopted-max-ms")
}
