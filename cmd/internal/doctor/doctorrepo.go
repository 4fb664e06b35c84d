package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// label looks for the label that asks for a session.
func (g *githubProbe) label(ctx context.Context) Probe {
	name, repo := g.Config.Bot.Label, g.repo.Repo
	line := fmt.Sprintf("gh label create %s --color %s --repo %s", name, request.LabelColor, repo)
	if g.write {
		made, err := g.client.EnsureLabel(ctx, repo, request.Label(name))
		switch {
		case err != nil:
			return row("label", Failed, "labels cannot be made: "+account.LastWords(err), g.howToAdd("issues", "Issues", "write"))
		case made:
			return passed("label", "%s made%s", name, g.stateLabels(ctx))
		}
		return passed("label", "%s is there%s", name, g.stateLabels(ctx))
	}
	there, err := g.client.HasLabel(ctx, repo, name)
	switch {
	case err != nil:
		return row("label", Warning, "not read: "+account.LastWords(err), g.howToAdd("issues", "Issues", "write"))
	case !there:
		return row("label", Warning, "the repository has no label "+name, "agentmux doctor --write makes it, or "+line)
	}
	return passed("label", "%s is there", name)
}

// stateLabels makes the labels that say where a session is, and says how many.
func (g *githubProbe) stateLabels(ctx context.Context) string {
	n, err := g.client.EnsureLabels(ctx, g.repo.Repo, ghsync.StateLabels(g.Config.Bot.Label))
	if err != nil || n == 0 {
		return "" // GitHub makes them when they are first used
	}
	return ", and " + console.Counted(n, "state label", "state labels") + " made"
}

// refs tries to push a ref outside of branches and tags. Sessions of one machine do not need it.
func (g *githubProbe) refs(ctx context.Context) Probe {
	const name = "refs"
	if g.Config.Bot.SingleHost {
		return skipped(name, "bot.single_host: claims are locks of this machine", "let no other machine work on this repository")
	}
	if !g.write {
		return skipped(name, "whether the server takes refs/agentmux/*", "agentmux doctor --write makes one and deletes it")
	}
	err := g.project.ProbeRefs(ctx, g.base.SHA)
	var push *remote.PushError
	switch {
	case err == nil:
		return passed(name, "the server takes refs/agentmux/*")
	case errors.As(err, &push) && push.Kind == remote.PushDenied:
		return row(name, Failed, "nothing can be pushed: "+push.Text, g.howToAdd("contents", "Contents", "write"))
	case errors.As(err, &push) && push.Kind == remote.PushNetwork:
		return row(name, Failed, "the push broke off: "+push.Text, "try again; a proxy between may refuse pushes")
	case errors.As(err, &push):
		return row(name, g.fatalToBot(), "the server refuses refs/agentmux/*: "+push.Text,
			"several hosts cannot share its issues: set bot.single_host: true in your own configuration")
	}
	return row(name, Failed, err.Error(), "git push says more")
}

// prefix looks for a branch whose name blocks those of sessions: a/b cannot exist beside a.
func (g *githubProbe) prefix(ctx context.Context) Probe {
	const name = "branch"
	prefix := g.Config.GitHub.BranchPrefix
	parts := strings.Split(strings.TrimSuffix(prefix, "/"), "/")
	if !strings.HasSuffix(prefix, "/") {
		parts = parts[:len(parts)-1]
	}
	for i := range parts {
		branch := strings.Join(parts[:i+1], "/")
		taken, err := g.client.HasBranch(ctx, g.repo.Repo, branch)
		switch {
		case err != nil:
			return row(name, Warning, "not read: "+account.LastWords(err), g.howToAdd("contents", "Contents", "write"))
		case taken:
			return row(name, Failed, "a branch is named "+branch+", so none can be named "+branch+"/...", "rename that branch, or set github.branch_prefix")
		}
	}
	return passed(name, "%s* is free", prefix)
}

// harmless are rules that do not affect a session: it neither rewrites nor deletes.
var harmless = []string{"deletion", "non_fast_forward", "code_scanning", "copilot_code_review"}

