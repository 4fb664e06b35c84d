package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/installation"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// githubProbe asks one server about one account and one repository.
type githubProbe struct {
	*site.Site
	client  *ghsync.Client
	project *project.Project
	repo    ghsync.Repository
	meta    ghsync.Meta
	base    project.Base
	survey  project.Survey
	write   bool
	bot     bool // a bot serves the repository, and there is no clone
}

// fatalToBot is the state of what a bot cannot do without, and a person can.
func (g *githubProbe) fatalToBot() string {
	if g.bot {
		return Failed
	}
	return Warning
}

// maxSkew is how far the clocks may be apart: leases and an App's claims fail beyond that.
const maxSkew = 30 * time.Second

// probeGitHub asks the server, the token and the repository of origin.
func probeGitHub(ctx context.Context, a *site.Finder, c *config.Config, project string, write bool) []Probe {
	id, err := a.Identity(c)
	if err != nil {
		return []Probe{row("github", Failed, err.Error(), "agentmux config check")}
	}
	if id.Tokens == nil && !account.ActsAsApp(c) {
		detail, hint := id.NoToken()
		return []Probe{row("github", Warning, strings.Replace(detail, "no GitHub token", "no token", 1), hint+"; agentmux run works without")}
	}
	id.Pause = account.ProbePause
	g := &githubProbe{Site: &site.Site{Project: project, Config: c, Identity: id}, write: write}
	err = a.Wire(ctx, g.Site, io.Discard, true)
	var bad *account.TokenError
	switch {
	case errors.As(err, &bad):
		_, hint := id.NoToken()
		return []Probe{row("github", Failed, bad.Error(), hint)}
	case err != nil:
		return []Probe{row("github", Failed, err.Error(), "agentmux config check")}
	}
	if g.client = g.Host.GitHub; g.client == nil {
		return []Probe{row("github", Warning, "origin is not on "+id.Bases.Server, "an App works for a repository there: git remote -v, github.host")}
	}
	var elsewhere []Probe
	if g.project, err = g.OpenProject(ctx); err != nil || !g.project.GitHub {
		elsewhere = []Probe{row("repository", Warning, "origin is not on "+id.Bases.Server, "set github.host, or work without pull requests")}
		if at := site.OtherServer(originOf(g.project), id.Bases.Server); at != "" && c.Layer("github.host") == config.LayerBuiltIn {
			return elsewhere // no configuration names the token's server
		}
	}
	defer a.Waiting("GitHub")()
	probes, ok := g.server(ctx)
	if !ok || elsewhere != nil {
		return append(probes, elsewhere...)
	}
	return append(probes, g.repository(ctx)...)
}

// originOf returns the address of a project's clone; "" without one.
func originOf(p *project.Project) string {
	if p == nil {
		return ""
	}
	return p.Clone.Origin
}

// server probes the address, the clock and the account. ok is false if nothing more can
// be asked.
func (g *githubProbe) server(ctx context.Context) (probes []Probe, ok bool) {
	api := g.Identity.Bases.API
	var err error
	if g.meta, err = g.client.Meta(ctx); err != nil {
		return []Probe{g.refused("github", api, err)}, false
	}
	detail := api
	if g.meta.Version != "" {
		detail += ", version " + g.meta.Version
	}
	probes = append(probes, passed("github", "%s, %s", detail, quotaText(g.client.Quotas())))
	clock := passed("clock", "%s apart from the server's", g.meta.Skew.Abs())
	if g.meta.Skew.Abs() > maxSkew {
		clock.State, clock.Hint = Failed, "set this machine's clock by NTP: timedatectl set-ntp true"
	}
	probes = append(probes, clock)
	viewer, err := g.client.Viewer(ctx)
	if err != nil {
		return append(probes, g.refused("account", api, err)), false
	}
	return append(probes, passed("account", "as %s, token from %s", viewer.Login, g.Identity.From)), true
}

func quotaText(quotas map[string]transport.Quota) string {
	q, ok := quotas["core"]
	if !ok || q.Limit == 0 {
		return "no limits named"
	}
	return fmt.Sprintf("%d of %d requests left until %s", q.Remaining, q.Limit, q.Reset.Local().Format("15:04"))
}

