package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// BenchmarkHooks sends webhooks to a bot whose sessions wait for their agents, for each number in
// AGENTMUX_BENCH_FLEET (20). The bot is the program as it is built; it polls once an hour.
//
//	ack     until the answer to a delivery of 30 KiB, 500 of them, 100 a second
//	answer  from a delivery that tells of a label until the first comment on the issue, without the
//	        5 s for which labels settle and without a pace of writes
//	bot     what the bot alone takes while nothing happens, for the minute after which GitHub takes as many
//	        comments again as it takes in one
func BenchmarkHooks(b *testing.B) {
	for _, n := range fleets(b) {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var forward atomic.Int64
			now := func() time.Time { return time.Now().Add(time.Duration(forward.Load()-60) * time.Second) }
			address, secret := freeAddress(b), strings.Repeat("s3cret-", 4)
			r := newRig(b, rigOptions{playbook: idlePlaybook, github: fakehub.Options{Now: now}, config: fmt.Sprintf("gate: {public_unsandboxed: true, user_hour: 10000, repo_running: 10000}\n"+
				"bot: {status_addr: \"\", poll_interval: 1h, single_host: true, max_concurrent: %d}\n", n) + unpaced})
			r.setEnv("AGENTMUX_WEBHOOK_SECRET", secret)
			for range n - 1 {
				r.github.Repo(rigRepo).AddIssue(fakehub.IssueSpec{Title: "Say two", Body: "Soon.", Author: rigOwner, Labels: []string{"agentmux"}})
			}
			forward.Add(6)
			f := &fleet{rig: r}
			b.Cleanup(f.end)
			f.serve(r.build(b), "--webhook", address)
			for i := range n {
				f.dirs = append(f.dirs, f.working(i+1))
			}
			to := hooks{url: "http://" + address + "/webhook", secret: secret, repo: r.github.Repo(rigRepo).ID()}

			span := time.Duration(max(b.N, fromEnv(b, "AGENTMUX_BENCH_SECONDS", 60))) * time.Second
			before, err := readSpent(f.host.Process.Pid)
			if err != nil {
				b.Fatal(err)
			}
			pause(span)
			after, err := readSpent(f.host.Process.Pid)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(n), "sessions")
			b.ReportMetric(100*(after.cpu-before.cpu).Seconds()/span.Seconds(), "bot-cpu-pct")
			b.ReportMetric(float64(after.pss)/1e6, "bot-MB")
			report(b, "ack", to.paced(b, 500, 10*time.Millisecond))

			var samples []time.Duration
			r.write(filepath.Join(r.dir, "home", ".local", "state", "agentmux", "PAUSED"), "") // tickets only
			for range 20 {
				issue := r.github.Repo(rigRepo).AddIssue(fakehub.IssueSpec{Title: "Say three", Body: "Soon.", Author: rigOwner, Labels: []string{"agentmux"}})
				forward.Add(6)
				start := now()
				if err := to.send("issues", fmt.Sprintf(`{"action":"labeled","issue":{"number":%d},"label":{"name":"agentmux"},"repository":{"id":%d,"full_name":%q}}`, issue, to.repo, rigRepo)); err != nil {
					b.Fatal(err)
				}
				r.eventually("the request has a comment", func() bool { return len(r.told(rigRepo, issue)) > 0 }, f.botLog)
				for _, c := range r.github.Calls() {
					if c.Method == http.MethodPost && strings.HasSuffix(c.Path, fmt.Sprintf("/issues/%d/comments", issue)) {
						samples = append(samples, c.Time.Sub(start))
						break
					}
				}
			}
			report(b, "answer", samples)
		})
	}
}

// hooks is the receiver of a bot, and the repository that it is told of.
type hooks struct {
	url, secret string
	repo        int64
}

// send makes one delivery and returns an error unless it is accepted.
func (h hooks) send(event, body string) error {
	mac := hmac.New(sha256.New, []byte(h.secret))
	mac.Write([]byte(body))
	req, err := http.NewRequest(http.MethodPost, h.url, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "X-Github-Event": {event}, "X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("answer %s", resp.Status)
	}
	return nil
}

// paced makes n deliveries of 30 KiB at a rate and returns how long each took from the moment at
// which it was due.
func (h hooks) paced(b *testing.B, n int, every time.Duration) []time.Duration {
	b.Helper()
	body := fmt.Sprintf(`{"action":"created","comment":{"body":%q},"repository":{"id":%d,"full_name":%q}}`, strings.Repeat("x", 30<<10), h.repo, rigRepo)
	took := make([]time.Duration, n)
	var done sync.WaitGroup
	start := time.Now()
	for i := range n {
		due := start.Add(time.Duration(i) * every)
		<-time.After(time.Until(due))
		done.Go(func() {
			if err := h.send("issue_comment", body); err != nil {
				b.Error(err)
			}
			took[i] = time.Since(due)
		})
	}
	done.Wait()
	return took
}
