package hosting

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Restoring names a session that has a checkpoint on the server.
type Restoring struct {
	Repo    ghsync.Repo
	RepoID  int64 // 0 = asked for
	Issue   int
	Session string // its name on the server; empty = that of the claim of the issue, else its newest
	Run     string // of an agents file: the session that the file names; then Team
	Team    *host.Team
	// Overtake puts a directory aside that the session has here already.
	Overtake bool
}

// Restore claims the issue of a session, makes its directory from its checkpoint and returns that. The claim is
// left to the host that runs it next. The error is checkpoint.ErrNone where there is nothing to restore, and
// then nothing is claimed any more. With s.Take the claim of a host that is gone is taken from it.
func Restore(ctx context.Context, a *site.Finder, s *site.Site, r Restoring) (dir string, err error) {
	if s.Host.GitHub == nil || s.Host.Token == nil || s.Host.ReadOnly {
		return "", exit.UsageText("a session is restored under its claim, for which the account has to write to the repository; agentmux doctor shows the account")
	}
	p, err := s.OpenProject(ctx)
	if err != nil {
		return "", site.ExplainProject(err, s.Project)
	}
	if r.RepoID == 0 {
		repo, err := s.Host.GitHub.Repository(ctx, r.Repo.Owner, r.Repo.Name)
		if err != nil {
			return "", site.ExplainGitHub(err, r.Repo.String(), s.Identity.From)
		}
		r.RepoID = repo.ID
	}
	id := claim.NewHostID()
	of := claimedIssue{repo: r.Repo, id: r.RepoID, number: r.Issue}
	if r.Team != nil {
		of.number, of.shared, of.others = r.Team.Issues[0], true, r.Team.Issues[1:]
	}
	desk, err := openDesk(ctx, s, of, id)
	if err != nil {
		return "", err
	}
	stop := keep(ctx, desk)
	defer stop()
	want, seen, err := wanted(ctx, s, desk, r)
	if err != nil {
		return "", explainClaim(err, desk, of.of(err))
	}
	held, err := takeFor(ctx, s, desk, want, seen)
	if err != nil {
		return "", explainClaim(err, desk, of.of(err))
	}
	done := a.Waiting("the server for the checkpoint of " + want.Session)
	dir, err = host.Elsewhere{Host: s.Host}.Restore(ctx, host.RestoreSpec{
		Project: p, Config: s.Config, Root: s.Project, Session: want.Session, Issue: r.Issue, Team: r.Team, Host: id, Repo: r.Repo, Attended: true, Overtake: r.Overtake,
	})
	done()
	if err != nil {
		release(ctx, held)
		return "", explainRestore(err, r)
	}
	return dir, nil
}

// wanted is the claim of the session, and the one that there is now.
func wanted(ctx context.Context, s *site.Site, desk claim.Desk, r Restoring) (want claim.Want, seen *claim.Seen, err error) {
	all, err := desk.Look(ctx)
	if err != nil {
		return want, nil, err
	}
	if i := slices.IndexFunc(all, func(c claim.Seen) bool { return r.claims(c.Issue) }); i >= 0 {
		seen = &all[i]
		if r.Session == "" && seen.Problem == nil {
			r.Session = seen.Claim.Session
		}
	}
	if seen != nil && r.Team != nil && !r.names(r.Session) {
		return want, nil, &claim.TakenError{Seen: *seen}
	}
	if r.Session, err = saved(ctx, s, r); err != nil {
		return want, nil, err
	}
	want = claim.Want{Issue: r.Issue, Session: r.Session, Trigger: "cli/" + r.Session, State: claim.Running}
	if seen != nil && seen.Claim.Session == r.Session {
		want.Trigger = seen.Claim.Trigger
	}
	return want, seen, nil
}

// takeFor takes a claim, also from a host that let it go, or that a person says is gone.
func takeFor(ctx context.Context, s *site.Site, desk claim.Desk, want claim.Want, seen *claim.Seen) (claim.Held, error) {
	if seen == nil {
		return desk.Take(ctx, want)
	}
	why, err := desk.Stale(ctx, *seen)
	if err != nil {
		return nil, err
	}
	if why == claim.LetGo || s.Take && (why == claim.Silent || why == claim.RunEnded) {
		return desk.Steal(ctx, *seen, want)
	}
	return nil, &claim.TakenError{Seen: *seen}
}

