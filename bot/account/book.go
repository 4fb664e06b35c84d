package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/installation"
	"github.com/agentmux/agentmux/ghsync/namesake"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// An Account acts on GitHub in one repository.
type Account struct {
	Client *ghsync.Client
	Token  transport.TokenSource // for git
	Server string                // its address
	Name   string                // of the identity, for people
	Away   func() error          // why GitHub refuses it now, a *transport.Away; nil: it does not
	Divide func(parts int) int   // see [transport.Shared.Divide]
	names  *namesake.Names       // nil: a name may lead to another repository
}

// Keep keeps the names that a repository has or had: what this process sends by one of them goes to no other
// repository that takes it over. See package namesake.
func (a Account) Keep(id int64, called ...ghsync.Repo) {
	for _, name := range called {
		if a.names != nil {
			a.names.Keep(name.String(), id)
		}
	}
}

// Locate returns what the repository that a name is kept for is called. With ask the server says it now, else
// it is as was seen last. The error is a *namesake.GoneError if it is not there any more.
func (a Account) Locate(ctx context.Context, repo ghsync.Repo, ask bool) (ghsync.Repo, error) {
	if a.names == nil {
		return repo, nil
	}
	now, err := a.names.Now(repo.String())
	for tries := 0; ask && tries < maxNames; tries++ {
		asked := now
		if err := a.Client.Read(ctx, a.names.Probe(cmp.Or(asked, repo.String())), nil); err != nil && !transport.IsNotFound(err) {
			return repo, fmt.Errorf("find the repository %s: %w", repo, err)
		}
		if now, err = a.names.Now(repo.String()); now == asked {
			break
		}
	}
	owner, name, _ := strings.Cut(now, "/")
	return ghsync.Repo{Owner: owner, Name: name}, err
}

// maxNames bounds how often a repository that gets one name after another is followed at once.
const maxNames = 3

// BookSpec is what a Book needs of its process.
type BookSpec struct {
	Config   *config.Config // of the machine
	Tokens   *Tokens
	Redactor *redact.Redactor // knows each token before its first use
	Log      *slog.Logger     // nil: none
	Now      func() time.Time // nil: time.Now
	HTTP     http.RoundTripper
	Limits   transport.Limits // WriteEvery is that of the configuration
	Pause    time.Duration    // before a request is repeated; 0 means the default
}

// Book keeps the accounts of a process that serves many repositories: a client for each, and one
// limiter, quota and store of answers for each identity. An identity is an installation of the
// App, or the account of the token, or the job. An identity at its limit delays no other.
//
// Under an App each repository has tokens of its own, and each owner one that reads issues alone,
// for the sweep. Otherwise there is one client. It is safe for concurrent use.
type Book struct {
	o       BookSpec
	id      Identity
	process *transport.Process
	names   *namesake.Names
	health  *health
	keep    *keeper

	mu     sync.Mutex // never held while waiting
	pages  map[string]*page
	shared map[int64]*transport.Shared // by installation; 0: the only identity
}

// page is an account that is being opened, or is open.
type page struct {
	turn    chan struct{} // who holds it opens the account
	account *Account
}

// Open finds the identity that the configuration names. It sends nothing. An error is a
// *SettingsError if the configuration names no account that could be used.
func Open(o BookSpec) (*Book, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	keep := newKeeper(o.Redactor, o.Log, o.Now)
	tokens := *o.Tokens
	tokens.Replaced = keep.replaced
	id, err := tokens.Identity(o.Config)
	if err != nil {
		return nil, err
	}
	if o.HTTP == nil {
		o.HTTP = transport.NewHTTP()
	}
	names := namesake.New(o.HTTP, id.Bases.API, o.Config.Bot.Label)
	b := &Book{
		o: o, id: id, process: transport.NewProcess(names), names: names, health: newHealth(o.Log, o.Now), keep: keep,
		pages: map[string]*page{}, shared: map[int64]*transport.Shared{},
	}
	if ActsAsApp(o.Config) {
		return b, nil
	}
	if id.Tokens == nil {
		detail, hint := id.NoToken()
		return nil, settingsErr(errors.New(detail + "; " + hint))
	}
	token, err := id.Tokens.Token(context.Background()) // it was found above
	if err != nil {
		return nil, err
	}
	if err := o.Redactor.AddToken(token); err != nil {
		_, hint := id.NoToken()
		return nil, settingsErr(fmt.Errorf("%w; %s", &TokenError{From: id.From}, hint))
	}
	if id.Tokens.Mode() == transport.ModeGH {
		o.Log.Warn("the bot acts as the account that gh is logged in as, with all of its rights; an App or a token of its own has fewer", "account", id.From)
	}
	return b, nil
}

