package start

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/recall"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// planned is a session that was judged and is not made yet.
type planned struct {
	spec   host.PrepareSpec
	judge  request.Judge
	judged *request.Judged // nil without an issue
	push   bool            // the account may write to the repository
}

// issueOf names an issue for a clone.
type issueOf struct {
	project *project.Project
	repo    ghsync.Repo
	number  int
}

func planIssue(ctx context.Context, a *site.Finder, s *site.Site, of issueOf, f *Options) (*planned, error) {
	judge := judgeOf(a, s, f.Workflow)
	judged, err := judge.Issue(ctx, of.repo, of.number, of.project.Repo)
	if err != nil {
		return nil, refusedOr(err, fmt.Sprintf("%s#%d", of.repo, of.number), s)
	}
	for _, warning := range judged.Warnings {
		a.Say("%s", warning)
	}
	spec, err := basicSpec(ctx, a, s, of.project, f)
	if err != nil {
		return nil, err
	}
	if judged.Snapshot.Base, err = of.project.Unseen(ctx, spec.Base.SHA); err != nil {
		return nil, err
	}
	p := &planned{spec: spec, judge: judge, judged: judged, push: judged.Push}
	issue := judged.Record.Issue
	p.spec.Snapshot, p.spec.Repo, p.spec.Title, p.spec.Locked = &judged.Snapshot, of.repo, string(issue.Title), issue.Locked
	p.spec.Workflow = judged.Workflow
	p.spec.Quiet = f.NoMirror
	p.spec.Mirror = judged.Mirrored(f.Mirror, f.NoMirror, s.Config.GitHub.Mirror)
	return p, nil
}

// judgeOf returns what decides about issues; workflow is the one that is named, "" for none.
func judgeOf(a *site.Finder, s *site.Site, workflow string) request.Judge {
	return request.Judge{
		GitHub: s.Host.GitHub, Push: s.Config.GitHub.Push, MayPush: s.Identity.MayPush, Waiting: a.Waiting,
		Rules: gate.Rules{Bot: s.Config.Bot, Gate: s.Config.Gate, Named: workflow, Unsandboxed: s.Host.Unsandboxed(s.Config)},
	}
}

// refusedOr turns a refused request into a usage error, and explains an error of GitHub about what.
func refusedOr(err error, what string, s *site.Site) error {
	if exit.As[*request.Error](err) {
		return exit.Usage(err)
	}
	return site.ExplainGitHub(err, what, s.Identity.From)
}

// notTwice refuses a start that would lead to a second pull request for an issue: one of an
// earlier session is open, or another host works on it. --new and --take allow it. The session of a host
// that is gone is continued from its checkpoint: done says that this was done.
func notTwice(ctx context.Context, a *site.Finder, s *site.Site, p *planned, f *Options) (done bool, err error) {
	if !p.push {
		return false, nil
	}
	left, err := unclaimed(ctx, a, s, p)
	if err != nil {
		return false, err
	}
	if left != nil && left.Claim.State != claim.Queued && !f.New {
		if done, err := takeOver(ctx, a, s, p, f, ""); done || err != nil {
			return done, err
		}
	}
	if err := notPulled(ctx, a, s, p, f); err != nil || left != nil || f.New {
		return false, err
	}
	name, err := waits(ctx, a, s, p)
	if err != nil || name == "" {
		return false, err
	}
	return takeOver(ctx, a, s, p, f, name)
}

