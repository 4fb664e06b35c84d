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
	m := measure(b, max(b.N, fromEnv(b, "AGENTMUX_BENCH_SESSIONS", 10)))
	b.ReportMetric(0, "ns/op")
	m.report(b)
	b.ReportMetric(ms(quantile(m.whole, 0.5)), "session-p50-ms")
	b.ReportMetric(ms(quantile(m.overhead, 0.5)), "overhead-p50-ms")
	for name, samples := range m.byKind {
		b.Logf("hand-off to %s: median %s, most %s of %d", name, quantile(samples, 0.5).Round(time.Millisecond/10),
			quantile(samples, 1).Round(time.Millisecond/10), len(samples))
	}
}

// measured are the times of some sessions.
type measured struct {
	transitions, handOffs, whole, overhead []time.Duration
	byKind                                 map[string][]time.Duration // hand-offs
}

// measure runs sessions one after the other, each on a machine of its own.
func measure(b *testing.B, sessions int) measured {
	b.Helper()
	m := measured{byKind: map[string][]time.Duration{}}
	for range sessions {
		r := newRig(b, rigOptions{})
		cmd := r.command("issue", "1", "--headless", "--no-mirror")
		start := time.Now()
		rec := r.record(cmd)
		took := time.Since(start)
		r.done(r.session())
		m.whole, m.overhead = append(m.whole, took), append(m.overhead, took-rec.agentsTime(b))
		m.transitions = append(m.transitions, rec.transitions()...)
		for launch, d := range rec.handOffs(b) {
			m.handOffs = append(m.handOffs, d)
			m.byKind[kind(launch)] = append(m.byKind[kind(launch)], d)
		}
		r.cleanUp()
	}
	return m
}

func (m measured) report(b *testing.B) {
	b.Helper()
	report(b, "transition", m.transitions)
	report(b, "handoff", m.handOffs)
}

// BenchmarkFleet measures AGENTMUX_BENCH_FLEET (20) sessions whose agent is at work and
// says nothing, hosted by one process:
//
//	adopt    takes up sessions whose host was killed while their agents went on: from the
//	         start of the process until every session has carried out a command that was
//	         waiting for it. The agents must be the same processes after it.
//	idle     over AGENTMUX_BENCH_SECONDS (10), for one session and hour: cpu-s of the host
//	         and what it runs (tmux), around-cpu-s of the tmux server, the monitor in its
//	         first window and agent-exec; and host-MB, the memory of the host for all
//	handoff  the transitions and hand-offs of BenchmarkSession, of sessions beside these
func BenchmarkFleet(b *testing.B) {
	n := fromEnv(b, "AGENTMUX_BENCH_FLEET", 20)
	f := newFleet(b, n)
	b.Run("adopt", func(b *testing.B) { f.in(b).adopt(b) })
	b.Run("idle", func(b *testing.B) { f.in(b).idle(b) })
	b.Run("handoff", func(b *testing.B) {
		f.in(b).settle()
		m := measure(b, max(b.N, fromEnv(b, "AGENTMUX_BENCH_BESIDE", 4)))
		b.ReportMetric(0, "ns/op")
		m.report(b)
		b.ReportMetric(float64(n), "sessions")
		f.drop()
	})
}

// BenchmarkIdle is what BenchmarkFleet/idle measures, for a single session.
func BenchmarkIdle(b *testing.B) {
	f := newFleet(b, 1)
	f.idle(b)
}

// in has a part of a benchmark fail by itself.
func (f *fleet) in(tb testing.TB) *fleet {
	f.t = tb
	return f
}

// settle has one process host all sessions, and returns when it does.
func (f *fleet) settle() {
	f.takeUp()
	f.tell("pause") // comes when all are taken up
	f.awaitPaused(true)
	f.tell("resume")
	f.awaitPaused(false)
}

func (f *fleet) idle(b *testing.B) {
	f.settle()
	around := f.around()
	span := time.Duration(max(b.N, fromEnv(b, "AGENTMUX_BENCH_SECONDS", 10))) * time.Second
	pause(2 * time.Second)
	before, beforeAround := spentBy(b, f.host.Process.Pid), spentBy(b, around...)
	pause(span)
	after, afterAround := spentBy(b, f.host.Process.Pid), spentBy(b, around...)
	hours := span.Hours() * float64(len(f.dirs))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric((after.cpu-before.cpu).Seconds()/hours, "cpu-s/session-h")
	b.ReportMetric((afterAround.cpu-beforeAround.cpu).Seconds()/hours, "around-cpu-s/session-h")
	b.ReportMetric(float64(after.rss)/1e6, "host-MB")
	b.ReportMetric(float64(len(f.dirs)), "sessions")
	f.drop()
}

// pause lets d pass: what is measured is that nothing happens.
func pause(d time.Duration) { <-time.NewTimer(d).C }

func (f *fleet) adopt(b *testing.B) {
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
	b.ReportMetric(float64(len(f.dirs)), "sessions")
	b.ReportMetric(ms(quantile(took, 0.5)), "adopted-p50-ms")
	b.ReportMetric(ms(quantile(took, 1)), "adopted-max-ms")
}
