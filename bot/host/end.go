package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// End ends the processes of a session whose state cannot be read: its agents, found by a mark
// in their processes, and its tmux server, found by this machine's note of the session and by
// the session's path. The session's own files do not decide which processes end. Files stay as
// they are. It returns how many processes of agents it ended, and a *session.LockedError if a
// host runs the session. It may be called again after any error or kill.
func (h *Host) End(ctx context.Context, dir string) (int, error) {
	sess, err := session.OpenDamaged(dir)
	if err != nil {
		return 0, err
	}
	if err := sess.Lock(0); err != nil {
		return 0, err
	}
	defer func() { _ = sess.Close() }() // ends with the process at the latest
	launches := sess.Path(session.LaunchesDir)
	ended, err := process.StopAll(ctx, launches)
	if err != nil {
		return ended, fmt.Errorf("end %s: %w", sess.Name(), err)
	}
	crash.Point("end agents", "")
	for _, socket := range h.socketsOf(sess) {
		server, err := tmux.New(tmux.Options{Socket: socket, Binary: h.Tmux})
		if err == nil {
			err = server.KillServer(ctx)
		}
		if err != nil && !errors.Is(err, tmux.ErrNoServer) {
			return ended, fmt.Errorf("end %s: %w", sess.Name(), err)
		}
		crash.Point("end server", socket)
	}
	found, _ := os.ReadDir(launches) // absent: no agent was ever launched
	for _, d := range found {
		if err := agent.Unprepared(h.RuntimeDir, filepath.Join(launches, d.Name())).Discard(); err != nil {
			return ended, err
		}
	}
	return ended, shield.RemoveLeft(filepath.Join(h.RuntimeDir, filepath.Base(sess.ReadRuntime().Recorder)))
}

// socketsOf returns the sockets on which the server of a session can listen, those of an older
// version included. A host with another runtime directory has noted its socket; the note
// counts if the socket's name is one of these.
func (h *Host) socketsOf(sess *session.Session) []string {
	noted := sess.ReadRuntime().Socket
	states := []*orchestrator.State{nil}
	for _, n := range h.register().At(sess.Dir) {
		states = append(states, &orchestrator.State{Identity: n.ID, Noted: n.Secret})
	}
	var found []string
	for _, s := range states {
		p := place.Of(sess.Dir, s)
		at := []string{filepath.Join(h.RuntimeDir, p.Socket()), filepath.Join(h.RuntimeDir, p.FormerSocket())}
		if place.OwnSocket(noted, sess.Dir, s) {
			at = append(at, filepath.Clean(noted))
		}
		for _, socket := range at {
			if _, err := os.Lstat(socket); err == nil && !slices.Contains(found, socket) {
				found = append(found, socket)
			}
		}
	}
	return found
}
