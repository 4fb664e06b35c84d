package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot"
	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/ghsync/sight"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/workflows"
)

type secret = redact.Secret

// planning collects what the bot needs, and everything that is wrong with it.
type planning struct {
	*wired
	config   *config.Config
	known    func(keys ...string) bool // whether these could be read
	accounts *account.Book             // nil: there is none
	from     string                    // where its token is from
	problems []string
}

func (p *planning) problem(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// err is a usage error with all problems; nil without one.
func (p *planning) err() error {
	if len(p.problems) == 0 {
		return nil
	}
	return exit.UsageText(strings.Join(p.problems, "\n"))
}

// flags puts the values of flags over those of the configuration.
func (p *planning) flags() {
	o, bot := p.wired.flags, &p.config.Bot
	for _, name := range o.Empty {
		p.problem("--%s: expected a value, found %q: leave the flag out, or set the variable that its value is from", name, "")
	}
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

// webhook reads the secrets that sign deliveries.
func (p *planning) webhook() {
	variable := os.Getenv(intake.SecretVariable)
	_ = os.Unsetenv(intake.SecretVariable) // no child inherits it
	if p.wired.flags.Webhook == "" || !p.known("bot.webhook_secret_file") {
		return
	}
	secrets, err := intake.Secrets(p.config.Bot.WebhookSecretFile, variable)
	if err != nil {
		p.problem("%v", err)
		return
	}
	if len(secrets) == 0 {
		p.problem("--webhook: no secret signs the deliveries: write the line that openssl rand -hex 32 prints to a file of mode 600, " +
			"and name the file in bot.webhook_secret_file of your configuration; or set " + intake.SecretVariable)
	}
	for _, s := range secrets {
		if err := p.finder.Redactor().AddSecret("webhook-secret", s); err != nil {
			p.problem("webhook secret: %v", err)
		}
	}
	p.secrets = secrets
}

// host finds the server, and wires what every repository's host has. It reports whether the
// configuration names an account.
func (p *planning) host() (ok bool) {
	h, err := hostOptions(p.finder, p.config)
	if err != nil {
		p.problem("%v", err)
		return false
	}
	if !p.known("github") {
		p.options.Host = h
		return false
	}
	id, err := p.finder.Identity(p.config)
	if err != nil {
		p.problem("%v", err)
	}
	h.Server, p.from = id.Bases.Server, id.From
	h.Reach = sight.TokensAt(id.Bases, p.finder.Now).Private
	p.options.Host = h
	return err == nil
}

// account finds the accounts and wires the bot to them.
func (p *planning) account() {
	ok := p.host()
	h := p.options.Host
	machine, slots := machineOf(p.finder, p.config)
	p.options = bot.Options{
		Config: p.config, ConfigOf: configOf(p.finder, p.config, p.wired.flags.Job), Host: h, Machine: machine, Workflows: workflows.Shipped(),
		Slots: slots, Once: p.wired.flags.Once, Now: p.finder.Now, Log: h.Log, SessionLog: sessionLog(p.finder, p.config),
	}
	if !ok {
		return
	}
	book, err := account.Open(account.BookSpec{Config: p.config, Tokens: p.finder.Tokens, Redactor: p.finder.Redactor(), Log: h.Log})
	if err != nil {
		p.problem("%v", err)
		return
	}
	p.accounts, p.options.Accounts = book, book
}

// machine looks for what this machine lacks for the configured workflow.
func (p *planning) machine(ctx context.Context) {
	if err := doctor.CheckPrograms(ctx); err != nil {
		p.problem("%v", err)
	}
	if !p.known("defaults", "roles", "providers", "sandbox") {
		return
	}
	def, _, problems := workflows.Load(p.config.Defaults.Workflow, nil)
	if problems.Err() != nil {
		return // a file of the repositories
	}
	h, err := host.New(p.options.Host)
	if err != nil {
		return // account has said why
	}
	if err := h.Preflight(ctx, p.config, def, false); err != nil {
		var missing *host.PreflightError
		if errors.As(err, &missing) {
			p.problems = append(p.problems, missing.Problems...)
			return
		}
		p.problem("%v", err)
	}
}
