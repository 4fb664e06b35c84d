package doctor

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/sight"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
)

// machineConfig are the layers of a configuration without that of a project.
func machineConfig(a *site.Finder) config.Sources {
	s := a.Sources("")
	s.Project = nil
	return s
}

// served is what the configuration has a bot serve; nothing in a clone, which is probed itself.
func served(ctx context.Context, a *site.Finder, dir string) (repos, orgs []string) {
	if _, err := clone.Inspect(ctx, dir); !errors.Is(err, clone.ErrNotClone) {
		return nil, nil
	}
	c, problems := config.Check(machineConfig(a))
	if problems.Err() != nil {
		return nil, nil
	}
	return c.Bot.Repos, c.Bot.Orgs
}

// probeBot probes this machine, and each repository and organisation that a bot would serve.
func probeBot(ctx context.Context, a *site.Finder, o Options) ([]Probe, error) {
	secret := os.Getenv(intake.SecretVariable)
	_ = os.Unsetenv(intake.SecretVariable) // no program that is probed inherits it
	probes := probeMachine(ctx)
	ready := !slices.ContainsFunc(probes, func(p Probe) bool { return p.State == Failed && (p.Name == "git" || p.Name == "state") })
	c, problems := config.Check(machineConfig(a))
	if problems.Err() != nil {
		return append(probes, row("config", Failed, strings.Join(problems.Errors().Lines(), "\n"), "correct the file; agentmux config check looks again")), nil
	}
	probes = append(probes, probeConfig(c, problems), probeSandbox(ctx, c), probeFiles(c))
	probes = append(probes, probeProviders(ctx, c, unattended())...)
	if o.Job == nil {
		probes = append(probes, probeSlots(ctx, c), probeSecrets(c, secret), probeStatus(ctx, c))
	}
	if o.Job != nil && o.Job.Silent != "" {
		return append(probes, skipped("github", o.Job.Silent+", so no request is sent", "")), nil
	}
	id, err := a.Identity(c)
	if err != nil {
		return append(probes, row("github", Failed, err.Error(), "agentmux config check")), nil
	}
	var repos []ghsync.Repo
	for _, name := range o.Repos {
		repo, err := request.ParseRepo(name, id.Bases.Server)
		if err != nil {
			return nil, exit.Usage(err)
		}
		repos = append(repos, repo)
	}
	if id.Tokens == nil && !account.ActsAsApp(c) {
		detail, hint := id.NoToken()
		return append(probes, row("github", Failed, detail, hint)), nil
	}
	if !ready {
		return append(probes, skipped("github", "git and the state directory have to work first", "")), nil
	}
	defer a.Waiting("GitHub")()
	b := &botProbe{finder: a, config: c, write: o.Write, job: o.Job != nil}
	for _, repo := range repos {
		probes = append(probes, b.repository(ctx, repo)...)
	}
	for _, org := range o.Orgs {
		probes = append(probes, b.organisation(ctx, org)...)
	}
	return probes, nil
}

// botProbe probes repositories one after the other.
type botProbe struct {
	finder *site.Finder
	config *config.Config
	write  bool
	job    bool // a job works on the repository, and polls nothing
	asked  bool // the server and, but for an App, the account, which is another in each repository
}

// reach returns the probe of one repository with its account. Without a repository it is of the account
// alone.
func (b *botProbe) reach(ctx context.Context, repo ghsync.Repo) (*githubProbe, []Probe) {
	id, err := b.finder.Identity(b.config)
	if err != nil {
		return nil, []Probe{row("github", Failed, err.Error(), "agentmux config check")}
	}
	id.Pause = account.ProbePause
	own, err := site.Self()
	if err != nil {
		return nil, []Probe{row("github", Failed, err.Error(), "")}
	}
	bare, err := host.New(host.Options{Self: own, StateHome: site.StateHome(), RuntimeDir: site.RuntimeDir(), Home: site.Home(), Server: id.Bases.Server})
	if err != nil {
		return nil, []Probe{row("github", Failed, err.Error(), "")}
	}
	g := &githubProbe{Site: &site.Site{Project: bare.Projects().ManagedDir(repo, b.config), Config: b.config, Identity: id}, write: b.write, bot: true}
	err = b.finder.Wire(ctx, g.Site, io.Discard, true)
	switch {
	case exit.As[*account.TokenError](err):
		return nil, []Probe{row("github", Failed, err.Error(), "")}
	case err != nil:
		return nil, []Probe{row("github", Failed, err.Error(), "agentmux config check")}
	}
	g.client = g.Host.GitHub
	return g, nil
}

