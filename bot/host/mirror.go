package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator"
)

// MirrorSpec says whether the session is shown on its issue.
type MirrorSpec struct {
	On bool
	// HostID is the name of this host in the status comment; empty = Host.HostID.
	HostID string
	// Listened says that commands in comments are read while the session runs, ListenedAfter that
	// they are read when it has ended, too: the texts then ask for them.
	Listened, ListenedAfter bool

	Pace mirror.Pace
}

const (
	// signalTime is how long a canceled session may still write on its issue.
	signalTime = 5 * time.Second
	// finishTime is how long a mirror may catch up where limits.remote is off.
	finishTime = 30 * time.Minute
)

// mirroring is a mirror that runs beside the engine. Its failures are logged and affect
// nothing else. The zero value does nothing.
type mirroring struct {
	r      *runner
	mirror *mirror.Mirror
	cancel context.CancelFunc
	done   sync.WaitGroup
	lost   bool // nothing more can be written; only done's goroutine writes it
}

// startMirror runs the mirror until finish, even if ctx ends before.
func (r *runner) startMirror(ctx context.Context, spec MirrorSpec) *mirroring {
	m := &mirroring{r: r}
	s := r.state.Load()
	if !spec.On || r.GitHub == nil || s.IssueNumber == 0 || s.OutcomeReason == orchestrator.ReasonClaimLost {
		return m
	}
	if spec.HostID == "" {
		id, err := r.HostID()
		if err != nil {
			r.Log.Warn("this host has no name", "session", r.sess.Name(), "err", err)
		}
		spec.HostID = id.String()
	}
	shown, err := mirror.New(r.mirrorOptions(s, spec))
	if err != nil {
		r.Log.Warn("the session is not shown on its issue", "session", r.sess.Name(), "err", err)
		return m
	}
	m.mirror = shown
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.done.Go(func() {
		err := runMirror(ctx, shown)
		m.lost = errors.Is(err, mirror.ErrClaimLost) || errors.Is(err, mirror.ErrIssueGone)
		if err != nil {
			r.Log.Warn("the mirror ended", "session", r.sess.Name(), "err", err)
		}
	})
	return m
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

// mirrorOptions says how a run, or its rehearsal, shows the session.
func (r *runner) mirrorOptions(s *orchestrator.State, spec MirrorSpec) mirror.Options {
	o := mirror.Options{
		Server: mirror.On(r.GitHub), Dir: r.sess.Dir, Mode: mirror.CommentMode(r.cfg.GitHub.Comments), Repo: r.work.PullRepo(s),
		Issue: s.IssueNumber, Label: r.cfg.Bot.Label, Host: spec.HostID, Sandbox: r.crew.Level(), LinkHosts: r.cfg.GitHub.LinkHosts,
		Deaf: !spec.Listened, DeafAfter: !spec.ListenedAfter, Guard: r.guarding.forMirror(), Redactor: r.Redactor, Log: r.Log, Now: r.GitHub.Now, Pace: spec.Pace,
	}
	o.Pace.Write = cmp.Or(o.Pace.Write, r.cfg.GitHub.WriteEvery())
	o.Changes = r.gateChanges
	if snap, err := r.work.IssueSnapshot(); err == nil {
		o.RepoID = snap.RepoID
		o.Notes = func() []string { return work.BaseNotes(snap.Base) }
	}
	return o
}

// changesTime bounds how long gateChanges reads.
const changesTime = 30 * time.Second

// gateChanges lists what the open gate asks about; nothing if another gate is open by now.
func (r *runner) gateChanges(digest string) []string {
	s, err := r.sess.ReadState() // what is shown is committed, the state in memory follows
	if err != nil || s.Gate == nil || s.Gate.Name != orchestrator.GateCompletion || s.GateDigest() != digest {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), changesTime)
	defer cancel()
	d, err := r.work.Difference(ctx, s, false)
	if err != nil {
		r.Log.Warn("what the gate asks about cannot be read", "session", r.sess.Name(), "err", err)
		return nil
	}
	held, err := d.Held(ctx)
	if err != nil {
		r.Log.Warn("what the gate holds cannot be read", "session", r.sess.Name(), "err", err)
	}
	lines := []string{d.String()}
	for _, stat := range d.Stats {
		line := stat.Path + " (binary)"
		if !stat.Binary {
			line = fmt.Sprintf("%s +%d -%d", stat.Path, stat.Added, stat.Removed)
		}
		if slices.Contains(held, stat.Path) {
			line += " (held: maintain permission approves it)"
		}
		lines = append(lines, line)
	}
	return lines
}

func (m *mirroring) wake() {
	if m.mirror != nil {
		m.mirror.Wake()
	}
}

// locked reports whether GitHub refused a comment because the issue is locked.
func (m *mirroring) locked() bool { return m.mirror != nil && m.mirror.Locked() }

// finish shows the rest of a session that has ended, for a bounded time and until told ends. If
// the session continues, the next mirror shows it.
func (m *mirroring) finish(ctx, told context.Context, s *orchestrator.State) {
	if m.mirror == nil {
		return
	}
	m.cancel()
	m.done.Wait()
	if !s.Ended() || m.lost {
		return
	}
	limit := s.Settings.LimitRemote.D()
	if limit <= 0 {
		limit = finishTime
	}
	if IsCanceled(ctx) {
		limit = signalTime
	}
	for {
		err := m.finishWithin(told, limit)
		if err == nil || told.Err() != nil {
			return
		}
		if m.r.Away == nil || m.r.Away() == nil || IsCanceled(ctx) {
			m.r.Log.Warn("not everything is shown on the issue", "session", m.r.sess.Name(), "err", errors.Join(err, m.mirror.LastError()))
			return
		}
		transport.Wait(told, awayPause)
	}
}

// awayPause is between two tries to show the end of a session while its account is refused.
const awayPause = 30 * time.Second

func (m *mirroring) finishWithin(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return m.mirror.Finish(transport.WithPriority(ctx, transport.PriorityFinishing))
}
