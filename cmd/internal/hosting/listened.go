package hosting

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// receiptTime is how long the receipts of a session's last commands may take, signalReceiptTime that
// of a session that a signal ended.
const receiptTime, signalReceiptTime = 5 * time.Second, time.Second

// listened hears the comments of a session's issue while it runs.
type listened struct {
	ear    *ear.Listener // nil: nobody listens
	issue  int
	cancel context.CancelFunc
	done   chan struct{}
}

// listen begins to hear the comments of the issue of a session that is shown on it, if the account
// may write there. It changes spec so that the texts say so, and so that each commit is heard of.
func listen(ctx context.Context, s *site.Site, spec *host.RunSpec) (*listened, error) {
	h := s.Host
	if !spec.Mirror.On || h.GitHub == nil || h.Token == nil || h.ReadOnly {
		return &listened{}, nil
	}
	sess, err := session.Open(spec.Dir)
	if err != nil {
		return nil, err
	}
	state, err := readSession(sess, spec.Backup)
	if err != nil || state.IssueNumber == 0 {
		return &listened{}, err
	}
	owner, name, _ := strings.Cut(string(state.Repo), "/")
	repo := ghsync.Repo{Owner: owner, Name: name}
	dir := h.ManagedDir(repo, s.Config)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make project of %s: %w", repo, err)
	}
	j, err := journal.Open(dir, journal.Options{Now: h.Now})
	if err != nil {
		return nil, err
	}
	l := &listened{issue: state.IssueNumber, done: make(chan struct{})}
	l.ear = &ear.Listener{Since: h.Now().Add(-time.Minute), Ear: ear.New(ear.Options{
		Client: h.GitHub, Repo: repo, Bot: s.Config.Bot, Journal: j, Issue: l.issue, Now: h.Now, Log: h.Log,
		Owner: ear.One{
			Issue: l.issue, Dir: sess.Dir,
			HeldBy: func(ctx context.Context, s2 *orchestrator.State) ([]string, error) {
				return h.Held(ctx, sess.Dir, s2, s.Config)
			},
		},
	})}
	spec.Mirror.Listened = true
	next := spec.OnCommit
	spec.OnCommit = func(s *orchestrator.State) {
		l.ear.Wake()
		if next != nil {
			next(s)
		}
	}
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(l.done)
		l.ear.Run(ctx)
	}()
	return l, nil
}

// end gives the receipts that are owed, and listens no longer.
func (l *listened) end(ctx context.Context) {
	if l.ear == nil {
		return
	}
	limit := receiptTime
	if ctx.Err() != nil {
		limit = signalReceiptTime
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer stop()
	l.ear.Settle(last, l.issue)
	l.cancel()
	<-l.done
}
