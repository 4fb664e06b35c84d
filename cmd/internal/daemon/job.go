package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
)

// job has the bot serve the issue of a job.
func (p *planning) job() {
	j := p.wired.flags.Job
	if j == nil {
		return
	}
	j.Change(p.config)
	if machine, _ := machineOf(p.finder, p.config); !p.wired.flags.DryRun {
		if space := machine.LacksSpace(); space != "" { // nothing was written yet, so another job finds the request
			p.problem("no room for a session on this runner: %s; remove what is not needed there, or give the runner a larger disk%s", space, startsAgain)
		}
	}
	p.options.Host.ParkAfter, p.options.Host.Borrowed = j.ParkAfter, true
	p.config.Bot.StatusAddr = "" // other jobs run on this machine
	p.options.Log = j.warned.of(p.options.Log)
	p.options.Host.Log = p.options.Log
	open := p.options.SessionLog
	p.options.Pull = j.Pull
	p.options.Issue, p.options.Commanded, p.options.HostID, p.options.Slots = j.Issue, j.Commanded, j.Host, 1
	p.options.SessionLog = func(file string) (*slog.Logger, io.Closer, error) {
		log, closer, err := open(file)
		if err != nil {
			return nil, nil, err
		}
		return log, closers{j.Opened(filepath.Dir(file)), closer}, nil
	}
}

// startsAgain says what becomes of a request that a job could not take.
const startsAgain = "; a request that has its label is started once more by the next sweep"

// closers closes all of them, in order.
type closers []io.Closer

func (all closers) Close() error {
	var errs []error
	for _, c := range all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Reach returns a host for a repository, and the account that acts there: for a job that runs no
// session.
func Reach(ctx context.Context, f *site.Finder, c *config.Config, repo ghsync.Repo) (*host.Host, account.Account, error) {
	p := &planning{wired: &wired{finder: f, flags: &Options{}}, config: c, known: config.Partial{}.Knows}
	p.account()
	if err := p.err(); err != nil {
		return nil, account.Account{}, err
	}
	act, err := p.accounts.For(ctx, repo)
	if err != nil {
		return nil, act, err
	}
	o := p.options.Host
	o.GitHub, o.Token, o.Server, o.Away = act.Client, act.Token, act.Server, act.Away
	h, err := host.New(o)
	return h, act, err
}
