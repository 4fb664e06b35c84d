package start

import (
	"context"
	"fmt"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Issue makes a session of an issue and runs it, or continues the one there is.
func Issue(ctx context.Context, a *site.Finder, arg string, f *Options) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.Mirror && f.NoMirror {
		return exit.UsageText("--mirror and --no-mirror exclude each other")
	}
	if err := doctor.CheckPrograms(ctx); err != nil {
		return err
	}
	s, err := a.Open(ctx, &hostlog.Log{Terminal: a.Err})
	if err != nil {
		return err
	}
	s.Take = f.Take
	ref, err := request.ParseRef(arg, s.Identity.Bases.Server)
	if err != nil {
		return refused(err)
	}
	project, err := s.OpenProject(ctx)
	if err != nil {
		return site.ExplainProject(err, s.Project)
	}
	repo, err := issueRepo(ref, f.Repo, project, s.Identity.Bases.Server)
	if err != nil {
		return err
	}
	if !f.New && !f.Dry {
		done, err := existing(ctx, a, s, repo, ref.Number, f)
		if done || err != nil {
			return err
		}
	}
	if s.Host.GitHub == nil {
		detail, hint := s.Identity.NoToken()
		return exit.Usage(fmt.Errorf("%s; %s; agentmux doctor shows what was looked for", detail, hint))
	}
	p, err := planIssue(ctx, a, s, issueOf{project, repo, ref.Number}, f)
	if err != nil {
		return err
	}
	if f.Dry {
		return dryRun(ctx, a, s, p, f.AsJSON)
	}
	if done, err := notTwice(ctx, a, s, p, f); done || err != nil {
		return err
	}
	if !f.New {
		p.spec.Unless = func() error { return begun(ctx, s, repo, ref.Number) }
	}
	return launch(ctx, a, s, p, f)
}

// issueRepo returns the repository of the issue.
func issueRepo(ref request.Ref, flag string, p *project.Project, server string) (repo ghsync.Repo, err error) {
	switch {
	case flag != "":
		repo, err = request.ParseRepo(flag, server)
	case !p.GitHub:
		return repo, exit.Usage(fmt.Errorf("%s; agentmux run \"...\" works without an issue", site.NotOnServer(p, server)))
	default:
		repo, err = ref.In(p.Repo)
	}
	return repo, refused(err)
}

// refused turns an error that a person can correct in the request into a usage error.
func refused(err error) error {
	if exit.As[*request.Error](err) {
		return exit.Usage(err)
	}
	return err
}

// existing looks for a session of the issue, here or of the bot, that is not finished. done reports that it found one
// and dealt with it.
func existing(ctx context.Context, a *site.Finder, s *site.Site, repo ghsync.Repo, number int, f *Options) (done bool, err error) {
	entries, err := a.Of(ctx, repo.String())
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if !request.Of(e, repo, number) {
			continue
		}
		if believed, err := hosting.Believes(ctx, a, s, e); err != nil || !believed {
			if err != nil {
				return false, err
			}
			continue
		}
		switch means := request.Means(e, func() bool { return Owes(ctx, e) }); means {
		case request.Ending:
			return true, site.StillEnding(e)
		case request.Running:
			return true, atWork(e)
		case request.Owing, request.Unfinished:
			if means == request.Unfinished && !f.Take {
				if err := notBeside(ctx, a, s, repo, e); err != nil {
					return true, err
				}
			}
			return true, finish(ctx, a, s, e, means == request.Owing, f)
		}
	}
	return false, nil
}

// finish continues an old session of the issue, or says how it is continued. One that only owes
// something has ended.
func finish(ctx context.Context, a *site.Finder, s *site.Site, e session.Entry, owes bool, f *Options) error {
	whose := ""
	switch {
	case site.OfBot(e): // which knows what it is to be run with
		whose = " of agentmux bot"
	case owes:
		return hosting.Foreground(ctx, a, s, e.Dir, host.RunSpec{})
	case f.Headless || !a.Terminal:
		return hosting.Foreground(ctx, a, s, e.Dir, host.RunSpec{Resume: true})
	}
	return exit.Usage(fmt.Errorf("%s%s is not finished; agentmux resume %s continues it, --new starts another", e.Name, whose, e.Name))
}

// notBeside refuses to continue a session without a pull request if the issue has that of another one: it was made
// while this one had no host.
func notBeside(ctx context.Context, a *site.Finder, s *site.Site, repo ghsync.Repo, e session.Entry) error {
	if s.Host.GitHub == nil || e.State.Completion.PRNumber > 0 {
		return nil
	}
	stop := a.Waiting(fmt.Sprintf("GitHub about other work on %s#%d", repo, e.State.IssueNumber))
	pull, err := s.Host.GitHub.OpenPullOf(ctx, repo, e.State.IssueNumber)
	stop()
	switch {
	case err != nil:
		return site.ExplainGitHub(err, "the pull requests of "+repo.String(), s.Identity.From)
	case pull == nil || pull.Session == orchestrator.PublicID(e.State.SessionID, e.State.Identity):
		return nil // one of its own is there if a kill kept it from noting that
	}
	return exit.Usage(fmt.Errorf("%s#%d has the open pull request #%d, %s, of another session than %s, which has none; agentmux resume %s --take continues that all the same",
		repo, e.State.IssueNumber, pull.Number, pull.URL, e.Name, e.Name))
}

func atWork(e session.Entry) error {
	return &exit.Error{Code: exit.Locked, Err: fmt.Errorf("%s works on it already; agentmux attach %s", e.Name, e.Name)}
}

// begun fails if another command has made a session of the issue since existing was called: people
// start a command again if it seems to do nothing.
func begun(ctx context.Context, s *site.Site, repo ghsync.Repo, number int) error {
	entries, err := session.List(s.Project)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if request.Of(e, repo, number) && request.Means(e, func() bool { return false }) != request.Finished && s.Host.Trust(ctx, e.Dir, e.State, s.Config) == nil {
			return atWork(e)
		}
	}
	return nil
}
