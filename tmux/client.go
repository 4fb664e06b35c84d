package tmux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Attached reports whether a terminal is attached to the server.
func (s *Server) Attached(ctx context.Context) (bool, error) {
	out, err := s.run(ctx, nil, "list-clients", "-F", "#{client_pid}")
	if err != nil {
		return false, err
	}
	return strings.TrimSpace(out) != "", nil
}

// Detach takes the terminal off the server that was typed at last: that of the person who
// just pressed a key in one of its panes. No terminal is not an error.
func (s *Server) Detach(ctx context.Context) error {
	out, err := s.run(ctx, nil, "list-clients", "-F", "#{client_activity} #{client_name}")
	if err != nil {
		return fmt.Errorf("list terminals: %w", err)
	}
	client, newest := "", int64(-1)
	for line := range strings.Lines(out) {
		activity, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if at, err := strconv.ParseInt(activity, 10, 64); err == nil && at > newest {
			client, newest = name, at
		}
	}
	if client == "" {
		return nil
	}
	if _, err := s.run(ctx, nil, "detach-client", "-t", client); err != nil {
		return fmt.Errorf("detach %s: %w", client, err)
	}
	return nil
}

// Typed reports whether a terminal that is attached to the server was typed at since then. What
// a program sends to a pane is not a key of a terminal.
func (s *Server) Typed(ctx context.Context, since time.Time) (bool, error) {
	out, err := s.run(ctx, nil, "list-clients", "-F", "#{client_activity}")
	if err != nil {
		return false, fmt.Errorf("list terminals: %w", err)
	}
	for line := range strings.Lines(out) {
		if at, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil && at >= since.Unix() {
			return true, nil
		}
	}
	return false, nil
}

// Keys tells when each terminal that is attached to the server was typed at last, by the pane that it shows now; panes of
// terminals without a key since they were attached are left out. The times are in seconds.
func (s *Server) Keys(ctx context.Context) (map[string]time.Time, error) {
	out, err := s.run(ctx, nil, "list-clients", "-F", "#{client_activity} #{client_created} #{pane_id}")
	if err != nil {
		return nil, fmt.Errorf("list terminals: %w", err)
	}
	keys := map[string]time.Time{}
	for line := range strings.Lines(out) {
		var at, attached int64
		var pane string
		// A terminal counts as typed at when it is attached.
		if n, _ := fmt.Sscan(line, &at, &attached, &pane); n == 3 && at > attached && at > keys[pane].Unix() {
			keys[pane] = time.Unix(at, 0)
		}
	}
	return keys, nil
}
