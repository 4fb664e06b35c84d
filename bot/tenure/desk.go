package tenure

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// DeskSpec says of which repository the issues are claimed, and by whom.
type DeskSpec struct {
	Repo   ghsync.Repo
	RepoID int64
	Host   claim.HostID
	// OneSession: the host ends with its session, as that of a command does.
	OneSession bool
	SingleHost bool          // bot.single_host
	Write      time.Duration // github.write_interval; 0: 1 s, below zero: none
	Free       func() int    // slots; may be nil
	Clock      claim.Clock
	Log        *slog.Logger
}

// OpenDesk returns the desk at which a host claims issues, with the account of h.
func OpenDesk(ctx context.Context, h *host.Host, spec DeskSpec) (claim.Desk, error) {
	if spec.SingleHost {
		return claim.NewLocal(h.StateHome, spec.RepoID, spec.Host, h.Now), nil
	}
	repo, err := h.Repository(ctx, spec.Repo)
	if err != nil {
		return nil, err
	}
	store, err := claim.OpenStore(ctx, h.StateHome)
	if err != nil {
		return nil, err
	}
	o := claim.Options{
		Repo: repo, Store: store, RepoID: spec.RepoID, Host: spec.Host, OneSession: spec.OneSession,
		Write: spec.Write, Free: spec.Free, Clock: spec.Clock, Log: spec.Log,
		ReadRun: func(ctx context.Context, run int64) (claim.RunState, error) {
			return readRun(ctx, h.GitHub, spec.Repo, run)
		},
	}
	if spec.OneSession { // what a command saw, the next one remembers
		o.Memory = &claim.Memory{
			File: filepath.Join(h.StateHome, "claims-seen", strconv.FormatInt(spec.RepoID, 10)+".json"), Boot: claim.MachineBoot,
		}
	}
	return claim.NewRemote(o), nil
}

// readRun reads a run of GitHub Actions.
func readRun(ctx context.Context, c *ghsync.Client, repo ghsync.Repo, id int64) (claim.RunState, error) {
	run, err := ghsync.Intake{Client: c}.Run(ctx, repo, id)
	if transport.IsNotFound(err) {
		return claim.RunState{Gone: true}, nil
	}
	return claim.RunState{Attempt: run.Attempt, Completed: run.Completed}, err
}

// HostOf returns the host id of the session in dir: the one that it had, else a new one. A
// machine's bot has an id of its own, see [host.Host.HostID].
func HostOf(dir string) (claim.HostID, error) {
	note, err := claim.ReadNote(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return claim.NewHostID(), nil
	}
	return note.Host, err
}
