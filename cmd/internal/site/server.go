package site

import (
	"context"

	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// SocketOf is where the tmux server of a session listens: as its host noted it, which may run
// with another runtime directory, if it has the name that is this session's.
func SocketOf(dir string, s *orchestrator.State, r session.Runtime) string {
	if place.OwnSocket(r.Socket, dir, s) {
		return r.Socket
	}
	return ""
}

// OpenServer returns a server that runs.
func OpenServer(ctx context.Context, socket string) (*tmux.Server, error) {
	if socket == "" {
		return nil, tmux.ErrNoServer
	}
	server, err := tmux.New(tmux.Options{Socket: socket})
	if err != nil {
		return nil, err
	}
	_, err = server.Started(ctx)
	return server, err
}
