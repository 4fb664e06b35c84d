package bot

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/bell"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/due"
	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/bot/follow"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/recall"
	"github.com/agentmux/agentmux/bot/refusal"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/bot/tenure"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/bot/upkeep"
	"github.com/agentmux/agentmux/ghsync"
)

// repository is one that the bot serves, with everything of it.
type repository struct {
	bot      *Bot
	id       int64
	own      ghsync.Account // of the program
	account  account.Account
	server   request.Server // answers the gate
	host     *host.Host
	project  *project.Project
	desk     claim.Desk
	lookout  *orphan.Lookout
	journal  *journal.Journal
	shelf    ticket.Shelf
	ear      *ear.Ear
	follow   *follow.Follow
	refusals *refusal.Teller
	keeper   *upkeep.Upkeep
	sessions *sessions
	met      *due.Set // issues whose reading is due
	pulls    *due.Set // pull requests of sessions whose reading is due
	others   recall.Pulls
	swept    atomic.Bool // a sweep finds its requests
	asked    bool        // configuration or command line name it
	judging  sync.Mutex  // one request at a time
	configs  project.Configs
	saved    recall.Checkpoints
	attempts gate.Attempts
	shelving sync.Mutex // who changes a ticket

	mu   sync.Mutex
	repo ghsync.Repo // its name now
}

// openRepository finds a repository on the server and its place on this machine.
func (b *Bot) openRepository(ctx context.Context, repo ghsync.Repo) (*repository, error) {
	act, err := b.Accounts.For(ctx, repo)
	if err != nil {
		return nil, err
	}
	found, err := b.Met.Repository(ctx, act.Client, repo)
	if err != nil {
		return nil, err
	}
	r := &repository{bot: b, repo: found.Repo, id: found.ID, account: act, sessions: newSessions()}
	r.asked = slices.ContainsFunc(b.Repos, func(named ghsync.Repo) bool { return strings.EqualFold(named.String(), repo.String()) })
	r.met, r.pulls = due.New(r.reconcile), due.New(r.readPull)
	if r.own, err = act.Client.Viewer(ctx); err != nil {
		return nil, err
	}
	r.server, r.others.GitHub = request.Server{Client: act.Client, Own: r.own, Met: b.Met}, act.Client
	o := b.Host
	o.GitHub, o.Token, o.Server, o.Away, o.Locate = act.Client, act.Token, act.Server, act.Away, act.Locate
	if r.host, err = host.New(o); err != nil {
		return nil, err
	}
	if !found.Private && r.host.Unsandboxed(b.Config) && !b.Config.Gate.PublicUnsandboxed {
		r.log().Warn("its issues will be refused: the repository is public, and agents run without a sandbox here", "hint", "gate.public_unsandboxed: true, if you trust who may set the label")
	}
	dir, err := r.host.Projects().ManagedOf(r.id, r.repo, b.Config)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make project of %s: %w", r.repo, err)
	}
	names, err := project.NoteName(dir, r.id, r.repo)
	if err != nil {
		return nil, err
	}
	act.Keep(r.id, names.All()...)
	if r.project, err = r.host.Projects().ManagedIn(ctx, dir, r.repo, b.Config); err != nil {
		return nil, err
	}
	r.configs = project.Configs{Project: r.project, Of: b.ConfigOf}
	if r.journal, err = journal.Open(r.dir(), journal.Options{Now: b.Now}); err != nil {
		return nil, err
	}
	r.shelf = ticket.Of(r.dir())
	r.keeper = upkeep.New(upkeep.Options{
		Project: r.dir(), Config: b.Config, Remover: r.host, Closed: r.sessions.pulls.IsClosed, Gone: r.sessions.forget, Issue: b.Issue, Now: b.Now, Log: r.log(),
		Claims: func(ctx context.Context) ([]claim.Seen, error) { return r.desk.Look(ctx) },
		Checkpoints: func(ctx context.Context, held func(string) bool) ([]string, error) {
			return host.RemoveCheckpoints(ctx, r.host, r.dir(), b.Config, held)
		},
	})
	r.refusals = refusal.New(refusal.Options{
		Client: act.Client, Repo: r.name, Own: r.own, Journal: r.journal, Label: b.Config.Bot.Label, LinkHosts: b.Config.GitHub.LinkHosts,
		Redactor: b.Host.Redactor, Now: act.Client.Now,
	})
	r.ear = ear.New(ear.Options{
		Client: act.Client, Repo: r.repo, Bot: b.Config.Bot, Journal: r.journal, Owner: owner{r}, Recall: owner{r}.recall, Brief: b.Issue != 0,
		Now: act.Client.Now, Local: b.Now, Log: r.log(), Reply: r.refusals.Reply,
	})
	r.follow = follow.New(follow.Options{
		Client: act.Client, Repo: r.repo, Bot: b.Config.Bot, Owner: followed{r}, Secrets: b.Host.Redactor, Now: act.Client.Now, Local: b.Now, Log: r.log(),
	})
	if b.host == "" {
		if b.host, err = claim.KeptHostID(r.host.StateHome); err != nil {
			return nil, err
		}
	}
	r.saved = recall.Checkpoints{Host: r.host, Project: r.project, Configs: &r.configs, Config: b.Config, ID: b.host, Repo: r.name}
	r.desk, err = tenure.OpenDesk(ctx, r.host, tenure.DeskSpec{
		Repo: r.repo, RepoID: r.id, Host: b.host, SingleHost: b.Config.Bot.SingleHost, Write: b.Config.GitHub.WriteEvery(), Free: b.queue.Free, Clock: claim.Clock{Now: b.Now}, Log: b.Log,
	})
	r.lookout = orphan.New(orphan.Options{
		Desk: r.desk, Own: b.host, Project: r.dir(), Issue: b.Issue, Quiet: b.Commanded, Found: func(issue int) { r.met.Add(issue, time.Time{}) }, Room: b.queue.Room, Now: b.Now, Log: r.log(),
		Saved: r.saved.Saved, Divide: act.Divide, Ring: func(name string) error { return bell.Ring(r.dir(), name) },
	})
	return r, err
}

// name is what the repository is called now.
func (r *repository) name() ghsync.Repo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.repo
}

// rename takes in another name. Its sessions keep the directory that the first one gave.
func (r *repository) rename(now ghsync.Repo) {
	r.mu.Lock()
	r.repo = now
	r.mu.Unlock()
	r.account.Keep(r.id, now)
	r.ear.Move(now)
	r.follow.Move(now)
	if _, err := project.NoteName(r.dir(), r.id, now); err != nil {
		r.log().Warn("the name of a repository is not noted", "err", err)
	}
}

// dir is the directory of the managed project.
func (r *repository) dir() string { return r.project.Clone.Root }
