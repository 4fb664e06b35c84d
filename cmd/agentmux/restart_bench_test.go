package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// BenchmarkRestart kills a bot whose sessions wait for their agents, for each number in AGENTMUX_BENCH_FLEET
// (20), and starts it again. Beside them are the directories of AGENTMUX_BENCH_ENDED (5,000) sessions that have
// ended.
//
//	adopted   from the start of the process until every session has carried out a command that was waiting for it
//	requests  to GitHub in that time
//
// The agents must be the same processes after it. The bot is the program as it is built.
func BenchmarkRestart(b *testing.B) {
	for _, n := range fleets(b) {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			r := newRig(b, rigOptions{playbook: idlePlaybook, config: fmt.Sprintf("gate: {public_unsandboxed: true, user_hour: 10000, repo_running: 10000}\n"+
				"bot: {status_addr: \"\", poll_interval: 5s, single_host: true, max_concurrent: %d}\n", n) + unpaced})
			f := &fleet{rig: r}
			b.Cleanup(f.end)
			program := r.build(b)
			f.serve(program)
			f.manyEnded(fromEnv(b, "AGENTMUX_BENCH_ENDED", 5000))
			for range n {
				r.github.Repo(rigRepo).AddIssue(fakehub.IssueSpec{Title: "Say two", Body: "Soon.", Author: rigOwner, Labels: []string{"agentmux"}})
			}
			f.dirs = nil
			for i := range n {
				f.dirs = append(f.dirs, f.working(i+2))
			}
			agents := f.agents()
			var adopted []time.Duration
			requests := 0
			for range max(3, b.N) {
				f.drop()
				f.tell("pause")
				before, start := len(r.github.Calls()), time.Now()
				f.serve(program)
				f.awaitPaused(true)
				adopted = append(adopted, time.Since(start))
				requests = max(requests, len(r.github.Calls())-before)
				f.tell("resume")
				f.awaitPaused(false)
				if now := f.agents(); fmt.Sprint(agents) != fmt.Sprint(now) {
					b.Fatalf("agents %v, then %v", agents, now)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(n), "sessions")
			b.ReportMetric(ms(quantile(adopted, 0.5)), "adopted-p50-ms")
			b.ReportMetric(ms(quantile(adopted, 1)), "adopted-max-ms")
			b.ReportMetric(float64(requests), "requests")
		})
	}
}

// serve starts a bot that hosts the sessions of the fleet.
func (f *fleet) serve(program string, args ...string) {
	f.t.Helper()
	f.host = exec.Command(program, append([]string{"bot"}, args...)...)
	f.host.Dir, f.host.Env = f.clone, f.env
	log, err := os.OpenFile(filepath.Join(f.dir, "bot.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	defer log.Close()
	f.host.Stdout, f.host.Stderr = log, log
	if err := f.host.Start(); err != nil {
		f.t.Fatal(err)
	}
}

// working waits until the session of an issue has its agent, and returns its directory.
func (f *fleet) working(issue int) (dir string) {
	f.t.Helper()
	f.eventually(fmt.Sprintf("the agent of issue %d works", issue), func() bool {
		dirs, err := filepath.Glob(filepath.Join(f.managed(rigRepo), ".agentmux", ".sessions", fmt.Sprintf("*-issue-%d-*", issue)))
		if err != nil || len(dirs) != 1 {
			return false
		}
		sess, err := session.Open(dirs[0])
		if err != nil {
			return false
		}
		s, err := sess.ReadState()
		dir = dirs[0]
		return err == nil && len(s.Agents) > 0 && len(s.Pending) == 0
	}, f.botLog)
	return dir
}

// manyEnded stops the session of the first issue and leaves n directories that differ from its own in the names
// of session and issue.
func (f *fleet) manyEnded(n int) {
	f.t.Helper()
	dir := f.working(1)
	if _, err := command.Append(dir, orchestrator.Payload{Name: "stop", Actor: rigOwner, Source: "cli"}); err != nil {
		f.t.Fatal(err)
	}
	f.eventually("the first session has ended", func() bool {
		list := f.served(rigRepo)
		return len(list) == 1 && list[0].State.Ended() && len(list[0].State.Pending) == 0 && !list[0].Running
	}, f.botLog)
	name := filepath.Base(dir)
	for i := range n {
		to := strings.Replace(name, "-issue-1-", fmt.Sprintf("-issue-%d-", 100_000+i), 1)
		if err := copySession(dir, filepath.Join(filepath.Dir(dir), to), func(text []byte) []byte {
			return bytes.ReplaceAll(text, []byte(name), []byte(to))
		}); err != nil {
			f.t.Fatal(err)
		}
	}
}

// copySession copies the files of a session, changed, without links.
func copySession(from, to string, change func([]byte) []byte) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.Join(to, strings.TrimPrefix(path, from))
		switch {
		case d.IsDir():
			return os.Mkdir(name, 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(name, change(data), 0o600)
	})
}
