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
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// End ends what a session has running whose state cannot be read: its agents, known by what
// their processes carry, and its tmux server, known by what this machine noted of the session
// and by its path. Nothing that the session's own files say decides whom that hits. Files stay
// as they are. It returns how many processes of agents it ended, and a *session.LockedError
// for a session somebody hosts. It may be called again after any error or kill.
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
	ended, err := agent.StopAll(ctx, launches)
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
	found, _ := os.ReadDir(launches) // absent: nothing was ever launched
	for _, d := range found {
		if err := agent.Unprepared(h.RuntimeDir, filepath.Join(launches, d.Name())).Discard(); err != nil {
			return ended, err
		}
	}
	return ended, shield.RemoveLeft(filepath.Join(h.RuntimeDir, filepath.Base(sess.ReadRuntime().Recorder)))
}

// socketsOf are the places where the server of a session can listen, an older version's among
// them. Where its host had another runtime directory, the file that it noted that in counts if
// the name is one of these.
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
