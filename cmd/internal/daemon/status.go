package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot"
	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/bot/metrics"
	"github.com/agentmux/agentmux/bot/report"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/agent/cooldown"
)

// serve answers at the listeners until ctx ends. The channel is closed when they are.
func (l listeners) serve(ctx context.Context, b *bot.Bot, w *wired) <-chan struct{} {
	var all sync.WaitGroup
	log := w.options.Log
	var receiver *intake.Receiver
	if l.hooks != nil {
		receiver = intake.NewReceiver(intake.ReceiverOptions{
			Secrets: w.secrets, Wake: b.Wake, Log: log,
		})
		log.Info("webhooks are taken", "address", l.hooks.Addr().String(), "path", intake.WebhookPath)
		all.Go(func() {
			if err := intake.Serve(ctx, l.hooks, receiver, log); err != nil {
				log.Error("webhooks are taken no longer; polling goes on", "err", err)
			}
		})
	}
	if l.status != nil {
		log.Info("status is served", "address", l.status.Addr().String(), "paths", "/healthz /metrics")
		all.Go(func() {
			if err := serveStatus(ctx, l.status, statusOf(b, receiver)); err != nil {
				log.Error("status is served no longer", "err", err)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		all.Wait()
	}()
	return done
}

// statusOf answers /healthz and /metrics.
func statusOf(b *bot.Bot, receiver *intake.Receiver) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeHealth(w, b.Report()) })
	mux.Handle("GET /metrics", metrics.Handler(func() report.Report {
		r := b.Report()
		r.Cooling = cooldown.In(site.StateHome()).Left(time.Now())
		return r
	}, receiver))
	return mux
}

// health is the answer of /healthz.
type health struct {
	Status       string         `json:"status"` // ok or failing
	Problems     []string       `json:"problems"`
	Repositories []repository   `json:"repositories"`
	Sessions     map[string]int `json:"sessions"`
	Queued       int            `json:"queued"`
	Slots        int            `json:"slots"`
	Paused       bool           `json:"paused"`
	Lacks        []string       `json:"lacks,omitempty"`
}

type repository struct {
	Name   string    `json:"name"`
	Polled time.Time `json:"polled,omitzero"`
	Synced time.Time `json:"synced,omitzero"`
}

// writeHealth answers 200 while everything is served, else 503 with the reasons.
func writeHealth(w http.ResponseWriter, r report.Report) {
	h := health{
		Status: "ok", Problems: r.Problems(time.Now()), Sessions: r.Sessions, Queued: r.Tickets, Slots: r.Slots, Paused: r.Paused, Lacks: r.Lacks,
		Repositories: []repository{},
	}
	for _, repo := range r.Repositories {
		h.Repositories = append(h.Repositories, repository{repo.Repo.String(), repo.Polled, repo.Synced})
	}
	code := http.StatusOK
	if len(h.Problems) > 0 {
		h.Status, code = "failing", http.StatusServiceUnavailable
	} else {
		h.Problems = []string{}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(h)
}

const (
	statusTime = 10 * time.Second // for a request
	stopTime   = 2 * time.Second
)

func serveStatus(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadTimeout: statusTime, WriteTimeout: statusTime, IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := server.Shutdown(stop); err != nil {
		_ = server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