func (g *githubProbe) refused(name, what string, err error) Probe {
	detail, hint := account.Words(err, what, g.Identity.From)
	if before, _, found := strings.Cut(hint, "agentmux doctor"); found { // this command
		hint = strings.TrimRight(before, "; :")
	}
	return row(name, Failed, detail, cmp.Or(hint, "use a token that may do more"))
}

// repository probes everything about origin's repository.
func (g *githubProbe) repository(ctx context.Context) []Probe {
	var err error
	if g.repo, err = g.client.Repository(ctx, g.project.Repo.Owner, g.project.Repo.Name); err != nil {
		return []Probe{g.refused("repository", g.project.Repo.String(), err)}
	}
	return append([]Probe{g.access()}, g.contents(ctx)...)
}

// contents probes what is in the repository that was read, and what holds for it.
func (g *githubProbe) contents(ctx context.Context) (probes []Probe) {
	var err error
	if g.base, err = g.project.Base(ctx, g.Config, ""); err != nil {
		return append(probes, noBase(err))
	}
	if g.survey, err = g.project.Survey(ctx, g.base.SHA, g.branch()); err != nil {
		return append(probes, row("base", Failed, err.Error(), "git fsck in "+g.project.Clone.Root))
	}
	probes = append(probes, g.permissions(ctx)...)
	probes = append(probes, g.label(ctx), g.refs(ctx), g.prefix(ctx), g.rules(ctx), g.checks())
	probes = append(probes, g.actionsSetting(ctx)...)
	return append(probes, g.features()...)
}

// noBase says why there is nothing to start from.
func noBase(err error) Probe {
	if detail, hint, ok := strings.Cut(err.Error(), "; "); ok && (errors.Is(err, project.ErrNoCommit) || errors.Is(err, project.ErrBaseBranch)) {
		return row("base", Failed, detail, hint)
	}
	return row("base", Failed, err.Error(), "git fetch shows whether the server lets this account read")
}

// branch is an example of what a session pushes.
func (g *githubProbe) branch() string { return g.Config.GitHub.BranchPrefix + "probe" }

// access names the repository and says whether the account may write.
func (g *githubProbe) access() Probe {
	kind := "public"
	if g.repo.Private {
		kind = "private"
	}
	detail := fmt.Sprintf("%s, %s, default branch %s", g.repo.Repo, kind, g.repo.DefaultBranch)
	switch {
	case g.repo.Archived:
		return row("repository", Failed, detail+", archived", "nothing can be written to an archived repository: unarchive it")
	case !g.Identity.MayPush(g.repo) && g.bot:
		return row("repository", Failed, detail+"; this account may not write", "a bot claims issues and pushes branches: give the account write permission")
	case !g.Identity.MayPush(g.repo):
		return row("repository", Warning, detail+"; this account may not write", "a run ends with a branch in this clone and the line that proposes it; ask for write permission")
	}
	found := passed("repository", "%s, may write", detail)
	if g.repo.AccessUntold && g.Identity.Tokens.Mode() != transport.ModeApp {
		found.Detail = detail + "; the server does not tell what an App's token may write"
	}
	if g.repo.Fork && g.repo.ParentName != "" {
		parent := g.repo.ParentOwner + "/" + g.repo.ParentName
		found.Detail += ", fork of " + parent
		found.Hint = "its issues: agentmux issue N --repo " + parent
	}
	return found
}

// needed are the permissions of a token, with what does not work without them.
var needed = []struct {
	permission, level, name, without string
	optional                         bool
}{
	{"contents", "write", "Contents", "nothing can be pushed", false},
	{"issues", "write", "Issues", "no comment or label can be written on the issue", false},
	{"pull_requests", "write", "Pull requests", "no pull request can be opened", false},
	{"statuses", "write", "Commit statuses", "the review's verdict is not shown on the commit", true},
	{"actions", "read", "Actions", "logs of failed checks cannot be read", true},
	{"checks", "read", "Checks", "failed checks are not seen", true},
}

