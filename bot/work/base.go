package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
)

// GoneError says that a session cannot go on because a commit it stands on is not in the
// store any more.
type GoneError struct {
	Session, What, Commit, Repo string
	Issue                       int
}

// Error is a sentence with what to do next.
func (e *GoneError) Error() string {
	again := "agentmux run"
	if e.Issue > 0 {
		again = fmt.Sprintf("agentmux issue %d --new", e.Issue)
	}
	return fmt.Sprintf("%s cannot go on: its %s %s is not in %s any more; %s --base REF begins anew",
		e.Session, e.What, e.Commit, e.Repo, again)
}

// CheckBase fails with a *GoneError if a commit is gone that the session needs in any phase.
func (r *Work) CheckBase(ctx context.Context, s *orchestrator.State) error {
	for what, commit := range map[string]string{"base commit": s.BaseSHA, "integrated work": s.Integrated.Commit} {
		if commit == "" {
			continue // not known yet, or of the earlier tool
		}
		_, err := r.repo.Resolve(ctx, commit)
		if errors.Is(err, gitrepo.ErrNoCommit) {
			return &GoneError{Session: r.sess.Name(), What: what, Commit: commit, Repo: r.repo.Dir(), Issue: s.IssueNumber}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// HoldBase keeps the base commit for a session that is to go on: a person may rewrite the
// branch it is of, and its next fetch would leave it to the garbage. One that is gone
// already shows where it is needed.
func (r *Work) HoldBase(ctx context.Context, s *orchestrator.State) error {
	if s.BaseSHA == "" {
		return nil // of the earlier tool
	}
	err := r.repo.Hold(ctx, r.startRef(), s.BaseSHA)
	if errors.Is(err, gitrepo.ErrNoCommit) {
		return nil
	}
	return err
}

// startRef is this session's alone: clones of one repository share the store.
func (r *Work) startRef() string { return gitrepo.StartRef(r.place.String()) }

// SetTarget fails unless branch is one of the server that a pull request can go to, and has the
// one that is open go there.
func (r *Work) SetTarget(ctx context.Context, s *orchestrator.State, branch string) error {
	if branch == "" {
		return nil
	}
	if r.project.Remote == nil {
		return fmt.Errorf("--base %s: this clone has no remote on the GitHub server, so there is no pull request to move", branch)
	}
	refs, err := r.project.Remote.Refs(ctx, r.repo, "refs/heads/"+branch)
	if err == nil && len(refs) == 0 {
		err = errors.New("the server has no such branch; a session keeps the commit it began with, and only its pull request moves")
	}
	if err == nil {
		err = r.retarget(ctx, s, branch)
	}
	if err != nil {
		return fmt.Errorf("--base %s: %w", branch, err)
	}
	return nil
}

// retarget moves the pull request that the session has already. Only this word of a person
// does: what people change on the server stays.
func (r *Work) retarget(ctx context.Context, s *orchestrator.State, branch string) error {
	if s.Completion.PRNumber == 0 || r.GitHub == nil || r.ReadOnly {
		return nil
	}
	pull := &ghsync.PullRequest{Client: r.GitHub, Writes: r.Pulls}
	spec := ghsync.PullRequestSpec{Repo: r.PullRepo(s)}
	err := pull.Retarget(ctx, spec.Repo, s.Completion.PRNumber, branch)
	if errors.As(err, new(*transport.Moved)) {
		if spec, err = (&proposal{r}).moved(ctx, spec); err == nil {
			err = pull.Retarget(ctx, spec.Repo, s.Completion.PRNumber, branch)
		}
	}
	return err
}
