package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// WebhookPath is where deliveries go.
const WebhookPath = "/webhook"

const (
	headerTime = 5 * time.Second
	bodyTime   = 30 * time.Second // with the header
	idleTime   = time.Minute
	stopTime   = 5 * time.Second
	// maxConns bounds the memory and the descriptors that strangers can take. What is more waits
	// in the queue of the system until a sender is done or cut off.
	maxConns = 256
	// maxHeader is 16 KiB with the 4 KiB that net/http adds.
	maxHeader = 12 << 10
)

// Listen opens the address of --webhook. Without a host it is one of this machine alone.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	if !strings.Contains(addr, ":") {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return nil, fmt.Errorf("listen for webhooks: %q is not an address: write a port, or host:port", addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	return l, nil
}

// Serve takes deliveries at WebhookPath until ctx ends, then answers those that it has begun to
// read, for at most five seconds. It closes the listener. A sender that is slow is cut off after
// five seconds without a whole header, or after thirty without a whole body.
func Serve(ctx context.Context, l net.Listener, r *Receiver, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	mux := http.NewServeMux()
	mux.Handle(WebhookPath, r)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, WriteTimeout: bodyTime + headerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(newCrowd(l)) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve webhooks: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := server.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if served := <-ended; err == nil && !errors.Is(served, http.ErrServerClosed) {
		err = served
	}
	if err != nil {
		return fmt.Errorf("end the webhooks: %w", err)
	}
	return nil
}