// saved is the session if it has a checkpoint on the server, without a name the newest one of the issue, as the
// names of sessions have it. The manifest tells whether that is true.
func saved(ctx context.Context, s *site.Site, r Restoring) (string, error) {
	p, err := s.OpenProject(ctx)
	if err != nil || p.Remote == nil {
		return "", errors.Join(err, checkpoint.ErrNone)
	}
	names, err := checkpoint.Names(ctx, p.Store, *p.Remote)
	if err != nil {
		return "", err
	}
	slices.Sort(names)
	var found []string
	for _, name := range slices.Backward(names) {
		if name == r.Session || r.Session == "" && r.names(name) {
			found = append(found, name)
		}
	}
	switch {
	case len(found) == 0:
		return "", checkpoint.ErrNone
	case len(found) > 1 && r.Team != nil: // their names do not tell which is the newest
		return "", exit.Usage(fmt.Errorf("the server has checkpoints of several runs called %s: %s; git push origin --delete refs/agentmux/sessions/NAME removes one", r.Run, strings.Join(found, ", ")))
	}
	return found[0], nil
}

// claims reports whether the session claims an issue.
func (r Restoring) claims(issue int) bool {
	return issue == r.Issue || r.Team != nil && slices.Contains(r.Team.Issues, issue)
}

// names reports whether a name on the server may be that of the session.
func (r Restoring) names(name string) bool {
	if r.Team == nil {
		return strings.Contains(name, "-"+session.IssueSlug(r.Issue, "")+"-")
	}
	id, found := strings.CutPrefix(name, r.Run+"-")
	return found && session.ValidIdentity(id)
}

// release gives the claim back of a session that could not be restored.
func release(ctx context.Context, held claim.Held) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	_ = held.Release(ctx) // one that stays is stale after some minutes
}

func explainRestore(err error, r Restoring) error {
	switch {
	case !exit.As[*checkpoint.RefusedError](err):
		return err
	case r.Team != nil:
		return fmt.Errorf("%w; agentmux agents start without --from-checkpoint starts over", err)
	}
	return fmt.Errorf("%w; agentmux issue %d --new starts over", err, r.Issue)
}

// FromCheckpoint restores the session that arg names: one of a listing, whose directory is put aside then, or an
// issue. It returns its entry.
func FromCheckpoint(ctx context.Context, a *site.Finder, s *site.Site, e *session.Entry, of Restoring) (session.Entry, error) {
	if e != nil {
		if e.State != nil && e.State.Kind == orchestrator.KindAgents {
			return *e, exit.Usage(fmt.Errorf("%s is a run of an agents file: agentmux agents start --from-checkpoint continues it", e.Name))
		}
		if e.State == nil || e.State.IssueNumber == 0 {
			return *e, exit.Usage(fmt.Errorf("%s is not of an issue, or its state cannot be read; name the issue", e.Name))
		}
		owner, name, _ := strings.Cut(string(e.State.Repo), "/")
		of = Restoring{
			Repo: ghsync.Repo{Owner: owner, Name: name}, Issue: e.State.IssueNumber, Overtake: true,
			Session: orchestrator.PublicID(e.State.SessionID, e.State.Identity),
		}
	}
	dir, err := Restore(ctx, a, s, of)
	if errors.Is(err, checkpoint.ErrNone) {
		return session.Entry{}, exit.Usage(fmt.Errorf("the server has no checkpoint of a session of %s#%d", of.Repo, of.Issue))
	}
	if err != nil {
		return session.Entry{}, err
	}
	a.Say("%s is restored from its checkpoint", filepath.Base(dir))
	return session.Find(s.Project, dir, nil)
}

// IsLatest reports whether the session in dir ran here under a claim, and no other machine has gone on with it since: what the
// server has of it is older.
func IsLatest(ctx context.Context, s *site.Site, dir string) (bool, error) {
	last, err := claim.ReadNote(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || last.Host == "" {
		return false, err
	}
	err = host.Elsewhere{Host: s.Host}.Newer(dir, s.Config)(ctx, last)
	if errors.As(err, new(*checkpoint.OtherHostError)) {
		return false, nil
	}
	return err == nil, err
}
