package recall

import (
	"context"
	"errors"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Checkpoints are those on the server of the sessions of one repository. All fields are set.
type Checkpoints struct {
	Host    *host.Host
	Project *project.Project
	Configs *project.Configs
	Config  *config.Config // of the machine
	ID      claim.HostID   // of this host
	Repo    func() ghsync.Repo
}

// Continue makes the directory of a session from its checkpoint; refused says why that must not be.
func (k Checkpoints) Continue(ctx context.Context, name string, issue int) (dir, refused string, err error) {
	spec, err := k.spec(ctx, name, issue)
	if err != nil {
		return "", "", err
	}
	return host.Elsewhere{Host: k.Host}.Continue(ctx, spec)
}

// Fetch fetches that of a session, and says how its pull request is followed.
func (k Checkpoints) Fetch(ctx context.Context, of Pull) (*checkpoint.Fetched, config.Followup, error) {
	spec, err := k.spec(ctx, of.Session, of.Issue)
	if err != nil {
		return nil, config.Followup{}, err
	}
	f, err := host.Elsewhere{Host: k.Host}.Fetch(ctx, spec)
	return f, spec.Config.Followup, err
}

// Unfinished reports whether a session has something left to try, by the state of its checkpoint. One that cannot be
// continued from it has nothing.
func (k Checkpoints) Unfinished(ctx context.Context, name string, issue int) (bool, error) {
	return k.judged(ctx, name, issue, func(files map[string][]byte) bool {
		s, err := orchestrator.Decode(files[session.StateFile])
		return err == nil && (s.Parked() || s.Phase == orchestrator.PhaseFailed)
	})
}

// judged reports whether a session has a checkpoint, and judge wants it by its files.
func (k Checkpoints) judged(ctx context.Context, name string, issue int, judge func(files map[string][]byte) bool) (bool, error) {
	f, _, err := k.Fetch(ctx, Pull{Issue: issue, Session: name})
	if errors.Is(err, checkpoint.ErrNone) || errors.As(err, new(*checkpoint.RefusedError)) {
		return false, nil
	}
	return err == nil && judge(f.Session), err
}

// Saved reports whether a session, by its name on the server, has one there.
func (k Checkpoints) Saved(ctx context.Context, name string) (bool, error) {
	return host.Elsewhere{Host: k.Host}.Saved(k.Project)(ctx, name)
}

func (k Checkpoints) spec(ctx context.Context, name string, issue int) (host.RestoreSpec, error) {
	_, _, c, problems, err := k.Configs.Tip(ctx, k.Config)
	if len(problems.Errors()) > 0 {
		c = k.Config
	}
	return host.RestoreSpec{Project: k.Project, Config: c, Session: name, Issue: issue, Host: k.ID, Repo: k.Repo()}, err
}
