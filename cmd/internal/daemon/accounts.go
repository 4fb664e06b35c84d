package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/agentmux/agentmux/bot"
	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/redact"
)

// accounts are one account for all repositories, or those of an App, one for each.
type accounts struct {
	identity account.Identity
	config   *config.Config
	redactor *redact.Redactor
	log      *slog.Logger

	mu    sync.Mutex
	known map[string]bot.Account // by repository; "" for all
}

func newAccounts(ctx context.Context, f *site.Finder, c *config.Config, id account.Identity, log *slog.Logger) (*accounts, error) {
	a := &accounts{identity: id, config: c, redactor: f.Redactor(), log: log, known: map[string]bot.Account{}}
	if account.ActsAsApp(c) {
		return a, nil
	}
	if id.Tokens == nil {
		detail, hint := id.NoToken()
		return nil, fmt.Errorf("%s; %s", detail, hint)
	}
	token, err := id.Tokens.Token(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.redactor.AddSecret("github-token", token); err != nil {
		return nil, fmt.Errorf("%w: set another", &account.TokenError{From: id.From})
	}
	all, err := a.of(id)
	a.known[""] = all
	return a, err
}

// of is the account of an identity.
func (a *accounts) of(id account.Identity) (bot.Account, error) {
	client, err := id.Client(a.log)
	return bot.Account{Client: client, Token: id.Tokens, Server: id.Bases.Server}, err
}

// For returns the account for a repository.
func (a *accounts) For(_ context.Context, repo ghsync.Repo) (bot.Account, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if all, ok := a.known[""]; ok {
		return all, nil
	}
	if one, ok := a.known[repo.String()]; ok {
		return one, nil
	}
	tokens, err := account.NewApp(account.AppSpec{
		Settings: a.config.GitHub.App, Bases: a.identity.Bases, Repo: repo, Redactor: a.redactor, Log: a.log,
	})
	if err != nil {
		return bot.Account{}, err
	}
	id := a.identity
	id.Tokens = tokens
	one, err := a.of(id)
	if err == nil {
		a.known[repo.String()] = one
	}
	return one, err
}

// Sweep returns the client that searches an organisation; nil for an App, whose tokens are for one
// repository each.
func (a *accounts) Sweep(context.Context, string) (*ghsync.Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[""].Client, nil
}
