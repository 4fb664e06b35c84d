package hosting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/bundle"
	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/tenure"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// runClaimed runs a session, and claims its issue for that time if the account may write to the
// issue's repository.
func runClaimed(ctx context.Context, a *site.Finder, s *site.Site, spec host.RunSpec) (*orchestrator.State, error) {
	a.Outlive()
	t := tenure.Spec{Run: spec, Steal: s.Take, Log: s.Host.Log, Newer: host.Elsewhere{Host: s.Host}.Newer(spec.Dir, s.Config)}
	issue, err := issueIn(spec.Dir, s, spec.Backup)
	if err != nil {
		return nil, err
	}
	if issue.number > 0 {
		release, err := tenure.Reserve(ctx, spec.Dir)
		if err != nil {
			return nil, err
		}
		defer release()
		if t.Host, err = tenure.HostOf(spec.Dir); err != nil {
			return nil, err
		}
		if t.Machine, err = claim.KeptHostID(s.Host.StateHome); err != nil {
			return nil, err
		}
		if t.Desk, err = openDesk(ctx, s, issue, t.Host); err != nil {
			return nil, err
		}
		t.Run.Mirror.HostID = t.Host.String()
		if !issue.shared {
			t.Newer = unserved(s, issue, spec.Dir, t.Newer)
		}
		stop := keep(ctx, t.Desk)
		defer stop()
	}
	var runner tenure.Runner = s.Host
	if issue.number > 0 && !issue.quiet {
		heard, stop, err := listen(ctx, s, issue, &t)
		if err != nil {
			return nil, err
		}
		defer stop()
		runner = heard
	}
	state, err := tenure.Run(ctx, runner, t)
	return state, explainClaim(err, t.Desk, issue.of(err))
}

// keep has the desk keep its claims until stop.
func keep(ctx context.Context, desk claim.Desk) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = desk.Run(ctx) // it ends with ctx; the log tells what fails meanwhile
	}()
	return func() {
		cancel()
		<-done
	}
}

// claimedIssue is the issue of a session that can be claimed; the zero value: there is none.
type claimedIssue struct {
	repo   ghsync.Repo
	id     int64 // of the repository
	number int
	quiet  bool // its comments are not read

	shared bool           // agents of the session work for it and for others
	others []int          // for which other agents work
	agents map[int]string // who works for which, where several may
}

func (i claimedIssue) named(number int) string { return fmt.Sprintf("%s#%d", i.repo, number) }

// of is the issue that an error of a claim is about.
func (i claimedIssue) of(err error) string {
	if taken := (*claim.TakenError)(nil); errors.As(err, &taken) {
		return i.named(taken.Seen.Issue)
	}
	return i.String()
}

func (i claimedIssue) numbers() []int { return append([]int{i.number}, i.others...) }

func (i claimedIssue) String() string { return fmt.Sprintf("%s#%d", i.repo, i.number) }

// issueIn returns the issue that the session in dir is of, if the site may write to its repository.
func issueIn(dir string, s *site.Site, backup bool) (claimedIssue, error) {
	if s.Host.GitHub == nil || s.Host.Token == nil || s.Host.ReadOnly {
		return claimedIssue{}, nil
	}
	sess, err := session.Open(dir)
	if err != nil {
		return claimedIssue{}, err
	}
	state, err := readSession(sess, backup)
	if err != nil || state.Kind == orchestrator.KindAgents {
		return issuesOfAgents(sess, state, err)
	}
	if state.IssueNumber == 0 {
		return claimedIssue{}, nil
	}
	data, err := session.ReadFile(sess.Path(session.SnapshotFile))
	if err != nil {
		return claimedIssue{}, fmt.Errorf("read snapshot: %w", err)
	}
	snap, err := ghsync.ParseSnapshot(data)
	if err != nil || snap.RepoID == 0 {
		return claimedIssue{}, nil //nolint:nilerr // of an older version, which claimed nothing
	}
	owner, name, _ := strings.Cut(string(state.Repo), "/")
	return claimedIssue{repo: ghsync.Repo{Owner: owner, Name: name}, id: snap.RepoID, number: state.IssueNumber, quiet: state.Quiet}, nil
}

// issuesOfAgents are those that agents of a run of an agents file work for. err is that of its state.
func issuesOfAgents(sess *session.Session, state *orchestrator.State, err error) (of claimedIssue, _ error) {
	if err != nil {
		return of, err
	}
	for _, name := range slices.Sorted(maps.Keys(state.Team)) {
		blob := state.Team[name].Snapshot
		if blob == "" {
			continue
		}
		data, err := sess.Blob(blob)
		if err != nil {
			return of, fmt.Errorf("read the issue of agent %s: %w", name, err)
		}
		snap, err := ghsync.ParseSnapshot(data)
		if err != nil {
			return of, fmt.Errorf("read the issue of agent %s: %w", name, err)
		}
		if of.shared {
			of.others, of.agents[snap.Issue] = append(of.others, snap.Issue), name
			continue
		}
		owner, repo, _ := strings.Cut(snap.Repo, "/")
		of = claimedIssue{
			repo: ghsync.Repo{Owner: owner, Name: repo}, id: snap.RepoID, number: snap.Issue, shared: true, agents: map[int]string{snap.Issue: name},
			quiet: state.Quiet,
		}
	}
	return of, nil
}

