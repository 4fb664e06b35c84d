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

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/crew"
	"github.com/agentmux/agentmux/bot/display"
	"github.com/agentmux/agentmux/bot/handover"
	"github.com/agentmux/agentmux/bot/inbox"
	"github.com/agentmux/agentmux/bot/restore"
	"github.com/agentmux/agentmux/bot/roster"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/prompt"
)

// lockTime is how long a starting host waits for the launcher to let go of the lock.
const lockTime = 2 * time.Second

// RunSpec says which session to run, and how it is taken.
type RunSpec struct {
	Dir    string         // session directory
	Config *config.Config // for a resume its settings replace the session's
	Resume bool           // a person or the bot asked to continue
	// Attended, with Resume: by a person at a terminal, who is asked what they can decide.
	Attended bool
	Changes  string // with Resume: what is wanted different
	Base     string // with Resume: the branch of the server that its pull request goes to from now on
	// Backup takes the state before the last phase entry instead of the present one.
	Backup bool
	// OnCommit is called with each committed state; it must not block. May be nil.
	OnCommit func(*orchestrator.State)
	Mirror   MirrorSpec
	// Guard is asked before each write to the outside. Where it knows of another holder, the
	// session ends. Nil = nothing is claimed.
	Guard Guard
	// Away has the session's checkpoints pushed, unless checkpoint.remote is off. Nil = they stay
	// on this machine.
	Away *checkpoint.Away
	// MayPush is asked before each round is pushed; refused says why that may not be. Nil = it may.
	MayPush func(ctx context.Context) (refused string, err error)

	restored *restore.Note // of a session that comes from a checkpoint and was not started since
	asked    bool          // with restored: by a person, not only because the session has to continue
}

// Run takes a session's lock, runs the session until it has an outcome and owes nothing,
// and returns its last state. It returns *session.LockedError if another host has it, and
// an error with the state reached when the session could not be brought to an end. A
// context that ends with an engine.Signal as its cause cancels the session; with ErrHandOver, its
// agents end and it is saved for another host; with any other, its agents continue and another Run
// adopts them.
func (h *Host) Run(ctx context.Context, spec RunSpec) (*orchestrator.State, error) {
	last, err := h.hosted(ctx, spec, lockTime)
	for err == nil && ctx.Err() == nil && inbox.Late(spec.Dir, last) {
		// While the session ended, it got a command. It runs again as with a new host, because
		// this one has released what the session needs.
		next, nextErr := h.hosted(ctx, RunSpec{Dir: spec.Dir, Config: spec.Config, OnCommit: spec.OnCommit, Mirror: spec.Mirror, Guard: spec.Guard, Away: spec.Away, MayPush: spec.MayPush}, 0)
		if errors.As(nextErr, new(*session.LockedError)) {
			break // the host that the command started was quicker
		}
		last, err = next, nextErr
	}
	return last, err
}

// hosted runs the session to its next end, under its lock.
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
	note, owed, err := restore.Read(sess)
	if err != nil {
		return s, err
	}
	r.crew.UseEarlierWork(note.Unsubmitted())
	if owed {
		spec.OnCommit = note.Settling(sess.Dir, spec.OnCommit)
		spec.restored, spec.asked, spec.Resume = note, spec.Resume, spec.Resume || !s.Ended()
	}
	if spec.Resume {
		if err := h.Preflight(ctx, spec.Config, r.def, s.Interactive); err != nil {
			return s, err
		}
		if err := errors.Join(r.work.CheckBase(ctx, s), r.work.SetTarget(ctx, s, spec.Base)); err != nil {
			return s, err
		}
	}
	return r.run(ctx, spec)
}

// recover brings the session back to its last commit. It leaves a session that was not made on
// this machine as it is.
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
	r := h.gather(work.Spec{Session: sess, State: s, Workflow: def, Config: spec.Config, Project: project}, providers, guarding{spec.Guard, spec.MayPush, spec.Away})
	if err := r.crew.HideCredentials(providers); err != nil {
		return nil, err
	}
	if err := r.findPrompts(ctx, s); err != nil {
		return nil, err
	}
	if s, err = r.work.Identify(ctx, s); err != nil {
		return nil, err
	}
	if s, err = r.work.Remember(s); err != nil {
		return nil, err
	}
	r.state.Store(s)
	return r, r.crew.Open(s)
}

// findPrompts gives the crew the project's own prompts.
func (r *runner) findPrompts(ctx context.Context, s *orchestrator.State) error {
	files, err := r.projectPrompts(ctx, s)
	r.crew.UsePrompts(files)
	return err
}

// projectPrompts returns the prompt texts of the project: those of the commit that the session's
// configuration is from, else those on disk. Links out of their directory are not followed.
func (r *runner) projectPrompts(ctx context.Context, s *orchestrator.State) (fs.FS, error) {
	if !r.project.Managed && !isCommit(s.ConfigSource) {
		if err := session.CheckLinks(r.sess.Project()); err != nil {
			return nil, err
		}
		root, err := os.OpenRoot(filepath.Join(r.sess.Project(), prompt.ProjectDir))
		if err != nil {
			return nil, nil // the project has no prompts
		}
		return root.FS(), nil
	}
	files, err := r.project.Files(ctx, s.BaseSHA)
	if err != nil {
		return nil, err
	}
	return fs.Sub(files, prompt.ProjectDir)
}

// isCommit reports whether the source of a configuration is a commit.
func isCommit(source string) bool {
	return len(source) >= 7 && strings.Trim(source, "0123456789abcdef") == ""
}

