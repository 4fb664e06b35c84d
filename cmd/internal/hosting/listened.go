package hosting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/bot/tenure"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

const (
	// receiptTime is how long the receipts of a session's last commands may take, signalReceiptTime
	// those of a session that a signal ended.
	receiptTime, signalReceiptTime = 5 * time.Second, time.Second
	// clockSlack is how far this machine's clock may be from the server's.
	clockSlack = time.Minute
	// heardTime is how long a command waits for a host at most: older ones are refused.
	heardTime = 24 * time.Hour
)

// errUnclaimed holds receipts back until the issue is claimed.
var errUnclaimed = errors.New("the issue is not claimed")

// listened hears the comments of a session's issues, and runs the session. Its receipts are given
// under the claim of the issues.
type listened struct {
	host   *host.Host
	ear    *ear.Listener
	issues []int
	held   atomic.Pointer[claim.Held]
}

// listen changes t so that the comments on the issue of a session, or on those of its agents, are heard while it runs, and once more
// after its claim was given back. Of a session that is not shown there the receipts alone tell what became of a command. It returns
// what runs the session; stop ends the listening.
func listen(ctx context.Context, s *site.Site, of claimedIssue, t *tenure.Spec) (r tenure.Runner, stop func(), err error) {
	h := s.Host
	sess, err := session.Open(t.Run.Dir)
	if err != nil {
		return nil, nil, err
	}
	state, err := readSession(sess, t.Run.Backup)
	if err != nil {
		return nil, nil, err
	}
	dir := h.Projects().ManagedDir(of.repo, s.Config)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make project of %s: %w", of.repo, err)
	}
	j, err := journal.Open(dir, journal.Options{Now: h.Now})
	if err != nil {
		return nil, nil, err
	}
	l := &listened{host: h, issues: of.numbers()}
	one := ear.One{
		Issue: of.number, Dir: sess.Dir, MayWrite: l.mayWrite,
		HeldBy: func(ctx context.Context, st *orchestrator.State) ([]string, error) {
			return h.Held(ctx, sess.Dir, st, s.Config)
		},
	}
	owner := claimedOwner{Owner: one, held: &l.held}
	if of.agents != nil {
		owner.Owner = ear.Team{One: one, Agents: of.agents}
	}
	l.ear = &ear.Listener{Ear: ear.New(ear.Options{
		Client: h.GitHub, Repo: of.repo, Bot: s.Config.Bot, Journal: j, Owner: owner, Issues: l.issues,
		Since: heardSince(state, h.GitHub.Now()), Now: h.GitHub.Now, Local: h.Now, Log: h.Log,
	})}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var hearing sync.WaitGroup
	begin := sync.OnceFunc(func() { hearing.Go(func() { l.ear.Run(ctx) }) })
	l.change(t, begin)
	return l, func() { cancel(); hearing.Wait() }, nil
}

// claimedOwner is the owner of a session whose issues another host may take: from then on what is said there is for that host.
type claimedOwner struct {
	ear.Owner
	held *atomic.Pointer[claim.Held]
}

// Find is described at [ear.Owner].
func (o claimedOwner) Find(ctx context.Context, number int, pull bool) (ear.Subject, error) {
	s, err := o.Owner.Find(ctx, number, pull)
	if held := o.held.Load(); err == nil && s.Issue != 0 && held != nil {
		select {
		case <-(*held).Lost():
			s.Holder = cmp.Or((*held).Holder(), "another host")
		default:
		}
	}
	return s, err
}

// heardSince is from when on comments are for a session. To one that a kill left, they are since it
// was made; one that has ended told people that nobody reads them.
func heardSince(s *orchestrator.State, now time.Time) time.Time {
	since := now
	if !s.Ended() && s.CreatedAt.Before(since) {
		since = s.CreatedAt.Time
	}
	if oldest := now.Add(-heardTime); since.Before(oldest) {
		since = oldest
	}
	return since.Add(-clockSlack)
}

// change has the tenure tell the ear what happens. It begins to hear with the first claim: what is said before, while
// another host may have the issues, is for that host, and is read once they are claimed.
func (l *listened) change(t *tenure.Spec, begin func()) {
	t.Run.Mirror.Listened = true
	next := t.Run.OnCommit
	t.Run.OnCommit = func(s *orchestrator.State) {
		l.ear.Wake()
		if next != nil {
			next(s)
		}
	}
	t.Claimed = func(held claim.Held) {
		l.held.Store(&held)
		begin()
	}
	t.News = l.ear.News
}

// mayWrite fails unless this host has the claim.
func (l *listened) mayWrite(ctx context.Context) error {
	held := l.held.Load()
	if held == nil {
		return errUnclaimed
	}
	return (*held).Check(ctx)
}

// Run runs the session and then gives the receipts that are owed, while the issues are claimed.
func (l *listened) Run(ctx context.Context, spec host.RunSpec) (*orchestrator.State, error) {
	s, err := l.host.Run(ctx, spec)
	held := l.held.Load()
	if held == nil { // it ends because another host has the issue
		return s, err
	}
	select {
	case <-(*held).Lost():
		return s, err
	default:
	}
	limit := receiptTime
	if ctx.Err() != nil {
		limit = signalReceiptTime
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer stop()
	for _, issue := range l.issues {
		l.ear.Settle(last, issue)
	}
	return s, err
}
