package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/bot"
	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/workflows"
)

type secret = redact.Secret

// planning collects what the bot needs, and everything that is wrong with it.
type planning struct {
	*wired
	config   *config.Config
	problems []string
}

func (p *planning) problem(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// flags puts the values of flags over those of the configuration.
func (p *planning) flags() {
	o, bot := p.wired.flags, &p.config.Bot
	switch d, err := time.ParseDuration(o.Interval); {
	case o.Interval == "":
	case o.Interval == "auto":
		bot.PollInterval = config.AutoDuration{Auto: true}
	case err != nil:
		p.problem("--interval: expected auto or a duration such as 30s, found %q", o.Interval)
	case d < intake.MinInterval:
		p.problem("--interval: expected at least %s, found %s", intake.MinInterval, o.Interval)
	default:
		bot.PollInterval = config.AutoDuration{D: d}
	}
	switch n, err := strconv.Atoi(o.Max); {
	case o.Max == "":
	case o.Max == "auto":
		bot.MaxConcurrent = config.AutoInt{Auto: true}
	case err != nil || n < 1:
		p.problem("--max: expected auto or a number from 1, found %q", o.Max)
	default:
		bot.MaxConcurrent = config.AutoInt{N: n}
	}
	if o.DryRun && o.Once {
		p.problem("--dry-run and --once exclude each other")
	}
}

// repositories finds out what is served.
func (p *planning) repositories(ctx context.Context) {
	o, c := p.wired.flags, p.config
	if p.options.Accounts == nil {
		return // without one, no repository can be named
	}
	names := o.Repos
	if len(o.Repos) == 0 && len(o.Orgs) == 0 {
		names, o.Orgs = c.Bot.Repos, c.Bot.Orgs
	}
	for _, name := range names {
		repo, err := request.ParseRepo(name, p.options.Host.Server)
		if err != nil {
			p.problem("%v", err)
			continue
		}
		p.options.Repos = append(p.options.Repos, repo)
	}
	for _, org := range o.Orgs {
		if !config.IsOrg(org) {
			p.problem("--org: expected an organisation's name, found %q", org)
		}
	}
	c.Bot.Orgs = o.Orgs
	if len(names) > 0 || len(o.Orgs) > 0 {
		return
	}
	repo, err := p.cloned(ctx)
	if err != nil {
		p.problem("no repository to serve: %v; name one with --repo owner/name or --org, or in bot.repos of your configuration", err)
		return
	}
	p.options.Repos = []ghsync.Repo{repo}
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

// webhook reads the secrets that sign deliveries.
func (p *planning) webhook() {
	variable := os.Getenv(intake.SecretVariable)
	_ = os.Unsetenv(intake.SecretVariable) // no child inherits it
	if p.wired.flags.Webhook == "" {
		return
	}
	secrets, err := intake.Secrets(p.config.Bot.WebhookSecretFile, variable)
	if err != nil {
		p.problem("%v", err)
		return
	}
	for _, s := range secrets {
		if err := p.finder.Redactor().AddSecret("webhook-secret", s); err != nil {
			p.problem("webhook secret: %v", err)
		}
	}
	p.secrets = secrets
}

// account finds the accounts and wires the bot to them.
func (p *planning) account() {
	h, err := hostOptions(p.finder, p.config)
	if err != nil {
		p.problem("%v", err)
		return
	}
	bases, err := account.Settle(p.config)
	if err != nil {
		p.problem("%v", err)
		return
	}
	book, err := account.Open(account.BookSpec{Config: p.config, Tokens: p.finder.Tokens, Redactor: p.finder.Redactor(), Log: h.Log})
	if err != nil {
		p.problem("%v", err)
		return
	}
	h.Server = bases.Server
	machine, slots := machineOf(p.config)
	p.options = bot.Options{
		Config: p.config, ConfigOf: configOf(p.finder, p.config), Host: h, Accounts: book, Repos: p.options.Repos, Machine: machine,
		Workflows: workflows.Shipped(), Slots: slots, Once: p.wired.flags.Once, Now: time.Now, Log: h.Log, SessionLog: sessionLog(p.finder, p.config),
	}
}

// machine looks for what this machine lacks for the configured workflow.
func (p *planning) machine(ctx context.Context) {
	if err := doctor.CheckPrograms(ctx); err != nil {
		p.problem("%v", err)
	}
	def, _, problems := workflows.Load(p.config.Defaults.Workflow, nil)
	if problems.Err() != nil {
		return // a file of the repositories
	}
	h, err := host.New(p.options.Host)
	if err != nil {
		return // account said it
	}
	if err := h.Preflight(p.config, def, false); err != nil {
		var missing *host.PreflightError
		if errors.As(err, &missing) {
			p.problems = append(p.problems, missing.Problems...)
			return
		}
		p.problem("%v", err)
	}
}
