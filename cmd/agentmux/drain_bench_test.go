package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// drainRepos are the repositories of BenchmarkDrain.
const drainRepos = 5

// BenchmarkDrain has a bot with AGENTMUX_BENCH_SLOTS (20) slots work off AGENTMUX_BENCH_TICKETS (20) requests
// that wait in its queue, in equal parts of 5 repositories, with agents that do no work.
//
//	sessions/min    from the end of the pause until every issue is done
//	writes/session  to GitHub, tickets included, of which the transport lets 60 a minute and 400 an hour through:
//	                on a machine that is fast enough they are what limits it
//	cpu-pct         of one core, that the whole machine worked meanwhile
//
// That tickets begin in order is what the tests of bot/queue show.
func BenchmarkDrain(b *testing.B) {
	slots, tickets := fromEnv(b, "AGENTMUX_BENCH_SLOTS", 20), fromEnv(b, "AGENTMUX_BENCH_TICKETS", 20)/drainRepos
	var o rigOptions
	o.playbook, o.unlabel = quickPlaybook, true
	o.config = fmt.Sprintf("gate: {public_unsandboxed: true, user_hour: 100000, repo_running: 100000, open_prs: 100000}\n"+
		"bot: {status_addr: \"\", poll_interval: 5s, single_host: true, max_concurrent: %d}\n", slots) + unpaced
	names := make([]string, drainRepos)
	for i := range names {
		names[i] = fmt.Sprint("acme/part", i)
		o.github.Repos = append(o.github.Repos, fakehub.RepoSpec{Owner: "acme", Name: fmt.Sprint("part", i), Commits: []fakehub.CommitSpec{
			{Message: "Start", Author: "Mia <mia@example.com>", Files: map[string]string{"README.md": "# part\n", "a.txt": "one\n"}},
		}})
	}
	r := newRig(b, o)
	f := &fleet{rig: r}
	b.Cleanup(f.drop)
	args := []string{}
	for _, name := range names {
		repo := r.github.Repo(name)
		repo.SetRole(rigOwner, fakehub.Admin)
		repo.SetRole(rigBot, fakehub.Write)
		for range tickets {
			repo.AddIssue(fakehub.IssueSpec{Title: "Say two", Body: "It should say two.\n", Author: rigOwner, Labels: []string{"agentmux:quick"}})
		}
		args = append(args, "--repo", name)
	}
	pause := filepath.Join(r.dir, "home", ".local", "state", "agentmux", "PAUSED")
	r.write(pause, "")
	f.serve(r.build(b), args...)
	all := func(is func(repo string, issue int) bool) func() bool {
		return func() bool {
			for _, name := range names {
				for n := range tickets {
					if !is(name, n+1) {
						return false
					}
				}
			}
			return true
		}
	}
	r.eventually("every request has its ticket", all(func(repo string, issue int) bool { return r.hasLabel(repo, issue, "agentmux:queued") }), r.botLog)
	if err := os.Remove(pause); err != nil {
		b.Fatal(err)
	}
	start, busy := time.Now(), machineBusy(b)
	r.eventually("every issue is done", all(r.isDone), r.botLog)
	span := time.Since(start)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(tickets*drainRepos), "tickets")
	b.ReportMetric(float64(tickets*drainRepos)/span.Minutes(), "sessions/min")
	b.ReportMetric(100*(machineBusy(b)-busy).Seconds()/span.Seconds(), "cpu-pct")
	writes := 0
	for _, c := range r.github.Calls() {
		if c.Method != http.MethodGet && strings.HasPrefix(c.Path, "/repos/") {
			writes++
		}
	}
	b.ReportMetric(float64(writes)/float64(tickets*drainRepos), "writes/session")
}

// machineBusy is how long the cores of the machine have worked since it started.
func machineBusy(tb testing.TB) time.Duration {
	tb.Helper()
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		tb.Fatal(err)
	}
	line, _, _ := strings.Cut(string(data), "\n") // cpu user nice system idle iowait irq softirq
	var ticks int64
	for i, field := range strings.Fields(line) {
		if n, err := strconv.ParseInt(field, 10, 64); err == nil && i < 8 && i != 4 && i != 5 {
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / 100
}
