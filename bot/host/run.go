package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/watch"
	"github.com/agentmux/agentmux/tmux"
	"github.com/agentmux/agentmux/workflows/prompt"
)

// lockTime is how long a starting host waits for the launcher to let go of the lock.
const lockTime = 2 * time.Second

// RunSpec says which session to run, and how it is taken.
type RunSpec struct {
	Dir    string         // session directory
	Config *config.Config // for a resume its settings replace the session's
	Resume bool           // a person or the bot asked to go on
	// Attended, with Resume: by a person at a terminal, who is asked what they can decide.
	Attended bool
	Changes  string // with Resume: what is wanted different
	PROpen   bool   // with Resume: the session's pull request is open
	Base     string // with Resume: the branch of the server that its pull request goes to from now on
	// Backup takes the state before the last phase entry instead of the present one.
	Backup bool
	// OnCommit is called with each committed state; it must not block. May be nil.
	OnCommit func(*orchestrator.State)
	Mirror   MirrorSpec
}

// Run takes a session's lock, runs the session until it has an outcome and owes nothing,
// and returns its last state. It returns *session.LockedError if another host has it, and
// an error with the state reached when the session could not be brought to an end. A
// context that ends with an engine.Signal as its cause cancels the session; with any
// other, its agents go on and another Run adopts them.
func (h *Host) Run(ctx context.Context, spec RunSpec) (*orchestrator.State, error) {
	last, err := h.hosted(ctx, spec, lockTime)
	for err == nil && ctx.Err() == nil && told(spec.Dir, last) {
		// While it ended, somebody told the session something. It is taken up as by a host
		// that starts now: this one has let go of what the session needs.
		next, nextErr := h.hosted(ctx, RunSpec{Dir: spec.Dir, Config: spec.Config, OnCommit: spec.OnCommit, Mirror: spec.Mirror}, 0)
		if errors.As(nextErr, new(*session.LockedError)) {
			break // the one who said it was quicker
		}
		last, err = next, nextErr
	}
	return last, err
}

// hosted runs the session to the end that it comes to first, under its lock.
func (h *Host) hosted(ctx context.Context, spec RunSpec, wait time.Duration) (*orchestrator.State, error) {
	sess, err := session.Open(spec.Dir)
	if err != nil {
		return nil, err
	}
	if err := sess.Lock(wait); err != nil {
		return nil, err
	}
	defer func() {
		if err := sess.Close(); err != nil {
			h.Log.Warn("lock not released", "session", sess.Name(), "err", err)
		}
		crash.Point("release lock", "")
	}()
	s, err := h.recover(ctx, sess, spec)
	if err != nil {
		return nil, err
	}
	r, err := h.runner(ctx, sess, s, spec)
	if err != nil {
		return s, err
	}
	s = r.state.Load()
	if spec.Resume {
		if err := h.Preflight(spec.Config, r.def, s.Interactive); err != nil {
			return s, err
		}
		if err := errors.Join(r.basis(ctx, s), r.target(ctx, spec.Base)); err != nil {
			return s, err
		}
	}
	return r.run(ctx, spec)
}

// recover brings the session back to its last commit. One that is not of this machine is not
// touched.
func (h *Host) recover(ctx context.Context, sess *session.Session, spec RunSpec) (*orchestrator.State, error) {
	read := sess.ReadState
	if spec.Backup {
		read = sess.ReadBackup
	}
	s, err := read()
	if err != nil {
		return nil, err
	}
	if err := h.Trust(ctx, sess.Dir, s, spec.Config); err != nil {
		return nil, err
	}
	if err := h.follow(sess, s); err != nil {
		return nil, err
	}
	if spec.Backup {
		if err := sess.FromBackup(); err != nil {
			return nil, err
		}
	}
	return sess.Recover(h.Now())
}

func (h *Host) runner(ctx context.Context, sess *session.Session, s *orchestrator.State, spec RunSpec) (*runner, error) {
	def, err := sess.Definition()
	if err != nil {
		return nil, err
	}
	providers, err := Providers(spec.Config)
	if err != nil {
		return nil, err
	}
	project, err := h.projectOf(ctx, sess, spec.Config)
	if err != nil {
		return nil, fmt.Errorf("open project of %s: %w", sess.Name(), err)
	}
	r := &runner{
		Host: h, sess: sess, place: placeOf(sess.Dir, s), def: def, cfg: spec.Config, project: project, repo: project.repo, providers: providers,
		signals: &signals{launches: map[string]followed{}}, redactor: h.Redactor,
	}
	if err := r.hideCredentials(); err != nil {
		return nil, err
	}
	if r.prompts, err = r.projectPrompts(ctx, s); err != nil {
		return nil, err
	}
	if s, err = r.identify(ctx, s); err != nil {
		return nil, err
	}
	if s, err = r.remember(s); err != nil {
		return nil, err
	}
	r.state.Store(s)
	r.panes, err = h.openPanes(sess, s)
	return r, err
}

// projectPrompts are the prompt texts of the project: those of the commit the session's
// configuration is from, else as they are on disk, where nothing outside of their
// directory can be reached through them.
func (r *runner) projectPrompts(ctx context.Context, s *orchestrator.State) (fs.FS, error) {
	if !r.project.Managed && !isCommit(s.ConfigSource) {
		if err := session.CheckLinks(r.sess.Project()); err != nil {
			return nil, err
		}
		root, err := os.OpenRoot(filepath.Join(r.sess.Project(), prompt.ProjectDir))
		if err != nil {
			return nil, nil // there are none
		}
		return root.FS(), nil
	}
	files, err := r.project.Files(ctx, s.BaseSHA)
	if err != nil {
		return nil, err
	}
	return fs.Sub(files, prompt.ProjectDir)
}

