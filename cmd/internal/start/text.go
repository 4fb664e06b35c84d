package start

import (
	"context"

	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/site"
)

// Text makes a session of a text or a file and runs it.
func Text(ctx context.Context, a *site.Finder, arg string, f *Options) error {
	if err := f.check(); err != nil {
		return err
	}
	text, title, err := request.ReadText(arg)
	if err != nil {
		return refused(err)
	}
	if err := doctor.CheckPrograms(ctx); err != nil {
		return err
	}
	s, err := a.Open(ctx, &hostlog.Log{Terminal: a.Err})
	if err != nil {
		return err
	}
	project, err := s.OpenProject(ctx)
	if err != nil {
		return site.ExplainProject(err, s.Project)
	}
	p := &planned{push: s.Host.GitHub != nil && project.GitHub}
	if p.push {
		stop := a.Waiting("GitHub about " + project.Repo.String())
		repo, err := s.Host.GitHub.Repository(ctx, project.Repo.Owner, project.Repo.Name)
		stop()
		if err != nil {
			return site.ExplainGitHub(err, project.Repo.String(), s.Identity.From)
		}
		p.push = s.Identity.MayPush(repo)
	}
	if p.spec, err = basicSpec(ctx, a, s, project, f); err != nil {
		return err
	}
	p.spec.Request, p.spec.Title = text, title
	if f.Dry {
		return dryRun(ctx, a, s, p, f.AsJSON)
	}
	return launch(ctx, a, s, p, f)
}