// run runs the engine with the mirror beside it, and waits for both.
func (r *runner) run(ctx context.Context, spec RunSpec) (*orchestrator.State, error) {
	s := r.state.Load()
	defer r.crew.StartRecorders()()
	defer func() { crew.LetGo(ctx, r.crew, r.state.Load()) }()
	if !s.Ended() || spec.Resume || inbox.Holds(r.sess, s) {
		if err := errors.Join(r.work.HoldBase(ctx, s), r.crew.TellSettings(ctx, s), r.crew.TakePanes(ctx, s), r.work.Mend(ctx, s)); err != nil {
			return s, err
		}
	}
	tree, err := r.Watcher.Watch(r.sess.Dir, unwatched)
	if err != nil {
		return s, err
	}
	defer func() { _ = tree.Close() }()
	r.crew.OnExit(tree.Process)
	start, err := r.start(ctx, spec)
	if err != nil {
		return s, err
	}
	if r.def.Team != nil && !r.project.Managed {
		if err := roster.Link(ctx, r.sess, r.project.Clone.Root); err != nil {
			r.Log.Warn(roster.SignalsLink+" is not made", "err", err)
		}
	}
	board := r.board(s)
	defer board.Close()
	stopSpares := r.work.StartSpares(ctx)
	shown := r.startMirror(ctx, spec.Mirror)
	lost, unwatch := r.guarding.losing()
	defer unwatch()
	crash.Point("start mirror", "")
	last, err := engine.Run(ctx, engine.Options{
		Session: r.sess, Definition: r.def, Effects: r, Agents: r.crew, Work: r, Wakes: tree.Wakes(), Now: r.Now,
		Log: r.Log, Start: start, Redact: r.Redactor.Redact, Forged: r.crew.Forged, Locked: shown.Locked, OnCommit: func(s *orchestrator.State) {
			r.state.Store(s)
			r.work.Foresee(r.def, s)
			shown.Wake()
			board.Look(s)
			if spec.OnCommit != nil {
				spec.OnCommit(s)
			}
		},
		Edited: r.project.Edited.Take, Lost: lost, Leaves: spec.Away != nil && r.work.CheckpointsLeave(), Vacate: func(s *orchestrator.State) bool { return r.vacate(ctx, s) },
	})
	stopSpares()
	if last == nil {
		last = r.state.Load()
	}
	crash.Point("end engine", "")
	if r.Borrowed { // what is left on a full disk is lost with it
		ctx, err = handover.Full(ctx, err)
		r.vacate(ctx, last)
	}
	if IsHandOver(ctx) && (err != nil || !last.Ended()) { // one that ended may owe what only its checkpoint holds
		last = r.handOver(ctx, last)
	}
	if _, gone := os.Lstat(r.sess.Dir); errors.Is(gone, fs.ErrNotExist) {
		return last, errors.Join(err, r.crew.EndServer(ctx))
	}
	over, closed := last.Ended() && err == nil, false
	if over {
		// This comes before the last comments: until they are written, a start after a kill gets here again, as
		// it does while the tmux server is there. They do not wait for one that is slow to answer.
		if _, err := r.changelog(context.WithoutCancel(ctx), last); err != nil {
			r.Log.Warn("changelogs are not complete", "err", err)
		}
		closed = r.crew.ClosePanes(ctx, 2*time.Second, false) == nil
		r.crew.FinishTranscripts(ctx)
	}
	told, stop := inbox.Until(ctx, r.sess, last)
	shown.Finish(told, display.End{State: last, Canceled: IsCanceled(ctx)})
	stop()
	crash.Point("finish mirror", "")
	if over && !closed {
		if err := r.crew.ClosePanes(ctx, crew.CloseTime, true); err != nil {
			r.Log.Warn("tmux server not ended", slog.String("session", r.sess.Name()), slog.Any("err", err))
		}
	}
	return last, err
}

func (r *runner) start(ctx context.Context, spec RunSpec) (orchestrator.Start, error) {
	s := r.state.Load()
	settings := r.settings(spec.Config, s.Kind, s.Interactive || s.IssueNumber > 0 || s.Mirror)
	start := orchestrator.Start{Mode: orchestrator.StartNew, Settings: &settings}
	if spec.Resume || s.IsClassic() {
		start = orchestrator.Start{Mode: orchestrator.StartResume, Changes: spec.Changes, Settings: &settings, Base: spec.Base, Attended: spec.Attended, Lost: r.work.LostWorkspaces(s)}
	}
	var err error
	switch {
	case spec.restored != nil:
		if start.Mode == orchestrator.StartNew {
			start.Settings = nil // only a resume has them; its own are those of the move
		}
		start.Mode = orchestrator.StartMoved
		start.Moved, err = r.moved(ctx, spec, settings)
	case s.IsClassic():
		start.Classic, err = r.work.Classic(ctx, s)
	}
	return start, err
}

// unwatched reports whether changes of a path mean nothing to the engine.
func unwatched(path string) bool {
	switch path {
	case session.StateFile, session.EventsFile, session.RuntimeFile, session.HostLog, session.CreatedLog,
		session.ToolCursorFile, session.MirrorFile, session.LockFile, session.TranscriptsDir, session.BlobsDir, session.MessagesLog, session.QueuesDir, session.OffsetsDir:
		return true
	}
	return filepath.Dir(path) == session.MirrorsDir || filepath.Base(path) == "config" && filepath.Dir(filepath.Dir(path)) == session.LaunchesDir
}

// IsCanceled reports whether ctx ended because the session is to be canceled.
func IsCanceled(ctx context.Context) bool {
	var sig engine.Signal
	return errors.As(context.Cause(ctx), &sig)
}
