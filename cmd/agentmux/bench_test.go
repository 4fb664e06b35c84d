package main

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
// coders, a failing review, a fix, a passing review; real tmux, real git, a repository of 1,000
// files, the fake GitHub on loopback without a pace, nothing shown on the issue. It runs at least
// AGENTMUX_BENCH_SESSIONS (10) sessions of eight launches. In leave an agent ends when its
// submission is answered, in stay it remains in its terminal, as real ones do. Metrics:
//
//	transition  a tool line is appended -> the state that has decided about it is on disk
//	handoff     a tool line is appended -> the program it led to has been started, with
//	            the prompt as its argument; what the program itself needs to come up is
//	            not in it. Waits for the former agent to end, merges of its work and the
//	            new workspace are in it. Measured at agent-exec's fork of the program.
//	session     the whole command, from its start to its end
//	overhead    session without the time in which an agent ran, where agents leave
func BenchmarkSession(b *testing.B) {
	b.Run("leave", func(b *testing.B) { benchmarkSession(b, plainPlaybook) })
	b.Run("stay", func(b *testing.B) { benchmarkSession(b, staying(plainPlaybook)) })
}

// staying is a playbook whose agents stay after their last submission.
func staying(playbook string) string {
	return regexp.MustCompile(`(?m)^      - submit: .*$`).ReplaceAllString(playbook, "$0\n      - hang: true")
}

func benchmarkSession(b *testing.B, playbook string) {
	m := measure(b, max(b.N, fromEnv(b, "AGENTMUX_BENCH_SESSIONS", 10)), playbook)
	b.ReportMetric(0, "ns/op")
	m.report(b)
	b.ReportMetric(ms(quantile(m.whole, 0.5)), "session-p50-ms")
	if playbook == plainPlaybook {
		b.ReportMetric(ms(quantile(m.overhead, 0.5)), "overhead-p50-ms")
	}
	for name, samples := range m.byKind {
		b.Logf("hand-off to %s: median %s, most %s of %d", name, quantile(samples, 0.5).Round(time.Millisecond/10),
			quantile(samples, 1).Round(time.Millisecond/10), len(samples))
	}
}

// unpaced has nothing wait for what GitHub asks of those who write.
const unpaced = "github: {write_interval: 0s}\n"

// thousandFiles are those of a repository, 10 in a directory and 10 directories in a part.
func thousandFiles() map[string]string {
	files := map[string]string{"README.md": "# widgets\n", "a.txt": "one\n", "b.txt": "one\n"}
	for i := len(files); i < 1000; i++ {
		files[fmt.Sprintf("part%d/room%d/file%d.txt", i/100, i/10, i)] = strings.Repeat(fmt.Sprintf("line of file %d\n", i), 40)
	}
	return files
}

// measured are the times of some sessions.
type measured struct {
	transitions, handOffs, whole, overhead []time.Duration
	byKind                                 map[string][]time.Duration // hand-offs
}

// measure runs sessions one after the other, each on a machine of its own.
func measure(b *testing.B, sessions int, playbook string) measured {
	b.Helper()
	m := measured{byKind: map[string][]time.Duration{}}
	for range sessions {
		r := newRig(b, rigOptions{files: thousandFiles(), playbook: playbook, config: unpaced})
		cmd := r.command("issue", "1", "--headless", "--no-mirror")
		start := time.Now()
		rec := r.record(cmd)
		spent := time.Since(start)
		r.done(r.session())
		m.whole, m.overhead = append(m.whole, spent), append(m.overhead, spent-rec.agentsTime(b))
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

// BenchmarkFleet measures sessions whose agent is at work and says nothing, hosted by one
// process: for each number in AGENTMUX_BENCH_FLEET (20), such as "50 200".
//
//	adopt    takes up sessions whose host was killed while their agents continued: from the
//	         start of the process until every session has carried out a command that was
//	         waiting for it. The agents must be the same processes after it.
//	idle     over AGENTMUX_BENCH_SECONDS (60, two safety looks): ours-cpu-pct and ours-MB, the processor time
//	         in percent of one core and the memory (PSS) of all processes that are this
//	         program; the same of the host alone, and of tmux and the agents; ours-MB/session
//	         is what a session adds besides the host's own; forks/min counts those of the
//	         whole machine, per session, so it is true of a quiet one only; of looks that
//	         come every 30 s a window holds one more than its length says, as a rule.
//	handoff  the transitions and hand-offs of BenchmarkSession, of sessions beside these
//
// The processes are the test binary, whose code is larger than the program's.
func BenchmarkFleet(b *testing.B) {
	for _, n := range fleets(b) {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			f := newFleet(b, n)
			b.Run("adopt", func(b *testing.B) { f.in(b).adopt(b) })
			b.Run("idle", func(b *testing.B) { f.in(b).idle(b) })
			b.Run("handoff", func(b *testing.B) {
				f.in(b).settle()
				m := measure(b, max(b.N, fromEnv(b, "AGENTMUX_BENCH_BESIDE", 4)), staying(plainPlaybook))
				b.ReportMetric(0, "ns/op")
				m.report(b)
				b.ReportMetric(float64(n), "sessions")
				f.drop()
			})
		})
	}
}

