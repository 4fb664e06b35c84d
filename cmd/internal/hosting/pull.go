package hosting

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/feedback"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// PullOpen fails if the session is done and its pull request is not open any more: a round of changes would lead nowhere.
// Whether it is open only GitHub knows, so it is asked before anything begins; without an account nothing is asked. s is the
// site of the session's project, nil to open one; the site is returned.
func PullOpen(ctx context.Context, a *site.Finder, s *site.Site, e session.Entry) (_ *site.Site, err error) {
	if e.State == nil || e.State.Phase != orchestrator.PhaseDone || e.State.Completion.PRNumber == 0 {
		return s, nil
	}
	switch {
	case s == nil:
		s, err = a.SiteOf(ctx, e)
	case s.Log == nil: // not connected yet
		err = a.Connect(ctx, s, &hostlog.Log{Terminal: a.Err})
	}
	if err != nil || s.Host.GitHub == nil {
		return s, err
	}
	repo, err := pullRepo(ctx, s, e.State)
	if err != nil {
		return s, err
	}
	number := e.State.Completion.PRNumber
	done := a.Waiting(fmt.Sprintf("GitHub about pull request #%d", number))
	state, err := feedback.Reader{Client: s.Host.GitHub, Repo: repo}.State(ctx, number)
	done()
	if err != nil {
		return s, site.ExplainGitHub(err, fmt.Sprintf("pull request #%d of %s", number, repo), s.Identity.From)
	}
	return s, notOpen(e, state)
}

// notOpen is nil for an open pull request, and tells of any other one what a person can do.
func notOpen(e session.Entry, state ghsync.PullRequestState) error {
	another := `agentmux run "..." starts another session`
	if e.State.IssueNumber > 0 {
		another = fmt.Sprintf("agentmux issue %d --new works on its issue once more", e.State.IssueNumber)
	}
	switch number := e.State.Completion.PRNumber; state {
	case ghsync.PullRequestOpen:
		return nil
	case ghsync.PullRequestMerged:
		return exit.Usage(fmt.Errorf("%s is done and its pull request #%d was merged; %s", e.Name, number, another))
	default:
		return exit.Usage(fmt.Errorf("%s is done and its pull request #%d is closed: reopen it to ask for changes; %s", e.Name, number, another))
	}
}

// pullRepo is where the pull request of a session is: the issue's repository, else that of its project.
func pullRepo(ctx context.Context, s *site.Site, state *orchestrator.State) (ghsync.Repo, error) {
	if owner, name, ok := strings.Cut(string(state.Repo), "/"); ok {
		return ghsync.Repo{Owner: owner, Name: name}, nil
	}
	p, err := s.OpenProject(ctx)
	if err != nil {
		return ghsync.Repo{}, site.ExplainProject(err, s.Project)
	}
	return p.Repo, nil
}
