package tmux

import (
	"context"
	"strings"
)

// Attached reports whether a terminal is attached to the server.
func (s *Server) Attached(ctx context.Context) (bool, error) {
	out, err := s.run(ctx, nil, "list-clients", "-F", "#{client_pid}")
	if err != nil {
		return false, err
	}
	return strings.TrimSpace(out) != "", nil
}