// isCommit tells a commit from the name of another source.
func isCommit(source string) bool {
	return len(source) >= 7 && strings.Trim(source, "0123456789abcdef") == ""
}

// run has the engine run the session. The mirror goes beside it and is waited for.
func (r *runner) run(ctx context.Context, spec RunSpec) (*orchestrator.State, error) {
	s := r.state.Load()
	r.recorders = r.openRecorders()
	defer func() { _ = r.recorders.Close() }()
	if !s.Ended() || spec.Resume || unread(r.sess, s) {
		if err := errors.Join(r.hold(ctx, s), r.tellSettings(ctx, s), r.takePanes(ctx, s), r.mend(ctx, s)); err != nil {
			return s, err
		}
	}
	watcher, err := watch.New(r.sess.Dir, watch.Options{Ignore: unwatched})
	if err != nil {
		return s, err
	}
	defer func() { _ = watcher.Close() }()
	start, err := r.start(ctx, spec)
	if err != nil {
		return s, err
	}
	mirror := r.startMirror(ctx, spec.Mirror)
	crash.Point("start mirror", "")
	letControl := r.startControl(ctx)
	last, err := engine.Run(ctx, engine.Options{
		Session: r.sess, Definition: r.def, Effects: r, Agents: r, Wakes: watcher.Wakes(), Now: r.Now,
		Log: r.Log, Start: start, Redact: r.redactor.Redact, Forged: r.forged, Locked: mirror.locked, OnCommit: func(s *orchestrator.State) {
			r.state.Store(s)
			mirror.wake()
			if spec.OnCommit != nil {
				spec.OnCommit(s)
			}
		},
		Edited: r.project.edited.take,
	})
	letControl()
	if last == nil {
		last = r.state.Load()
	}
	crash.Point("end engine", "")
	if _, gone := os.Lstat(r.sess.Dir); errors.Is(gone, fs.ErrNotExist) {
		return last, errors.Join(err, r.endWithout(ctx))
	}
	over, closed := last.Ended() && err == nil, false
	if over {
		// Before the last comments: as long as those are owed, a start after a kill comes
		// here again. They do not wait for a server that is slow to answer.
		closed = r.closePanes(ctx, 2*time.Second, false) == nil
		r.recorders.finish(ctx)
	}
	told, stop := untold(ctx, r.sess, last)
	mirror.finish(ctx, told, last)
	stop()
	crash.Point("finish mirror", "")
	if over && !closed {
		if err := r.closePanes(ctx, closeTime, true); err != nil {
			r.Log.Warn("tmux server not ended", slog.String("session", r.sess.Name()), slog.Any("err", err))
		}
	}
	return last, err
}

func (r *runner) start(ctx context.Context, spec RunSpec) (orchestrator.Start, error) {
	s := r.state.Load()
	start := orchestrator.Start{Mode: orchestrator.StartNew}
	if spec.Resume || s.IsClassic() {
		settings := Settings(spec.Config, s.Interactive || s.IssueNumber > 0)
		start = orchestrator.Start{Mode: orchestrator.StartResume, Changes: spec.Changes, Settings: &settings, PROpen: spec.PROpen, Base: spec.Base, Attended: spec.Attended, Lost: r.lostWorkspaces(s)}
	}
	if !s.IsClassic() {
		return start, nil
	}
	var err error
	start.Classic, err = r.classic(ctx, s)
	return start, err
}

// unwatched are the paths whose changes tell the engine nothing.
func unwatched(path string) bool {
	switch path {
	case session.StateFile, session.EventsFile, session.RuntimeFile, session.HostLog, session.CreatedLog,
		session.ToolCursorFile, session.MirrorFile, session.LockFile, session.TranscriptsDir, session.BlobsDir:
		return true
	}
	return filepath.Base(path) == "config" && filepath.Dir(filepath.Dir(path)) == session.LaunchesDir
}

// takePanes makes the server be there, remembers which launches went away with an older
// one, and ends launches of this session that nobody knows.
func (r *runner) takePanes(ctx context.Context, s *orchestrator.State) error {
	if _, err := r.panes.list(ctx); err != nil {
		return r.panes.serverGone(ctx, err, expectedLaunches(s))
	}
	found, err := r.panes.ensure(ctx)
	if err != nil {
		return err
	}
	return r.stopStrays(ctx, found, s)
}

// endWithout ends what belongs to a session whose directory somebody removed, whoever looks
// at it: no later command could find it.
func (r *runner) endWithout(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	r.recorders.finish(ctx)
	if err := r.panes.kill(ctx); err != nil && !errors.Is(err, tmux.ErrNoServer) {
		return fmt.Errorf("end the tmux server: %w", err)
	}
	return nil
}

// closeTime is how long the server of a finished session has to answer.
const closeTime = 20 * time.Second

// closePanes ends the server of a finished session unless somebody looks at it; with force
// also one that does not answer who does. One that has ended may have left its files, if the
// host was killed meanwhile.
func (r *runner) closePanes(ctx context.Context, limit time.Duration, force bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	attached, err := r.panes.server.Attached(ctx)
	deaf := force && errors.Is(err, tmux.ErrNoAnswer)
	if attached || err != nil && !deaf && !unreachable(err) {
		return err
	}
	return r.panes.kill(ctx)
}

// IsCanceled reports whether ctx ended because the session is to be canceled.
func IsCanceled(ctx context.Context) bool {
	var sig engine.Signal
	return errors.As(context.Cause(ctx), &sig)
}
