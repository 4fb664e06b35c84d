package intake_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// sized is the body of a delivery of about n bytes.
func sized(n int) []byte {
	return []byte(`{"action":"created","comment":{"body":"` + strings.Repeat("x", n) + `"},"repository":{"id":1005,"full_name":"octo/widgets"}}`)
}

// webhooks serves a receiver on loopback and returns how to send it a body.
func webhooks(b *testing.B, r *intake.Receiver) (send func([]byte) error) {
	b.Helper()
	l, err := intake.Listen(b.Context(), "0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- intake.Serve(ctx, l, r, nil) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	url := "http://" + l.Addr().String() + intake.WebhookPath
	return func(body []byte) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Github-Event": {"issue_comment"}, "X-Hub-Signature-256": {signature(secret, body)}}
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
}

// paced sends n deliveries at a rate, each by a goroutine of its own, and returns how long each
// took from the moment at which it was due.
func paced(b *testing.B, n int, every time.Duration, send func() error) []time.Duration {
	b.Helper()
	took := make([]time.Duration, n)
	var done sync.WaitGroup
	start := time.Now()
	for i := range n {
		due := start.Add(time.Duration(i) * every)
		<-time.After(time.Until(due))
		done.Go(func() {
			if err := send(); err != nil {
				b.Error(err)
			}
			took[i] = time.Since(due)
		})
	}
	done.Wait()
	return took
}

// BenchmarkWebhook sends 300 deliveries of 30 KiB, 100 a second: ack-p99-ms is until the answer.
func BenchmarkWebhook(b *testing.B) {
	r, body := receive(secret, "another secret of sixteen"), sized(30<<10)
	send := webhooks(b, r.Receiver)
	var took []time.Duration
	for b.Loop() {
		took = append(took, paced(b, 300, 10*time.Millisecond, func() error { return send(body) })...)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ack-p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ack-p99-ms")
}

// BenchmarkLargeWebhook reads bodies of 25 MiB: body-KB is what was allocated for one.
func BenchmarkLargeWebhook(b *testing.B) {
	r, body := receive(secret), sized(25<<20-200)
	signed := signature(secret, body)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	for b.Loop() {
		req := httptest.NewRequest(http.MethodPost, intake.WebhookPath, bytes.NewReader(body))
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Github-Event": {"push"}, "X-Hub-Signature-256": {signed}}
		if got := answer(r, req); got.Code != http.StatusAccepted {
			b.Fatal(got.Code)
		}
		n++
	}
	runtime.ReadMemStats(&after)
	b.SetBytes(int64(len(body)))
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/1024/float64(n), "body-KB")
}

// BenchmarkHookStorm sends 10,000 deliveries of 8 KiB in 10 seconds, over HTTP, to a receiver whose
// poller reads a server on loopback: heap-growth-MB is the largest heap on the way above the one
// before, with server and senders in it; polls-at-a-time and polls are those of the repository.
func BenchmarkHookStorm(b *testing.B) {
	s := fakehub.Start(b, options())
	repo := s.Repo(widgets)
	repo.AddIssue(fakehub.IssueSpec{Title: "t", Author: "dev", Labels: []string{label}})
	var flying, most, polls atomic.Int64
	wire := roundTrip(func(req *http.Request) (*http.Response, error) {
		now := flying.Add(1)
		defer flying.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		if strings.Contains(req.URL.RawQuery, "state=all") {
			polls.Add(1)
		}
		return http.DefaultTransport.RoundTrip(req)
	})
	at := transport.Addresses{API: s.API(), GraphQL: s.GraphQL(), Server: s.URL()}
	client, err := ghsync.New(transport.Options{
		APIURL: s.API(), GraphQLURL: s.GraphQL(), ServerURL: s.URL(), HTTP: wire,
		Token: transport.StaticToken(transport.ModeToken, redact.NewSecret(s.Token(robot)), at),
	})
	if err != nil {
		b.Fatal(err)
	}
	p := intake.NewPoller(intake.Options{
		Client: client, Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}, RepoID: repo.ID(), Label: label,
		Found: func(context.Context, intake.Changes) error { return nil },
	})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() { defer close(done); p.Run(ctx) }()
	defer func() { cancel(); <-done }()
	r := intake.NewReceiver(intake.ReceiverOptions{
		Secrets: []redact.Secret{redact.NewSecret(secret)}, Wake: func(intake.Hook) bool { p.Wake(); return true },
	})
	send, body := webhooks(b, r), sized(8<<10)
	grown := 0.0
	for b.Loop() {
		before := heap(true)
		polls.Store(0)
		var top atomic.Uint64
		sampled := make(chan struct{})
		stop := make(chan struct{})
		go func() {
			defer close(sampled)
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					top.Store(max(top.Load(), heap(false)))
				case <-stop:
					return
				}
			}
		}()
		paced(b, 10_000, time.Millisecond, func() error { return send(body) })
		close(stop)
		<-sampled
		grown = max(grown, float64(top.Load())-float64(before))
	}
	b.ReportMetric(grown/(1<<20), "heap-growth-MB")
	b.ReportMetric(float64(most.Load()), "polls-at-a-time")
	b.ReportMetric(float64(polls.Load()), "polls")
}

func heap(collected bool) uint64 {
	if collected {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// BenchmarkUnchangedList reads a page of a hundred long issues that did not change, with a validator
// as a poller does and from the answers that the transport stores.
func BenchmarkUnchangedList(b *testing.B) {
	issue := `{"number":1,"title":"t","state":"open","repository_url":"https://api.github.com/repos/octo/widgets","body":"` + strings.Repeat("x", 5000) + `"}`
	page := "[" + strings.TrimSuffix(strings.Repeat(issue+",", 100), ",") + "]"
	wire := roundTrip(func(req *http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}, "Etag": {`"1"`}}, Body: io.NopCloser(strings.NewReader(page)), Request: req}
		if req.Header.Get("If-None-Match") != "" {
			resp.StatusCode, resp.Body = http.StatusNotModified, http.NoBody
		}
		return resp, nil
	})
	c, err := ghsync.New(transport.Options{
		Token: transport.StaticToken(transport.ModeToken, redact.NewSecret("t"), transport.Addresses{}), HTTP: wire, Limits: transport.Limits{ReadsPerSecond: 1e9},
	})
	if err != nil {
		b.Fatal(err)
	}
	in, repo := ghsync.Intake{Client: c}, ghsync.Repo{Owner: "octo", Name: "widgets"}
	var v transport.Validator
	for name, ctx := range map[string]context.Context{"validator": v.Context(b.Context()), "stored": b.Context()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := in.RecentIssues(ctx, repo, 1); err != nil {
					b.Fatal(err)
				}
				v.Keep()
			}
		})
	}
}
