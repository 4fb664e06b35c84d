// Package display runs the mirrors of a session beside its engine: one that shows the session on its
// issue, or one for each agent of an agents file that works for an issue of its own.
//
// Their failures are logged and affect nothing else. What they write, and where, is said by package
// mirror.
package display

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator"
)

const (
	// signalTime is how long a canceled session may still write on its issue.
	signalTime = 5 * time.Second
	// finishTime is how long a mirror may catch up where limits.remote is off.
	finishTime = 30 * time.Minute
	// awayPause is between two tries to show the end of a session while its account is refused.
	awayPause = 30 * time.Second
	// diskPause is between two tries on a disk that takes nothing, as a full one.
	diskPause = 30 * time.Second
)

// Spec says what is shown.
type Spec struct {
	Session string // its name, for the log
	Mirrors []mirror.Options
	Away    func() error // why GitHub refuses the account now; nil = it does not
	Log     *slog.Logger
}

// Display is the mirrors of a session. The zero value does nothing.
type Display struct{ screens []*screen }

// screen is one mirror.
type screen struct {
	Spec
	mirror *mirror.Mirror
	cancel context.CancelFunc
	done   sync.WaitGroup
	lost   bool // nothing more can be written; only done's goroutine writes it
}

// Start runs the mirrors until Finish, even if ctx ends before.
func Start(ctx context.Context, spec Spec) *Display {
	d := &Display{}
	for _, o := range spec.Mirrors {
		shown, err := mirror.New(o)
		if err != nil {
			spec.Log.Warn("the session is not shown on its issue", "session", spec.Session, "issue", o.Issue, "err", err)
			continue
		}
		s := &screen{Spec: spec, mirror: shown}
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		s.cancel = cancel
		s.done.Go(func() { s.run(ctx) })
		d.screens = append(d.screens, s)
	}
	return d
}

func (s *screen) run(ctx context.Context) {
	for {
		err := runMirror(ctx, s.mirror)
		if mirror.OfDisk(err) {
			s.Log.Warn("the mirror waits for the disk", "session", s.Session, "err", err)
			if transport.Wait(ctx, diskPause) {
				continue
			}
		}
		s.lost = errors.Is(err, mirror.ErrClaimLost) || errors.Is(err, mirror.ErrIssueGone)
		if err != nil {
			s.Log.Warn("the mirror ended", "session", s.Session, "err", err)
		}
		return
	}
}

// runMirror makes a panic the end of the mirror alone.
func runMirror(ctx context.Context, m *mirror.Mirror) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return m.Run(ctx)
}

// Wake tells the mirrors that there may be new records. It never blocks.
func (d *Display) Wake() {
	for _, s := range d.screens {
		s.mirror.Wake()
	}
}

// Locked reports whether GitHub refused a comment because the issue is locked. Of several issues
// each agent has its own, and a question can be answered at the machine.
func (d *Display) Locked() bool { return len(d.screens) == 1 && d.screens[0].mirror.Locked() }

// End is the end of a session as it is to be shown.
type End struct {
	State    *orchestrator.State
	Canceled bool // little time is left
}

// Finish shows the rest of a session that has ended, for a bounded time and until told ends, because
// the session is told something more. If the session continues, the next display shows it.
func (d *Display) Finish(told context.Context, end End) {
	var all sync.WaitGroup
	for _, s := range d.screens {
		all.Go(func() { s.finish(told, end) })
	}
	all.Wait()
}

func (s *screen) finish(told context.Context, end End) {
	s.cancel()
	s.done.Wait()
	if !end.State.Ended() || s.lost {
		return
	}
	limit := end.State.Settings.LimitRemote.D()
	if limit <= 0 {
		limit = finishTime
	}
	if end.Canceled {
		limit = signalTime
	}
	for {
		err := s.finishWithin(told, limit)
		if err == nil || told.Err() != nil {
			return
		}
		if s.Away == nil || s.Away() == nil || end.Canceled {
			s.Log.Warn("not everything is shown on the issue", "session", s.Session, "err", errors.Join(err, s.mirror.LastError()))
			return
		}
		transport.Wait(told, awayPause)
	}
}

func (s *screen) finishWithin(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return s.mirror.Finish(transport.WithPriority(ctx, transport.PriorityFinishing))
}
