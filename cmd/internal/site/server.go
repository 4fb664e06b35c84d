package site

import (
	"context"

	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// SocketOf returns the socket of a session's tmux server as its host noted it, which may have
// another runtime directory; "" if the noted name is not one of this session.
func SocketOf(dir string, s *orchestrator.State, r session.Runtime) string {
	if place.OwnSocket(r.Socket, dir, s) {
		return r.Socket
	}
	return ""
}

// OpenServer returns the tmux server that listens on socket.
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
