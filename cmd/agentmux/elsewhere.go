package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// notTwice refuses a start that would make a second pull request for an issue: one of an
// earlier session is open, or another host is at work. --new and --take say that it is meant.
func notTwice(ctx context.Context, a *app, s *site.Site, p *planned, f *runFlags) error {
	if !p.push || !s.Config.GitHub.Push {
		return nil
	}
	what := fmt.Sprintf("%s#%d", p.spec.Repo, p.record.Issue.Number)
	stop := a.Waiting("GitHub about other work on " + what)
	defer stop()
	if !f.take {
		if err := runningElsewhere(ctx, s, p, what); err != nil {
			return err
		}
	}
	prefix := fmt.Sprintf("%sissue-%d-", s.Config.GitHub.BranchPrefix, p.record.Issue.Number)
	if f.new || named(s, f) || !shownBefore(p.record) && !p.spec.Project.MayHaveBranch(ctx, prefix) {
		return nil
	}
	pull, err := s.Host.GitHub.OpenPullOf(ctx, p.spec.Repo, p.record.Issue.Number)
	if err != nil {
		return site.ExplainGitHub(err, "the pull requests of "+p.spec.Repo.String(), s.Identity.From)
	}
	if pull == nil {
		return nil
	}
	return exit.Usage(fmt.Errorf("%s has the open pull request #%d, %s; agentmux resume '#%d' --changes \"...\" in the clone of its session has it changed, --new starts another",
		what, pull.Number, pull.URL, p.record.Issue.Number))
}

// named reports whether a session has the name that was asked for: that is said first.
func named(s *site.Site, f *runFlags) bool {
	if f.name == "" {
		return false
	}
	_, err := session.Find(s.Project, f.name, nil)
	return err == nil
}

// shownBefore reports whether a comment looks as if a session had written it.
func shownBefore(r ghsync.Record) bool {
	return slices.ContainsFunc(r.Comments, func(c ghsync.Comment) bool {
		_, marked := ghsync.ParseMarker(c.Body)
		return marked
	})
}

// runningElsewhere refuses an issue whose label says that a session is at work which is not
// one of this clone.
func runningElsewhere(ctx context.Context, s *site.Site, p *planned, what string) error {
	label := ghsync.RunningLabel(s.Config.Bot.Label)
	if !p.record.Issue.HasLabel(label) {
		return nil
	}
	id, host, comment, err := s.Host.GitHub.StatusOf(ctx, p.record)
	if err != nil {
		return site.ExplainGitHub(err, what, s.Identity.From)
	}
	entries, err := session.List(s.Project)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if id != "" && e.State != nil && e.State.SessionID == id {
			return nil // and it is not at work, or it would have been found before
		}
	}
	where := "another host"
	if host != "" {
		where = "host " + host
	}
	shown := ""
	if id != "" {
		shown = fmt.Sprintf(", session %s, last shown at %s, %s", id, comment.EditedAt.Local().Format("2006-01-02 15:04"), comment.URL)
	}
	return &exit.Error{Code: exit.Locked, Err: fmt.Errorf("%s has the label %s: %s works on it%s; agentmux attach there joins it, --take starts here if that host is gone",
		what, label, where, shown)}
}