// For returns the account for a repository. It is found once. The error is a *transport.Away if
// the App is not installed there, or the installation is suspended; then the next call asks again.
func (b *Book) For(ctx context.Context, repo ghsync.Repo) (Account, error) {
	if !ActsAsApp(b.o.Config) {
		return b.once(ctx, "", func(context.Context) (*Account, error) { return b.only() })
	}
	return b.once(ctx, strings.ToLower(repo.String()), func(ctx context.Context) (*Account, error) {
		return b.installed(ctx, installation.Options{Repo: repo.String()}, repo.String())
	})
}

// Sweep returns a client that reads the issues of every repository of an owner, and nothing else
// where the App has other clients for them.
func (b *Book) Sweep(ctx context.Context, owner string) (*ghsync.Client, error) {
	if !ActsAsApp(b.o.Config) {
		account, err := b.For(ctx, ghsync.Repo{})
		return account.Client, err
	}
	account, err := b.once(ctx, strings.ToLower(owner)+"/", func(ctx context.Context) (*Account, error) {
		return b.installed(ctx, installation.Options{Owner: owner, Permissions: installation.SweepPermissions()}, owner)
	})
	return account.Client, err
}

// once opens an account at the first call for its key. Others that ask meanwhile wait, as long as
// their context lets them, and those for other keys do not.
func (b *Book) once(ctx context.Context, key string, open func(context.Context) (*Account, error)) (Account, error) {
	b.mu.Lock()
	p := b.pages[key]
	if p == nil {
		p = &page{turn: make(chan struct{}, 1)}
		b.pages[key] = p
	}
	b.mu.Unlock()
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return Account{}, ctx.Err()
	}
	defer func() { <-p.turn }()
	if p.account == nil {
		account, err := open(ctx)
		if err != nil {
			return Account{}, err
		}
		p.account = account
	}
	return *p.account, nil
}

// only opens the account of the one identity that there is without an App.
func (b *Book) only() (*Account, error) {
	return b.account(b.id.Tokens, 0, b.id.From, "")
}

// installed opens an account of an installation, with a first token.
func (b *Book) installed(ctx context.Context, o installation.Options, where string) (*Account, error) {
	o.Minted, o.Process, o.Now = b.keep.minted, b.process, b.o.Now
	tokens, err := newApp(o, b.o.Config.GitHub.App, b.id.Bases, b.o.Redactor)
	if err != nil {
		return nil, err
	}
	if _, err := tokens.Token(ctx); err != nil {
		return nil, fmt.Errorf("act in %s: %w", where, err)
	}
	return b.account(tokens, tokens.ID(), fmt.Sprintf("%s, installation %d", b.id.From, tokens.ID()), where)
}

// account makes the client of a token source with what its identity shares.
func (b *Book) account(tokens transport.TokenSource, identity int64, name, where string) (*Account, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	shared := b.shared[identity]
	if shared == nil {
		limits := b.o.Limits
		limits.WriteEvery = cmp.Or(limits.WriteEvery, b.id.Writes)
		shared = b.process.Share(limits.Of(tokens.Mode()))
		b.shared[identity] = shared
	}
	client, err := ghsync.New(transport.Options{
		APIURL: b.id.Bases.API, GraphQLURL: b.id.Bases.GraphQL, ServerURL: b.id.Bases.Server, Token: tokens, Log: b.o.Log,
		Now: b.o.Now, Pause: b.o.Pause, Shared: shared, Presence: func(err error) { b.health.heard(name, where, err) },
	})
	if err != nil {
		return nil, err
	}
	names := b.names
	if tokens.Mode() == transport.ModeActions { // the token of a job opens no other repository
		names = nil
	}
	return &Account{
		Client: client, Token: tokens, Server: b.id.Bases.Server, Name: name, Divide: shared.Divide, Away: func() error { return b.health.of(name, where) }, names: names,
	}, nil
}

// Absent returns the identities that GitHub refuses now, those that it refused first in front.
func (b *Book) Absent() []Absence { return b.health.absent() }

// Traffic returns what was sent for each identity; the key is as that of Quotas.
func (b *Book) Traffic() map[int64]transport.Traffic {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[int64]transport.Traffic{}
	for id, shared := range b.shared {
		all[id] = shared.Traffic()
	}
	return all
}

// Quotas returns the server's limits of each identity as last seen, by resource. The key is the id
// of the installation, 0 without an App.
func (b *Book) Quotas() map[int64]map[string]transport.Quota {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[int64]map[string]transport.Quota{}
	for id, shared := range b.shared {
		all[id] = shared.Quotas()
	}
	return all
}