// fleets are the numbers of sessions of BenchmarkFleet.
func fleets(b *testing.B) []int {
	b.Helper()
	var sizes []int
	for _, text := range strings.Fields(cmp.Or(os.Getenv("AGENTMUX_BENCH_FLEET"), "20")) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			b.Fatalf("AGENTMUX_BENCH_FLEET: %q is not a number above 0", text)
		}
		sizes = append(sizes, n)
	}
	return sizes
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
	before, after, span := f.pass(b)
	n := float64(len(f.dirs))
	percent := func(from, to spent) float64 { return 100 * (to.cpu - from.cpu).Seconds() / span.Seconds() }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(percent(before.ours(), after.ours()), "ours-cpu-pct")
	b.ReportMetric(percent(before.kinds[kindHost], after.kinds[kindHost]), "host-cpu-pct")
	b.ReportMetric(percent(before.kinds[kindTmux], after.kinds[kindTmux]), "tmux-cpu-pct")
	b.ReportMetric(float64(after.ours().pss)/1e6, "ours-MB")
	b.ReportMetric(float64(after.ours().pss-after.kinds[kindHost].pss)/1e6/n, "ours-MB/session")
	b.ReportMetric(float64(after.kinds[kindHost].pss)/1e6, "host-MB")
	b.ReportMetric(float64(after.kinds[kindTmux].pss)/1e6/n, "tmux-MB/session")
	b.ReportMetric(float64(after.kinds[kindAgent].pss)/1e6/n, "agents-MB/session")
	b.ReportMetric(float64(after.forks-before.forks)/span.Minutes()/n, "forks/min")
	b.ReportMetric(n, "sessions")
	b.Logf("processes by kind: %v", after.count)
	f.drop()
}

// pass measures before and after a time in which nothing happens.
func (f *fleet) pass(b *testing.B) (before, after footprint, span time.Duration) {
	b.Helper()
	span = time.Duration(max(b.N, fromEnv(b, "AGENTMUX_BENCH_SECONDS", 60))) * time.Second
	pause(5 * time.Second) // the looks that the commands have led to
	before = f.footprint()
	pause(span)
	return before, f.footprint(), span
}

// pause lets d pass: what is measured is that nothing happens.
func pause(d time.Duration) { <-time.NewTimer(d).C }

func (f *fleet) adopt(b *testing.B) {
	agents := f.agents()
	var adopted []time.Duration
	for range max(3, b.N) {
		f.tell("pause")
		start := time.Now()
		f.takeUp()
		f.awaitPaused(true)
		adopted = append(adopted, time.Since(start))
		f.tell("resume")
		f.awaitPaused(false)
		if now := f.agents(); !slices.Equal(agents, now) {
			b.Fatalf("agents %v, then %v", agents, now)
		}
		f.drop()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(len(f.dirs)), "sessions")
	b.ReportMetric(ms(quantile(adopted, 0.5)), "adopted-p50-ms")
	b.ReportMetric(ms(quantile(adopted, 1)), "adopted-max-ms")
}
