// Package upkeep removes what ended long ago from a managed project, so that a bot can be left running.
// It is used by the bot, once a day for each repository. A person's clone is not touched: there
// agentmux clean does it when it is asked.
//
// The workspaces and homes of a session go when its pull request was merged or closed, or followup.days
// after its end: a round that follows all the same makes them again. While a session is under way at
// that moment, it is looked at again soon.
//
// A session goes when it has its result or failed, its end is shown on GitHub, nothing of it is unread,
// and its last change is older than session.keep. One that waits for a person stays. Work that is in no
// branch stays in the host repository, below refs/agentmux/preserved.
//
// A checkpoint on the server goes, of whichever host it is, when it has not changed for checkpoint.keep and
// nobody holds a claim for its session.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/inbox"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Remover removes a session, and what nothing refers to any more; see [host.Host].
type Remover interface {
	Remove(ctx context.Context, dir string, c *config.Config) (work.Removed, error)
	Vacant(dir string, s *orchestrator.State, c *config.Config) bool
	Vacate(ctx context.Context, dir string, c *config.Config) error
	Collect(ctx context.Context, project string, c *config.Config) error
}

// Options are what an upkeep needs; all but Issue are required.
type Options struct {
	Closed func(pull int) bool // it was merged or closed, as far as is known
	// Claims are those of the repository. Checkpoints removes old ones from the server, but for sessions
	// that are held, and returns the names of the others.
	Claims      func(context.Context) ([]claim.Seen, error)
	Checkpoints func(ctx context.Context, held func(session string) bool) ([]string, error)
	// Issue is that of a job, which may be about to continue one of its sessions: their checkpoints stay. 0: not of a job.
	Issue int

	Project string         // directory of the managed project
	Config  *config.Config // of the machine; Session.Keep of 0 keeps everything
	Remover Remover
	Gone    func(dirs []string) // is told which sessions were removed
	Now     func() time.Time
	Log     *slog.Logger
}

// Upkeep looks each day, and when it is told to.
type Upkeep struct {
	o    Options
	wake chan struct{}
}

const (
	// pause is between two looks.
	pause = 24 * time.Hour
	// firstBusy is until the look after one at which a session with a closed pull request was under way;
	// doubled up to maxBusy.
	firstBusy, maxBusy = 10 * time.Second, time.Hour
)

// New makes an Upkeep. Run works.
func New(o Options) *Upkeep { return &Upkeep{o: o, wake: make(chan struct{}, 1)} }

// Look says that a pull request was merged or closed.
func (u *Upkeep) Look() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends.
func (u *Upkeep) Run(ctx context.Context) {
	busyFor := firstBusy
	var last time.Time // that checkpoints were looked at
	for ctx.Err() == nil {
		if now := u.o.Now(); last.IsZero() || now.Sub(last) >= pause {
			last = now
			u.o.checkpoints(ctx)
		}
		gone, busy, err := Once(ctx, u.o)
		u.o.Gone(gone)
		wait := pause
		if busy {
			wait, busyFor = busyFor, min(2*busyFor, maxBusy)
		} else {
			busyFor = firstBusy
		}
		if err != nil && ctx.Err() == nil {
			u.o.Log.Warn("what ended long ago is removed later", "err", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-u.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// checkpoints removes old ones from the server. What fails is done the next day.
func (o Options) checkpoints(ctx context.Context) {
	claims, err := o.Claims(ctx)
	var gone []string
	if err == nil {
		held := map[string]bool{}
		for _, seen := range claims {
			held[seen.Claim.Session] = true
		}
		gone, err = o.Checkpoints(ctx, func(name string) bool { return held[name] || o.serves(name) })
	}
	for _, session := range gone {
		o.Log.Info("an old checkpoint is removed from the server", "session", session)
	}
	if err != nil && ctx.Err() == nil {
		o.Log.Warn("old checkpoints are removed later", "err", err)
	}
}

// serves reports whether a session, by its name on the server, is one of the issue of a job.
func (o Options) serves(name string) bool {
	return o.Issue != 0 && strings.HasPrefix(session.FeatureSlug(name), session.IssueSlug(o.Issue, "")+"-")
}

// Once removes what may go and returns the sessions that are gone. busy: one whose pull request is
// closed is still under way. What fails stays for the next day; the error says what.
func Once(ctx context.Context, o Options) (gone []string, busy bool, err error) {
	entries, err := session.List(o.Project)
	if err != nil {
		return nil, false, err
	}
	var problems []error
	for _, e := range entries {
		if ctx.Err() != nil {
			return gone, busy, ctx.Err()
		}
		what, remove := o.due(e)
		if remove == nil {
			busy = busy || o.isBusy(e)
			continue
		}
		err := remove(ctx, e.Dir)
		switch {
		case errors.As(err, new(*session.LockedError)): // it was taken up meanwhile
			busy = true
		case err != nil:
			problems = append(problems, fmt.Errorf("%s of %s stays: %w", what, e.Name, err))
		default:
			o.Log.Info("what an old session has is removed", "what", what, "session", e.Name, "ended", e.State.UpdatedAt)
			if what == all {
				gone = append(gone, e.Dir)
			}
		}
	}
	if len(gone) > 0 {
		problems = append(problems, o.Remover.Collect(ctx, o.Project, o.Config))
	}
	return gone, busy, errors.Join(problems...)
}

// What is removed of a session.
const (
	all        = "everything"
	workspaces = "workspaces and homes"
)

// due returns what is to be removed of a session now; nil: nothing.
func (o Options) due(e session.Entry) (what string, remove func(context.Context, string) error) {
	at, ended := endOf(e)
	if !ended {
		return "", nil
	}
	age := o.Now().Sub(at)
	if keep := o.Config.Session.Keep; keep > 0 && age > keep {
		return all, func(ctx context.Context, dir string) error {
			_, err := o.Remover.Remove(ctx, dir, o.Config)
			return err
		}
	}
	pull := e.State.Completion.PRNumber
	late := age > time.Duration(o.Config.Followup.Days)*24*time.Hour
	if (late || pull != 0 && o.Closed(pull)) && !o.Remover.Vacant(e.Dir, e.State, o.Config) {
		return workspaces, func(ctx context.Context, dir string) error { return o.Remover.Vacate(ctx, dir, o.Config) }
	}
	return "", nil
}

// isBusy reports whether a session whose pull request is closed is under way, or owes something.
func (o Options) isBusy(e session.Entry) bool {
	if e.State == nil || e.State.Completion.PRNumber == 0 || !o.Closed(e.State.Completion.PRNumber) {
		return false
	}
	if _, ended := endOf(e); ended {
		return false
	}
	return e.Running || !e.State.Ended() || host.Removable(e.State)
}

// endOf returns when a session ended, if it owes nothing.
func endOf(e session.Entry) (at time.Time, ended bool) {
	if e.State == nil || e.Running || !host.Removable(e.State) || len(e.State.Pending) > 0 {
		return at, false
	}
	if e.State.Shown() && !mirror.Shown(e.Dir, e.State.Seq) || len(inbox.Unread(e.Dir, e.State)) > 0 {
		return at, false
	}
	at, err := time.Parse(time.RFC3339, e.State.UpdatedAt)
	return at, err == nil
}