func (g *githubProbe) rules(ctx context.Context) Probe {
	const name = "rules"
	types, err := g.client.BranchRules(ctx, g.repo.Repo, g.branch())
	if err != nil {
		return skipped(name, "not read: "+account.LastWords(err), "Settings -> Rules shows them")
	}
	types = slices.DeleteFunc(types, func(t string) bool { return slices.Contains(harmless, t) })
	if len(types) == 0 {
		return passed(name, "none in the way of %s*", g.Config.GitHub.BranchPrefix)
	}
	return row(name, Warning, "rules hold for "+g.Config.GitHub.BranchPrefix+"*: "+strings.Join(types, ", "),
		"put this account on the ruleset's bypass list, or set github.branch_prefix to what the rules leave free")
}

// checks says whether workflows run on the pull requests of sessions.
func (g *githubProbe) checks() Probe {
	var files []string
	for _, w := range g.survey.Workflows {
		files = append(files, w.File+" ("+strings.Join(w.Events, ", ")+")")
	}
	switch {
	case len(files) == 0:
		return passed("checks", "no: no workflow at the base runs on our branches or pull requests")
	case g.Identity.Tokens.Mode() == transport.ModeActions:
		return row("checks", Warning, "after a click: "+strings.Join(files, ", "), "what a job's own token pushes starts nothing by itself; use an App")
	}
	return passed("checks", "yes: %s", strings.Join(files, ", "))
}

// actionsSetting says whether a job's own token may open pull requests, which matters only for
// such a token, and which workflows pass secrets to the branches of sessions.
func (g *githubProbe) actionsSetting(ctx context.Context) []Probe {
	const where = "Settings -> Actions -> General -> Allow GitHub Actions to create and approve pull requests"
	may, known, err := g.client.ActionsOpenPulls(ctx, g.repo.Repo)
	ours := g.Identity.Tokens.Mode() == transport.ModeActions
	var setting Probe
	switch {
	case err != nil || !known:
		setting = skipped("actions", "whether jobs may open pull requests: only an admin may read it", "")
	case may:
		setting = passed("actions", "jobs may open pull requests")
	default:
		setting = passed("actions", "jobs may not open pull requests")
	}
	if ours && !may {
		setting.Hint = where
		if known {
			setting.State = Failed
		}
	}
	probes := []Probe{setting}
	for _, w := range g.survey.Workflows {
		hint := "keep it from our branches, or put the secret in an environment with reviewers"
		if slices.Contains(w.Events, "push") {
			hint = "branches-ignore: ['" + g.Config.GitHub.BranchPrefix + "**'] under on.push, or an environment with reviewers"
		}
		for _, use := range w.Secrets {
			what := "the secret " + use.Name
			if use.Name == "" {
				what = "all secrets"
			}
			probes = append(probes, row("secrets", Warning,
				fmt.Sprintf("%s:%d gives %s to code of our branches (%s)", w.File, use.Line, what, strings.Join(w.Events, ", ")), hint))
		}
	}
	if len(probes) == 1 {
		probes = append(probes, passed("secrets", "no workflow gives one to our branches"))
	}
	return probes
}

// features names what the repository lacks and what agents will not see.
func (g *githubProbe) features() []Probe {
	base := passed("base", "%s at %.12s", g.base.Branch, g.base.SHA)
	if g.survey.Submodules+g.survey.LFS > 0 {
		base = row("base", Warning, fmt.Sprintf("%s; %s, %s: agents see none of their content", base.Detail,
			console.Counted(g.survey.Submodules, "submodule", "submodules"), console.Counted(g.survey.LFS, "LFS file", "LFS files")), "what your clone has of them is copied in local runs")
	}
	drafts := passed("drafts", "yes")
	if g.repo.Private {
		drafts = skipped("drafts", "a private repository has them by its plan", "without them titles begin with [draft]")
	}
	issues := passed("issues", "enabled")
	if !g.repo.HasIssues {
		issues = row("issues", g.fatalToBot(), "the repository has none", "Settings -> General -> Features -> Issues; agentmux run works without")
	}
	probes := []Probe{base, drafts, issues}
	if os.Getenv("RUNNER_ENVIRONMENT") == "self-hosted" && !g.repo.Private && !g.bot {
		probes = append(probes, row("runner", Warning, "a public repository on a runner that stays", "anyone's code could stay on it: use an ephemeral runner"))
	}
	return probes
}
