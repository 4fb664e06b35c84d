package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// Left returns what of a session runs on this machine, a line for each kind: processes of its agents,
// and tmux servers that answer. It believes no file of the session, and changes nothing.
func Left(ctx context.Context, h *Host, dir string) (found []string, err error) {
	sess, err := session.OpenDamaged(dir)
	if err != nil {
		return nil, err
	}
	if n := process.Count(sess.Path(session.LaunchesDir)); n > 0 {
		found = append(found, fmt.Sprintf("processes of its agents: %d", n))
	}
	for _, socket := range h.socketsOf(sess) {
		server, err := tmux.New(tmux.Options{Socket: socket, Binary: h.Tmux})
		if err != nil {
			return found, err
		}
		if _, err := server.Started(ctx); !errors.Is(err, tmux.ErrNoServer) {
			found = append(found, "a tmux server at "+socket)
		}
	}
	return found, nil
}
