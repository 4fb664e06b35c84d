package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/cmd/internal/daemon"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Left is the last step of a job. It ends processes and tmux servers of the job's sessions, removes
// their files, and fails if something still ran, or if a file stays. Sessions lie below the runner's
// directory for temporary files, which is the job's own; nothing elsewhere is touched, but for the
// refs in the input state of sessions that are over.
func Left(ctx context.Context, f *site.Finder) error {
	log := NewLog(f.Raw)
	defer log.Close()
	home := site.StateHome()
	temp := os.Getenv("RUNNER_TEMP")
	if rel, err := filepath.Rel(temp, home); err != nil || !filepath.IsAbs(temp) || !filepath.IsLocal(rel) {
		return exit.UsageText("the state home of the job is not below RUNNER_TEMP; nothing was removed")
	}
	lock, err := durable.LockWithin(filepath.Join(home, daemon.Lock), "", durable.HandOver) // a child of a killed job has it for a moment
	switch {
	case errors.Is(err, durable.ErrLocked):
		log.Annotate(Failure, "left over", "a job still works in "+f.Shown()(home)+", so nothing was removed; give each runner a work directory of its own")
		return exit.Quiet(exit.Failed)
	case err == nil:
		defer func() { _ = lock.Close() }() // its file is removed below
	case !errors.Is(err, fs.ErrNotExist): // without a state home there is nothing to lock
		return err
	}
	f.Stores = ReadInputs()["state"]
	h, c, err := leaver(f, home)
	if err != nil {
		return err
	}
	var left []string
	for _, m := range project.ListManaged(home) {
		entries, err := session.List(m.Dir)
		if err != nil {
			left = append(left, fmt.Sprintf("%s: %v", m.Name(), err))
		}
		for _, e := range entries {
			for _, what := range leave(ctx, h, c, e) {
				left = append(left, e.Name+": "+what)
			}
		}
	}
	if err := os.RemoveAll(home); err != nil {
		left = append(left, err.Error())
	}
	if len(left) == 0 {
		return nil
	}
	log.Annotate(Failure, "left over", f.Shown()(strings.Join(left, "\n")))
	return exit.Quiet(exit.Failed)
}

// leaver is a host for what is left in a state home.
func leaver(f *site.Finder, home string) (*host.Host, *config.Config, error) {
	own, err := site.Self()
	if err != nil {
		return nil, nil, err
	}
	c, err := f.MachineConfig()
	if err != nil {
		c = &config.Config{} // what keeps a job from its work keeps nothing here
	}
	h, err := host.New(host.Options{
		Self: own, StateHome: home, Stores: f.Stores, RuntimeDir: site.RuntimeDir(), Home: site.Home(), Server: os.Getenv("GITHUB_SERVER_URL"), Redactor: f.Redactor(),
	})
	return h, c, err
}

// leave ends what runs of a session, and returns what did, and what could not be ended. In a store that
// jobs share its refs go, unless another host has the session now; work that is in no branch stays there.
func leave(ctx context.Context, h *host.Host, c *config.Config, e session.Entry) (left []string) {
	left, err := host.Left(ctx, h, e.Dir)
	if err != nil {
		return append(left, err.Error())
	}
	if _, err := h.End(ctx, e.Dir); err != nil {
		left = append(left, err.Error())
		if errors.As(err, new(*session.LockedError)) {
			return left
		}
	}
	if still, err := host.Left(ctx, h, e.Dir); err != nil || len(still) > 0 {
		return append(left, fmt.Sprintf("still there: %s %v", strings.Join(still, ", "), err))
	}
	if h.Stores != "" && e.State != nil && host.Removable(e.State) && e.State.OutcomeReason != orchestrator.ReasonClaimLost {
		if _, err := h.Remove(ctx, e.Dir, c); err != nil {
			left = append(left, err.Error())
		}
	}
	return left
}