// repository probes one repository. What holds for all of them is told once.
func (b *botProbe) repository(ctx context.Context, repo ghsync.Repo) []Probe {
	g, probes := b.reach(ctx, repo)
	if g == nil {
		return b.about(repo, probes)
	}
	general, ok := g.server(ctx)
	if b.asked {
		app := account.ActsAsApp(b.config)
		general = slices.DeleteFunc(general, func(p Probe) bool { return p.State == OK && (p.Name != "account" || !app) })
	}
	b.asked = b.asked || ok
	if !ok {
		return b.about(repo, general)
	}
	var err error
	if g.repo, err = g.client.Repository(ctx, repo.Owner, repo.Name); err != nil {
		return append(general, b.about(repo, []Probe{g.refused("repository", repo.String(), err)})...)
	}
	probes = []Probe{g.access()}
	if g.project, err = g.OpenProject(ctx); err != nil {
		probes = append(probes, row("base", Failed, err.Error(), "see that "+site.StateHome()+" can be written"))
	} else {
		probes = append(probes, g.contents(ctx)...)
	}
	if b.job {
		public := g.runner()
		public.Name = "public"
		probes = append(probes, public)
	} else {
		probes = append(probes, g.runner(), g.webhooks(ctx))
	}
	return append(general, b.about(g.repo.Repo, probes)...)
}

func (b *botProbe) about(repo ghsync.Repo, probes []Probe) []Probe {
	for i := range probes {
		probes[i].Repository = repo.String()
	}
	return probes
}

// organisation asks whether the account sees an organisation.
func (b *botProbe) organisation(ctx context.Context, org string) []Probe {
	const name = "organisation"
	if account.ActsAsApp(b.config) {
		return []Probe{skipped(name, org+": an App serves what it is installed on", "the App's page, Install App, shows where that is")}
	}
	if !config.IsOrg(org) {
		return []Probe{row(name, Failed, org+" is not the name of an organisation", "")}
	}
	g, probes := b.reach(ctx, ghsync.Repo{Owner: org, Name: "-"})
	if g == nil {
		return probes
	}
	if !b.asked {
		var ok bool
		if probes, ok = g.server(ctx); !ok {
			return probes
		}
		b.asked = true
	}
	if err := sight.Organisation(ctx, g.client, org); err != nil {
		return append(probes, g.refused(name, org, err))
	}
	return append(probes, passed(name, "%s is seen; the rows of a repository need --repo", org))
}

// runner says what a public repository means where agents run as the person.
func (g *githubProbe) runner() Probe {
	const name = "runner"
	switch {
	case g.repo.Private:
		return passed(name, "a private repository: those who may read it write what agents read")
	case !g.Host.Unsandboxed(g.Config):
		return passed(name, "a public repository, on a machine that ends with the job")
	case g.Config.Gate.PublicUnsandboxed:
		return row(name, Warning, "a public repository without a sandbox, allowed by gate.public_unsandboxed: anyone's text may reach agents that run as you, on a machine that stays",
			"serve it on a machine that is thrown away, or as a user that has nothing else")
	}
	return row(name, Warning, "a public repository without a sandbox: every request is refused",
		"gate: {public_unsandboxed: true} in your own configuration allows it; do so on a machine that is thrown away, or as a user that has nothing else")
}

// staleDelivery is how old the last delivery of a webhook may be.
const staleDelivery = 14 * 24 * time.Hour

// webhooks says how the deliveries of the repository's webhooks did. Polling covers what is lost.
func (g *githubProbe) webhooks(ctx context.Context) Probe {
	const name, covers = "webhooks", "polling covers it"
	hooks, known, err := sight.Webhooks(ctx, g.client, g.repo.Repo)
	switch {
	case err != nil:
		return skipped(name, "not read: "+account.LastWords(err), covers)
	case !known:
		return skipped(name, "only an admin may read them", "Settings -> Webhooks -> Recent Deliveries shows them; "+covers)
	case len(hooks) == 0:
		return skipped(name, "the repository has none", covers)
	}
	var lines []string
	state := OK
	for _, h := range hooks {
		line := h.URL
		switch {
		case !h.Active:
			line += ": off"
		case h.Last.IsZero():
			line += ": no delivery"
		default:
			line += ": the last delivery " + time.Since(h.Last).Round(time.Minute).String() + " ago"
			if h.Failures > 0 || time.Since(h.Last) > staleDelivery {
				state = Warning
			}
			if h.Failures > 0 {
				line += ", " + console.Counted(h.Failures, "failure", "failures") + " of " + console.Counted(h.Deliveries, "delivery", "deliveries")
			}
		}
		lines = append(lines, line)
	}
	if state == OK {
		return passed(name, "%s", strings.Join(lines, "\n"))
	}
	return row(name, state, strings.Join(lines, "\n"), "see the secret and the way to --webhook: Settings -> Webhooks -> Recent Deliveries; "+covers)
}
