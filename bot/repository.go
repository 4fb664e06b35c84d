package bot

import (
	"context"
	"sync"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/tenure"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync"
)

// repository is one that the bot serves, with everything of it.
type repository struct {
	bot     *Bot
	id      int64
	own     ghsync.Account // of the program
	account Account
	host    *host.Host
	project *project.Project
	desk    claim.Desk
	journal *journal.Journal
	shelf   ticket.Shelf
	ear     *ear.Ear
	met     *met       // issues whose reading is due
	swept   bool       // a sweep finds its requests
	fetch   sync.Mutex // one fetch at a time
	judging sync.Mutex // one request at a time

	mu       sync.Mutex
	repo     ghsync.Repo               // its name now
	left     map[int]bool              // pull requests that are not open any more
	sessions map[int]*hosted           // by issue: the newest session
	older    map[string]*hosted        // by directory: other sessions, once they were woken
	configs  map[string]*config.Config // by base commit
	attempts map[int]attempt           // of requests that are judged again
}

// openRepository finds a repository on the server and its place on this machine.
func (b *Bot) openRepository(ctx context.Context, repo ghsync.Repo) (*repository, error) {
	account, err := b.Accounts.For(ctx, repo)
	if err != nil {
		return nil, err
	}
	found, err := account.Client.Repository(ctx, repo.Owner, repo.Name)
	if err != nil {
		return nil, err
	}
	r := &repository{
		bot: b, repo: found.Repo, id: found.ID, account: account,
		sessions: map[int]*hosted{}, older: map[string]*hosted{}, configs: map[string]*config.Config{}, attempts: map[int]attempt{}, left: map[int]bool{},
	}
	r.met = newMet(r.reconcile)
	if r.own, err = account.Client.Viewer(ctx); err != nil {
		return nil, err
	}
	o := b.Host
	o.GitHub, o.Token, o.Server = account.Client, account.Token, account.Server
	if r.host, err = host.New(o); err != nil {
		return nil, err
	}
	if r.project, err = r.host.Managed(ctx, r.repo, b.Config); err != nil {
		return nil, err
	}
	if err := project.NoteRepository(r.dir(), r.id, r.repo); err != nil {
		return nil, err
	}
	if r.journal, err = journal.Open(r.dir(), journal.Options{Now: b.Now}); err != nil {
		return nil, err
	}
	r.shelf = ticket.Of(r.dir())
	r.ear = ear.New(ear.Options{
		Client: account.Client, Repo: r.repo, Bot: b.Config.Bot, Journal: r.journal, Owner: owner{r}, Now: b.Now, Log: r.log(),
	})
	if b.host == "" {
		if b.host, err = r.host.HostID(); err != nil {
			return nil, err
		}
	}
	r.desk, err = tenure.OpenDesk(ctx, r.host, tenure.DeskSpec{
		Repo: r.repo, RepoID: r.id, Host: b.host, SingleHost: b.Config.Bot.SingleHost, Free: b.queue.free, Log: b.Log,
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
	r.ear.Move(now)
	if err := project.NoteRepository(r.dir(), r.id, now); err != nil {
		r.log().Warn("the name of a repository is not noted", "err", err)
	}
}

// dir is the directory of the managed project.
func (r *repository) dir() string { return r.project.Clone.Root }

// attempt is how often a request was judged in vain, and by which trigger.
type attempt struct {
	trigger string
	gate.Tries
}

// tries are the earlier ones of the request that an issue makes now.
func (r *repository) tries(issue int) gate.Tries {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attempts[issue].Tries
}

// tried counts a decision.
func (r *repository) tried(issue int, d gate.Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.What != gate.Later {
		delete(r.attempts, issue)
		return
	}
	was := r.attempts[issue]
	if was.trigger != d.Asked.Trigger.String() {
		was = attempt{trigger: d.Asked.Trigger.String()}
	}
	was.Tries = was.After(d)
	r.attempts[issue] = was
}
