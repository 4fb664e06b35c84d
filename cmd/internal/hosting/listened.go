package hosting

import (
	"context"
	"errors"
	"fmt"
	"os"
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

// listen changes t so that the comments of a session that is shown on its issue, or on those of its agents, are heard while it
// runs, and once more after its claim was given back. It returns what runs the session; stop ends
// the listening.
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
	var owner ear.Owner = one
	if of.agents != nil {
		owner = ear.Team{One: one, Agents: of.agents}
	}
	l.ear = &ear.Listener{Ear: ear.New(ear.Options{
		Client: h.GitHub, Repo: of.repo, Bot: s.Config.Bot, Journal: j, Owner: owner, Issues: l.issues,
		Since: heardSince(state, h.GitHub.Now()), Now: h.GitHub.Now, Local: h.Now, Log: h.Log,
	})}
	l.change(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.ear.Run(ctx)
	}()
	return l, func() { cancel(); <-done }, nil
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

// change has the tenure tell the ear what happens.
func (l *listened) change(t *tenure.Spec) {
	t.Run.Mirror.Listened = true
	next := t.Run.OnCommit
	t.Run.OnCommit = func(s *orchestrator.State) {
		l.ear.Wake()
		if next != nil {
			next(s)
		}
	}
	t.Claimed = func(held claim.Held) { l.held.Store(&held) }
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
