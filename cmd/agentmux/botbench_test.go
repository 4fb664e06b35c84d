package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// manyRepos is how many repositories the bot of a benchmark polls.
const manyRepos = 20

// manyPolled is a rig whose bot polls that many repositories, with issues that nobody asked for, and
// the flags that name them. The clock of its server is put forward by forward seconds.
func manyPolled(b *testing.B, config string, forward *atomic.Int64) (r *rig, flags []string) {
	b.Helper()
	o := rigOptions{playbook: quickPlaybook, unlabel: true, config: config, github: fakehub.Options{
		Now: func() time.Time { return time.Now().Add(time.Duration(forward.Load()-60) * time.Second) },
	}}
	for i := range manyRepos {
		o.github.Repos = append(o.github.Repos, fakehub.RepoSpec{Owner: "acme", Name: fmt.Sprint("part", i), Commits: []fakehub.CommitSpec{
			{Message: "Start", Author: "Mia <mia@example.com>", Files: map[string]string{"README.md": "# part\n", "a.txt": "one\n"}},
		}})
	}
	r = newRig(b, o)
	for i := range manyRepos {
		name := fmt.Sprint("acme/part", i)
		repo := r.github.Repo(name)
		repo.SetRole(rigOwner, fakehub.Admin)
		repo.SetRole(rigBot, fakehub.Write)
		for n := range 2 {
			repo.AddIssue(fakehub.IssueSpec{Title: fmt.Sprint("Say two, ", n), Body: "It should say two.\n", Author: rigOwner})
		}
		flags = append(flags, "--repo", name)
	}
	return r, flags
}

// build makes the program.
func (r *rig) build(b *testing.B) (program string) {
	b.Helper()
	program = filepath.Join(r.dir, "agentmux")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

// built starts the bot as the program that is built, which is smaller than that of the tests.
func (r *rig) built(b *testing.B, args ...string) *exec.Cmd {
	b.Helper()
	cmd := exec.Command(r.build(b), append([]string{"bot"}, args...)...)
	cmd.Dir, cmd.Env = r.clone, r.env
	log, err := os.Create(filepath.Join(r.dir, "bot.log"))
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			data, _ := os.ReadFile(log.Name())
			b.Errorf("the bot ended: %v\n%s", err, data)
		}
		log.Close()
	})
	return cmd
}

// allRead reports whether the bot has read the issues of every repository.
func (r *rig) allRead() bool {
	read := map[string]bool{}
	for _, c := range r.github.Calls() {
		if c.Method == http.MethodGet && strings.HasSuffix(c.Route, "/issues") {
			name, _, _ := strings.Cut(c.Path, "?")
			read[name] = true
		}
	}
	return len(read) >= manyRepos
}

// botLog is what the bot of a benchmark has logged, and what it asked last.
func (r *rig) botLog() string {
	data, _ := os.ReadFile(filepath.Join(r.dir, "bot.log"))
	calls := r.github.Calls()
	return fmt.Sprintf("%s%+v", data, calls[max(0, len(calls)-20):])
}

// BenchmarkBotIdle measures the memory and the CPU time of a bot that polls 20 repositories and has no
// session, after its first readings.
func BenchmarkBotIdle(b *testing.B) {
	r, flags := manyPolled(b, "gate: {public_unsandboxed: true}\nbot: {status_addr: \"\"}\n", new(atomic.Int64))
	cmd := r.built(b, flags...)
	r.eventually("every repository is read", r.allRead, r.botLog)
	span := time.Duration(max(b.N, fromEnv(b, "AGENTMUX_BENCH_SECONDS", 60))) * time.Second
	before, err := readSpent(cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	start := r.github.Calls()
	pause(span)
	after, err := readSpent(cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(100*(after.cpu-before.cpu).Seconds()/span.Seconds(), "cpu-pct")
	b.ReportMetric(float64(after.pss)/1e6, "MB")
	b.ReportMetric(float64(len(r.github.Calls())-len(start))/span.Minutes(), "requests/min")
}

// BenchmarkBotAnswers measures the time from the answer in which a poll of the bot sees a label until
// its first comment is posted, without the 5 s for which labels settle and without a pace of writes,
// for the issues of 20 repositories that are labeled at once.
func BenchmarkBotAnswers(b *testing.B) {
	var forward atomic.Int64
	r, flags := manyPolled(b, "gate: {public_unsandboxed: true, user_hour: 1000, repo_running: 1000}\nbot: {status_addr: \"\", poll_interval: 5s}\n"+unpaced, &forward)
	r.write(filepath.Join(r.dir, "home", ".local", "state", "agentmux", "PAUSED"), "") // tickets only
	r.built(b, flags...)
	r.eventually("every repository is read", r.allRead, r.botLog)
	var samples []time.Duration
	for n := 1; n <= 2; n++ {
		for i := range manyRepos {
			r.github.Repo(fmt.Sprint("acme/part", i)).Label(n, "agentmux:quick", rigOwner)
		}
		forward.Add(6)
		labeled := time.Now().Add(time.Duration(forward.Load()-60) * time.Second)
		r.eventually("every request has a comment", func() bool {
			for i := range manyRepos {
				if len(r.told(fmt.Sprint("acme/part", i), n)) == 0 {
					return false
				}
			}
			return true
		}, nil)
		for i := range manyRepos {
			samples = append(samples, r.answered(b, fmt.Sprint("acme/part", i), n, labeled))
		}
	}
	b.ReportMetric(0, "ns/op")
	report(b, "answer", samples)
}

// answered is how long after the first poll since a time the first comment on an issue came.
func (r *rig) answered(b *testing.B, repo string, issue int, since time.Time) time.Duration {
	b.Helper()
	var seen time.Time
	for _, c := range r.github.Calls() {
		switch {
		case c.Time.Before(since):
		case seen.IsZero() && c.Method == http.MethodGet && strings.Contains(c.Path, repo+"/issues?") && c.Status == 200:
			seen = c.Time
		case !seen.IsZero() && c.Method == http.MethodPost && strings.HasSuffix(c.Path, fmt.Sprintf("%s/issues/%d/comments", repo, issue)):
			return c.Time.Sub(seen)
		}
	}
	b.Fatalf("%s#%d was not answered", repo, issue)
	return 0
}