// waits returns the session that waits for a person on no machine that has the issue, and is not on this one, by its name on the
// server: the one that the issue shows, while its label says so. A park gives the claim back, so no claim tells of it.
func waits(ctx context.Context, a *site.Finder, s *site.Site, p *planned) (string, error) {
	labels, prefix := p.judged.Record.Issue.Labels, s.Config.Bot.Label+":"
	if !slices.Contains(labels, prefix+ghsync.LabelNeedsHuman) && !slices.Contains(labels, prefix+ghsync.LabelFailed) {
		return "", nil
	}
	stop := a.Waiting("GitHub about the session of " + p.judged.String())
	defer stop()
	own, err := s.Host.GitHub.Viewer(ctx)
	if err != nil {
		return "", site.ExplainGitHub(err, p.judged.String(), s.Identity.From)
	}
	name, err := recall.Shown(ctx, p.judged.Record, recall.Believes(own, func(ctx context.Context, login string) (ghsync.Permission, error) {
		return s.Host.GitHub.CurrentPermission(ctx, p.spec.Repo, login)
	}))
	if err != nil {
		return "", site.ExplainGitHub(err, p.judged.String(), s.Identity.From)
	}
	entries, err := a.Of(ctx, p.spec.Repo.String())
	if slices.ContainsFunc(entries, func(e session.Entry) bool {
		return e.State != nil && orchestrator.PublicID(e.State.SessionID, e.State.Identity) == name
	}) {
		return "", err // it has ended here, or is corrupt: a person asks for another one
	}
	return name, err
}

// unclaimed returns the claim of a host that is gone; nil if the issue is not claimed. It fails if a
// host works on it.
func unclaimed(ctx context.Context, a *site.Finder, s *site.Site, p *planned) (left *claim.Seen, err error) {
	stop := a.Waiting("GitHub about other work on " + p.judged.String())
	defer stop()
	return hosting.NotClaimed(ctx, s, p.spec.Repo, p.judged.Snapshot.RepoID, p.judged.Record.Issue.Number)
}

// takeOver continues a session that another host has left from its checkpoint: the named one, else that of the claim. done is false
// if it has no checkpoint.
func takeOver(ctx context.Context, a *site.Finder, s *site.Site, p *planned, f *Options, name string) (done bool, err error) {
	of := hosting.Restoring{Repo: p.spec.Repo, RepoID: p.judged.Snapshot.RepoID, Issue: p.judged.Record.Issue.Number, Session: name}
	dir, err := hosting.Restore(ctx, a, s, of)
	if errors.Is(err, checkpoint.ErrNone) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	e, err := session.Find(s.Project, dir, nil)
	if err != nil {
		return true, err
	}
	a.Say("%s is continued from its checkpoint", e.Name)
	return true, resume(ctx, a, resumed{entry: e, spec: host.RunSpec{Resume: true}, headless: f.Headless})
}

// notPulled refuses an issue that has a pull request of an earlier session, or a label of one that runs.
func notPulled(ctx context.Context, a *site.Finder, s *site.Site, p *planned, f *Options) error {
	stop := a.Waiting("GitHub about other work on " + p.judged.String())
	defer stop()
	if !f.Take {
		if err := notElsewhere(ctx, s, p); err != nil {
			return err
		}
	}
	prefix := fmt.Sprintf("%sissue-%d-", s.Config.GitHub.BranchPrefix, p.judged.Record.Issue.Number)
	if f.New || named(s, f) || !p.judged.ShownBefore() && !p.spec.Project.MayHaveBranch(ctx, prefix) {
		return nil
	}
	if err := p.judge.OpenPull(ctx, p.judged); err != nil {
		return refusedOr(err, "the pull requests of "+p.spec.Repo.String(), s)
	}
	return nil
}

// named reports whether a session has the name of --name already. That error comes first.
func named(s *site.Site, f *Options) bool {
	if f.Name == "" {
		return false
	}
	_, err := session.Find(s.Project, f.Name, nil)
	return err == nil
}

// notElsewhere refuses an issue whose label says that a session runs, if that is not one of this
// clone.
func notElsewhere(ctx context.Context, s *site.Site, p *planned) error {
	elsewhere, err := p.judge.Elsewhere(ctx, p.judged)
	if err != nil {
		return site.ExplainGitHub(err, p.judged.String(), s.Identity.From)
	}
	if elsewhere == nil {
		return nil
	}
	entries, err := session.List(s.Project)
	if err != nil || elsewhere.Among(entries) {
		return err
	}
	return &exit.Error{Code: exit.Locked, Err: elsewhere}
}