func openDesk(ctx context.Context, s *site.Site, of claimedIssue, id claim.HostID) (claim.Desk, error) {
	desk, err := tenure.OpenDesk(ctx, s.Host, tenure.DeskSpec{
		Repo: of.repo, RepoID: of.id, Host: id, OneSession: true, SingleHost: s.Config.Bot.SingleHost, Write: s.Config.GitHub.WriteEvery(), Log: s.Host.Log,
	})
	if err == nil && of.shared {
		desk = bundle.Desk{Desk: desk, Issues: of.numbers()}
	}
	return desk, err
}

// NotClaimed fails if a host works on an issue, before a session of it is made. With s.Take the
// claim of a host that is gone does not count: it is returned as left.
func NotClaimed(ctx context.Context, s *site.Site, repo ghsync.Repo, repoID int64, number int) (left *claim.Seen, err error) {
	return notClaimed(ctx, s, claimedIssue{repo: repo, id: repoID, number: number}, claim.NewHostID())
}

// NoneClaimed fails if a host works on one of several issues, before a run of an agents file is made
// whose agents work for them.
func NoneClaimed(ctx context.Context, s *site.Site, repo ghsync.Repo, repoID int64, numbers []int) error {
	_, err := notClaimed(ctx, s, claimedIssue{repo: repo, id: repoID, number: numbers[0], shared: true, others: numbers[1:]}, claim.NewHostID())
	return err
}

// MayContinue is NotClaimed for the session in dir, which a detached host is to run. A claim that
// an earlier host of the session left does not count.
func MayContinue(ctx context.Context, s *site.Site, dir string, backup bool) error {
	of, err := issueIn(dir, s, backup)
	if err != nil || of.number == 0 {
		return err
	}
	id, err := tenure.HostOf(dir)
	if err != nil {
		return err
	}
	_, err = notClaimed(ctx, s, of, id)
	if err != nil {
		if now, noteErr := tenure.HostOf(dir); noteErr == nil && now != id { // another command has just begun
			_, err = notClaimed(ctx, s, of, now)
		}
	}
	return err
}

func notClaimed(ctx context.Context, s *site.Site, of claimedIssue, own claim.HostID) (left *claim.Seen, err error) {
	desk, err := openDesk(ctx, s, of, own)
	if err != nil {
		return nil, err
	}
	all, err := desk.Look(ctx)
	if err != nil {
		return nil, explainClaim(err, desk, of.String())
	}
	for _, seen := range all {
		if !slices.Contains(of.numbers(), seen.Issue) || seen.Claim.Host == own {
			continue
		}
		why, err := desk.Stale(ctx, seen)
		if err != nil {
			return nil, err
		}
		if why == claim.LetGo || s.Take && why != claim.NotStale {
			return &seen, nil
		}
		return nil, explainClaim(&claim.TakenError{Seen: seen}, desk, of.named(seen.Issue))
	}
	return nil, nil
}

// explainClaim words the errors of a claim for a person, and gives them their exit codes.
func explainClaim(err error, desk claim.Desk, issue string) error {
	var taken *claim.TakenError
	var other *checkpoint.OtherHostError
	switch {
	case errors.As(err, &other):
		next := "resume '" + issue[strings.IndexByte(issue, '#'):] + "'"
		if _, ofAgents := desk.(bundle.Desk); ofAgents {
			next = "agents start"
		}
		return &exit.Error{Code: exit.Locked, Err: fmt.Errorf("%s went on elsewhere: its checkpoint on the server is of host %s; agentmux %s --from-checkpoint takes that one and puts the directory here aside",
			issue, other.Host, next)}
	case errors.As(err, new(*claim.RefusedError)):
		return exit.Usage(err)
	case !errors.As(err, &taken):
		return err
	case taken.Seen.Problem != nil:
		return &exit.Error{Code: exit.Locked, Err: fmt.Errorf("%s: %w", issue, err)}
	}
	c := taken.Seen.Claim
	return &exit.Error{Code: exit.Locked, Err: fmt.Errorf("%s is claimed by host %s for the session %s%s", issue, c.Host, c.Session, silence(desk, taken.Seen))}
}

// silence says since when a host was not heard of, and what can be done about it.
func silence(desk claim.Desk, seen claim.Seen) string {
	if _, _, isJob := seen.Claim.Host.Job(); isJob {
		return "; --take takes it over once that job has ended"
	}
	d, ok := desk.(interface {
		Silence(claim.Seen) time.Duration
	})
	if !ok {
		return "" // a lock of this machine ends with its process
	}
	const next = "; --take takes it over once that host was silent for " + silentWords
	if quiet := d.Silence(seen).Round(time.Second); quiet > 0 {
		return fmt.Sprintf(", of which nothing was heard for %s%s", quiet, next)
	}
	return next
}

const silentWords = "10 minutes"