// permissions names what the token lacks, and what it has and does not need.
func (g *githubProbe) permissions(ctx context.Context) []Probe {
	lacks, told, err := g.lacking(ctx)
	if err != nil {
		return []Probe{g.refused("permissions", g.repo.Repo.String(), err)}
	}
	var probes []Probe
	for _, n := range needed {
		level, lacking := lacks[n.permission]
		if !lacking {
			continue
		}
		state := Failed
		if n.optional || !g.Identity.MayPush(g.repo) && level == "write" {
			state = Warning
		}
		probes = append(probes, row("permissions", state, n.permission+": "+n.level+" is missing: "+n.without, g.howToAdd(n.permission, n.name, n.level)))
	}
	if len(probes) == 0 {
		probes = append(probes, passed("permissions", "%s", told))
	}
	if excess := g.excess(); len(excess) > 0 {
		probes = append(probes, row("permissions", Warning, "the token may also do what agentmux never needs: "+strings.Join(excess, ", "),
			"a token without it can do less harm"))
	}
	return probes
}

// lacking maps permissions to the level that is missing. told says what else is known of the
// token.
func (g *githubProbe) lacking(ctx context.Context) (lacks map[string]string, told string, err error) {
	lacks = map[string]string{}
	if app, ok := g.Identity.Tokens.(*installation.Installation); ok {
		for _, missing := range app.Missing() {
			name, level, _ := strings.Cut(missing, ":")
			lacks[name] = level
		}
		granted := app.Granted()
		var list []string
		for _, n := range needed {
			list = append(list, n.permission+": "+granted[n.permission])
		}
		return lacks, strings.Join(list, ", "), nil
	}
	if g.meta.Classic {
		if !g.scoped() {
			for _, n := range needed {
				lacks[n.permission] = n.level
			}
		}
		return lacks, "scopes " + strings.Join(g.meta.Scopes, ", "), nil
	}
	refused, err := g.client.Unreadable(ctx, g.repo.Repo, g.base.SHA)
	if err != nil {
		return nil, "", err
	}
	told = "reading is allowed; writing shows with --write"
	if g.write {
		more, err := g.client.Unwritable(ctx, g.repo.Repo, g.repo.DefaultBranch)
		if err != nil {
			return nil, "", err
		}
		refused, told = append(refused, more...), "reading is allowed, pull requests and statuses may be written"
	}
	for _, r := range refused {
		lacks[r.Permission] = r.Level
	}
	return lacks, told, nil
}

// scoped reports whether the scopes of a classic token are enough.
func (g *githubProbe) scoped() bool {
	return slices.Contains(g.meta.Scopes, "repo") || !g.repo.Private && slices.Contains(g.meta.Scopes, "public_repo")
}

// howToAdd says where a permission is given, which depends on the kind of the token.
func (g *githubProbe) howToAdd(permission, name, level string) string {
	word := map[string]string{"read": "Read-only", "write": "Read and write"}[level]
	switch mode := g.Identity.Tokens.Mode(); {
	case mode == transport.ModeApp:
		return fmt.Sprintf("in the App's settings, Permissions & events -> Repository permissions -> %s: %s; then accept it where the App is installed", name, word)
	case mode == transport.ModeActions:
		return fmt.Sprintf("add to the job: permissions: {%s: %s}", strings.ReplaceAll(permission, "_", "-"), level)
	case g.meta.Classic && mode == transport.ModeGH:
		return "gh auth refresh -h " + g.serverName() + " -s repo"
	case g.meta.Classic:
		return "add the scope repo to the token, or make a fine-grained one for this repository"
	}
	return fmt.Sprintf("edit the token: Repository permissions -> %s: %s", name, word)
}

func (g *githubProbe) serverName() string {
	if u, err := url.Parse(g.Identity.Bases.Server); err == nil && u.Host != "" {
		return u.Host
	}
	return g.Config.GitHub.Host
}

// harmful are scopes and permissions that only widen what a stolen token could do.
var harmful = []string{
	"workflow", "workflows", "administration", "secrets", "organization_administration", "delete_repo", "admin:org", "admin:repo_hook",
	"admin:org_hook", "admin:enterprise", "site_admin", "write:packages", "delete:packages",
}

func (g *githubProbe) excess() []string {
	have := g.meta.Scopes
	if app, ok := g.Identity.Tokens.(*installation.Installation); ok {
		for name := range app.Granted() {
			have = append(have, name)
		}
	}
	var list []string
	for _, name := range harmful {
		if slices.Contains(have, name) {
			list = append(list, name)
		}
	}
	return list
}
