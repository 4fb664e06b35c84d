package crew

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// serverProcess returns the process of the running server.
func (p *panes) serverProcess(ctx context.Context) (session.ServerInfo, error) {
	pid, err := p.server.PID(ctx)
	if err != nil {
		return session.ServerInfo{}, err
	}
	start, err := process.StartTime(pid)
	if err != nil {
		return session.ServerInfo{}, err
	}
	return session.ServerInfo{PID: pid, PIDStart: strconv.FormatInt(start, 10), Socket: p.server.Socket()}, nil
}

// endLost ends the server that was noted, and with it the monitor and the recorders. The socket
// may be missing while the server runs, because the system removes the runtime directory at the
// end of a login. The name of the socket shows that the note is of this session, and not of one
// whose directory was copied.
func (p *panes) endLost(ctx context.Context) error {
	noted := p.sess.ReadRuntime().Server
	start, err := strconv.ParseInt(noted.PIDStart, 10, 64)
	if err != nil || noted.PID <= 1 || filepath.Base(noted.Socket) != filepath.Base(p.server.Socket()) {
		return nil //nolint:nilerr // nothing was noted
	}
	if err := (process.Process{PID: noted.PID, Start: start}).End(ctx); err != nil {
		return fmt.Errorf("end the lost tmux server: %w", err)
	}
	return nil
}

// kill ends the server, even one that cannot be reached.
func (p *panes) kill(ctx context.Context) error {
	err := p.server.KillServer(ctx)
	switch {
	case errors.Is(err, tmux.ErrStranger):
		return p.endLost(ctx)
	case err == nil || errors.Is(err, tmux.ErrNoServer):
		return errors.Join(err, p.endLost(ctx))
	}
	return err
}

// unreachable reports whether err says that no server of the session listens at its socket.
func unreachable(err error) bool {
	return errors.Is(err, tmux.ErrNoServer) || errors.Is(err, tmux.ErrStranger)
}
