package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// takenLine is in the log of a bot when it has won the claim of a host that is gone.
const takenLine = `msg="an issue is taken from another host"`

// BenchmarkRestore measures how long a bot takes from the claim that it won to the agents that work: the session of a host
// that is gone, with a workspace of 2,000 files that holds work which was not handed in. AGENTMUX_BENCH_RESTORES (3) is how
// often. Metric: agents-started-max-ms.
func BenchmarkRestore(b *testing.B) {
	longest := time.Duration(0)
	for range max(b.N, fromEnv(b, "AGENTMUX_BENCH_RESTORES", 3)) {
		longest = max(longest, restoreOnce(b))
	}
	b.ReportMetric(ms(longest), "agents-started-max-ms")
}

func restoreOnce(b *testing.B) time.Duration {
	b.StopTimer()
	o := rigOptions{source: largeRepository(b, 2_000), playbook: heldPlaybook, config: botConfig, unlabel: true}
	r := newRig(b, o)
	r.saveOften()
	first := r.background("bot")
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	r.eventually("the work is on the server", func() bool {
		entries := r.served(rigRepo)
		if len(entries) != 1 || entries[0].State == nil {
			return false
		}
		_, m, _ := r.saved(entries[0])
		return slices.ContainsFunc(slices.Collect(maps.Values(m.Work)), func(w checkpoint.Work) bool { return len(w.Changed) > 0 })
	}, first.out.String)
	first.exit(syscall.SIGKILL)
	r.asJob("a_92_1")
	other := r.elsewhere(o)
	b.StartTimer()
	bot := other.background("bot")
	var started time.Time
	other.eventually("the coder works there", func() bool {
		entries := other.served(rigRepo)
		if len(entries) != 1 || entries[0].State == nil {
			return false
		}
		started = startedAfterMove(other, entries[0])
		return !started.IsZero()
	}, bot.out.String)
	b.StopTimer()
	bot.exit(syscall.SIGTERM)
	return started.Sub(timeOf(b, bot.out.String(), takenLine))
}

// startedAfterMove is when the first agent of a session was started on this machine; zero: none was.
func startedAfterMove(r *rig, e session.Entry) time.Time {
	records := r.recordsOf(e)
	at := slices.IndexFunc(records, func(e orchestrator.Event) bool { return e.Type == orchestrator.EvMoved })
	if at < 0 {
		return time.Time{}
	}
	for _, e := range records[at:] {
		if e.Type == orchestrator.EvAgentStarted {
			return e.TS.Time
		}
	}
	return time.Time{}
}

// timeOf is the time of the line of a log that has a text.
func timeOf(b *testing.B, log, text string) time.Time {
	b.Helper()
	for line := range strings.Lines(log) {
		if !strings.Contains(line, text) {
			continue
		}
		stamp, _, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
			return at
		}
	}
	b.Fatal("no line of the log has " + strconv.Quote(text) + ":\n" + log)
	return time.Time{}
}
