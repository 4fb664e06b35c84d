package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/sight"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// repositories finds out what is served.
func (p *planning) repositories(ctx context.Context) {
	o, c := p.wired.flags, p.config
	names, orgs, flag := o.Repos, o.Orgs, "--repo"
	if len(names) == 0 && len(orgs) == 0 {
		if !p.known("bot.repos", "bot.orgs") {
			return
		}
		names, orgs, flag = c.Bot.Repos, c.Bot.Orgs, "bot.repos"
	}
	c.Bot.Orgs = orgs
	if len(names) == 0 && len(orgs) == 0 {
		if p.options.Host.Server == "" {
			return // account has said why
		}
		repo, err := p.cloned(ctx)
		if err != nil {
			p.noRepository(err)
			return
		}
		names, flag = []string{repo.String()}, "origin"
	}
	var repos []ghsync.Repo
	for _, name := range names {
		switch repo, err := request.ParseRepo(name, p.options.Host.Server); {
		case err == nil:
			repos = append(repos, repo)
		case p.known("github.host") || strings.Count(name, "/") != 2: // the first of three parts is the server
			p.problem("%v", err)
		}
	}
	p.options.Repos = p.seen(ctx, flag, repos)
	for _, org := range orgs {
		p.organisation(ctx, org)
	}
}

func (p *planning) noRepository(err error) {
	p.problem("no repository to serve: %v; name one with --repo owner/name or --org, or in bot.repos of your configuration", err)
}

// cloned is the repository of the clone that the person is in.
func (p *planning) cloned(ctx context.Context) (ghsync.Repo, error) {
	dir, err := p.finder.ProjectDir()
	if err != nil {
		return ghsync.Repo{}, err
	}
	h, err := host.New(p.options.Host)
	if err != nil {
		return ghsync.Repo{}, err
	}
	of, err := h.Project(ctx, dir, p.config)
	if err != nil {
		return ghsync.Repo{}, site.ExplainProject(err, dir)
	}
	if !of.GitHub {
		return ghsync.Repo{}, errors.New(site.NotOnServer(of, p.options.Host.Server))
	}
	return of.Repo, nil
}

// seen returns those of the repositories that are on the server, each once, and has a problem for each
// that the account does not see. Where the server does not answer now, the rest is not looked for: the
// bot tries until it does.
func (p *planning) seen(ctx context.Context, flag string, repos []ghsync.Repo) (seen []ghsync.Repo) {
	if p.accounts == nil {
		return repos // without an account, there is nothing to ask
	}
	ids := map[int64]bool{}
	for i, repo := range repos {
		of, err := p.accounts.For(ctx, repo)
		if err != nil {
			p.problem("%s: %s: %v", flag, repo, err)
			continue
		}
		found, err := p.meet(ctx, of.Client, repo)
		switch _, again := transport.Later(err); {
		case err == nil && !ids[found.ID]:
			ids[found.ID] = true
			seen = append(seen, repo)
		case err == nil: // named twice, or by a former name
		case account.IsUnauthorized(err) || transport.IsAway(err):
			p.problem("%s", p.words(err, p.options.Host.Server))
			return repos
		case p.wired.flags.Job != nil && ctx.Err() == nil && account.IsUnreached(err): // a runner does not wait for a network
			p.problem("%s%s", p.words(err, p.options.Host.Server), startsAgain)
			return repos
		case ctx.Err() != nil || again:
			return append(seen, repos[i:]...)
		case transport.IsNotFound(err):
			p.problem("%s: %s is not there, or %s may not see it; %s", flag, repo, p.who(ctx, of.Client), p.sees(ctx, of.Client, repo))
		default:
			p.problem("%s: %s", flag, p.words(err, repo.String()))
		}
	}
	return seen
}

// meet reads a repository. A job reads its issue with it, which it has to judge anyway.
func (p *planning) meet(ctx context.Context, c *ghsync.Client, repo ghsync.Repo) (found ghsync.Repository, err error) {
	if j := p.wired.flags.Job; j != nil {
		p.options.Met, found, err = request.Meet(ctx, c, repo, j.Issue)
		if err == nil || !transport.IsNotFound(err) && !errors.Is(err, transport.ErrPullRequest) {
			return found, err
		}
	}
	return c.Repository(ctx, repo.Owner, repo.Name)
}

// who names the account.
func (p *planning) who(ctx context.Context, c *ghsync.Client) string {
	me, err := c.Viewer(ctx)
	if err != nil {
		return "the account"
	}
	return fmt.Sprintf("%s (token from %s)", me.Login, p.from)
}

// mostNamed is how many repositories a sentence has.
const mostNamed = 5

// sees says which repositories the account sees, those of the wanted one's owner first.
func (p *planning) sees(ctx context.Context, c *ghsync.Client, wanted ghsync.Repo) string {
	const todo = "correct the name, or give the account access"
	names, known, err := sight.Repositories(ctx, c)
	switch {
	case err != nil || !known:
		return todo
	case len(names) == 0:
		return "it sees no repository: " + todo
	}
	owner := strings.ToLower(wanted.Owner) + "/"
	slices.SortStableFunc(names, func(a, b string) int {
		rank := func(name string) int {
			if strings.HasPrefix(strings.ToLower(name), owner) {
				return 0
			}
			return 1
		}
		return rank(a) - rank(b)
	})
	list := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if more := len(names) - mostNamed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return "it sees " + list + ": " + todo
}

// organisation has a problem unless the account sees the organisation.
func (p *planning) organisation(ctx context.Context, org string) {
	if !config.IsOrg(org) {
		p.problem("--org: expected an organisation's name, found %q", org)
		return
	}
	if p.accounts == nil {
		return // without an account, there is nothing to ask
	}
	client, err := p.accounts.Sweep(ctx, org)
	if err == nil && client != nil {
		err = sight.Organisation(ctx, client, org)
	}
	switch _, again := transport.Later(err); {
	case err == nil || ctx.Err() != nil || again:
	case transport.IsNotFound(err):
		p.problem("--org: %s is not an organisation, or %s may not see it; correct the name, install the App there, or use a token of a member", org, p.who(ctx, client))
	default:
		p.problem("--org: %s", p.words(err, org))
	}
}

// words are an error of GitHub about something, and what to do.
func (p *planning) words(err error, what string) string {
	detail, hint := account.Words(err, what, p.from)
	return detail + "; " + hint
}
