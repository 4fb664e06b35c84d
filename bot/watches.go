package bot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// watched are the repositories of one identity, which are polled together since they share its limits.
type watched struct {
	*intake.Watch
	targets []intake.Target // what it was told last
}

// aim tells the watches of what goes on in the repositories.
func (b *Bot) aim() {
	b.mu.Lock()
	defer b.mu.Unlock()
	targets := map[string][]intake.Target{}
	for _, r := range b.repos {
		of := r.account.Name
		targets[of] = append(targets[of], intake.Target{
			Client: r.account.Client, Repo: r.name(), ID: r.id, Mode: r.sessions.mode(), Swept: r.swept.Load(), Busy: b.queue.Waits(r.id),
		})
		if b.watches[of] == nil {
			b.watches[of] = b.newWatch(r)
		}
	}
	for of, w := range b.watches {
		if !slices.Equal(targets[of], w.targets) {
			w.targets = targets[of]
			w.Set(w.targets)
		}
	}
}

// newWatch begins to watch the repositories of the identity that a repository has.
func (b *Bot) newWatch(of *repository) *watched {
	w := &watched{Watch: intake.NewWatch(intake.WatchOptions{
		Label: b.Config.Bot.Label, Issue: b.Issue, Commanded: b.Commanded, Every: b.Config.Bot.PollInterval.D, Found: b.found, Moved: b.moved,
		Core:  func() transport.Quota { return of.account.Client.Quotas()["core"] },
		Clock: intake.Clock{Now: b.Now}, Log: b.Log.With("account", of.account.Name),
	})}
	b.loop(b.life, func() { w.Run(b.life) })
	return w
}

// facts are how the pollers do, by the id of the repository.
func (b *Bot) facts() map[int64]intake.Facts {
	b.mu.Lock()
	var all []*watched
	for _, w := range b.watches {
		all = append(all, w)
	}
	b.mu.Unlock()
	facts := map[int64]intake.Facts{}
	for _, w := range all {
		for _, f := range w.Facts() {
			facts[f.RepoID] = f
		}
	}
	return facts
}

// found takes in what the intake found.
func (b *Bot) found(_ context.Context, c intake.Changes) error {
	if r := b.repository(c.RepoID); r != nil {
		r.found(c)
	}
	return nil
}

// moved is told that a repository has another name.
func (b *Bot) moved(id int64, former, now ghsync.Repo) {
	if r := b.repository(id); r != nil {
		b.Log.Info("a repository has another name", "former", former.String(), "now", now.String())
		r.rename(now)
		b.aim()
	}
}

// Wake has a repository read within a second, for a hook. It reports whether it is one of ours. One of
// an organisation that is not served yet is served then.
func (b *Bot) Wake(h intake.Hook) bool {
	if r := b.repository(h.RepoID); r != nil {
		if h.Event == "check_suite" {
			r.follow.Look() // no list that is polled shows it
		}
		b.mu.Lock()
		w := b.watches[r.account.Name]
		b.mu.Unlock()
		return w != nil && w.Wake(h.RepoID)
	}
	owner, name, ok := strings.Cut(h.Repo, "/")
	if !ok || !slices.ContainsFunc(b.Config.Bot.Orgs, func(org string) bool { return strings.EqualFold(org, owner) }) {
		return false
	}
	b.work.Go(func() {
		if _, err := b.serveSwept(b.life, ghsync.Repo{Owner: owner, Name: name}, true); err != nil {
			b.Log.Warn("a repository of a webhook is not served", "repo", h.Repo, "err", err)
		}
	})
	return true
}

// sweep searches an organisation for requests.
func (b *Bot) sweep(ctx context.Context, org string) error {
	client, err := b.Accounts.Sweep(ctx, org)
	if err != nil {
		return err
	}
	s := intake.NewSweep(intake.SweepOptions{
		Client: client, Org: org, Every: b.Config.Bot.SweepInterval,
		Labels: request.Labels(b.Config.Bot.Label, b.Workflows),
		Found: func(ctx context.Context, all []intake.Candidate) error {
			for _, c := range all {
				r, err := b.serveSwept(ctx, ghsync.Repo{Owner: c.Owner, Name: c.Repo}, true)
				if err != nil {
					b.Log.Warn("a repository of a sweep is not served", "repo", c.Owner+"/"+c.Repo, "err", err)
					continue
				}
				r.met.Add(c.Issue, time.Time{})
			}
			return nil
		},
		Crowded: func(repos []ghsync.Repo) {
			for _, repo := range repos {
				if _, err := b.serveSwept(ctx, repo, false); err != nil {
					b.Log.Warn("a repository of a sweep is not served", "repo", repo.String(), "err", err)
				}
			}
			b.aim()
		},
		Clock: intake.Clock{Now: b.Now}, Log: b.Log,
	})
	if err := s.Once(ctx); err != nil {
		if _, passes := transport.Later(err); !passes {
			return fmt.Errorf("the account cannot search the organisation %s: %w", org, err)
		}
		b.Log.Warn("an organisation is searched later", "org", org, "err", err)
	}
	if !b.Once {
		b.loop(ctx, func() { s.Run(ctx) })
	}
	return nil
}

// serveSwept is serve for a repository of an organisation. swept: a sweep finds its requests, so that
// it need not be polled while nothing goes on there.
func (b *Bot) serveSwept(ctx context.Context, repo ghsync.Repo, swept bool) (*repository, error) {
	r, err := b.serve(ctx, repo, swept)
	if err == nil && !swept && r.swept.Swap(false) {
		b.aim()
	}
	return r, err
}
