// Package spares makes the workspaces of a session ahead: while the agents of a step work, those
// that the next step is known to need.
//
// They are not part of the state. One goroutine makes them as the committed state shows them to
// be needed, [Spares.Take] gives one away, and without them everything is made when it is asked
// for. No agent was let into a spare: it is brought to the commit that is wanted. It is not set up
// either: what a setup makes may hold the path of its directory, and a spare has another name
// than the workspace that it becomes.
//
// Stored: spare-1, spare-2 and so on in the session's directory of workspaces, at most two at a
// time. They are removed when the session needs none any more and at the end of a run; those of a
// run that was killed, at the start of the next one.
package spares

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"

	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/spare"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows"
)

// maxSpares bounds how many workspaces a session has ahead of its need.
const maxSpares = 2

// Options say where the spares of a session lie and how they are made.
type Options struct {
	Session string
	Dir     string // of the session's workspaces
	Store   *gitrepo.Store
	Log     *slog.Logger

	Make func(ctx context.Context, dir, commit string) error // a workspace; an ensure
	Drop func(dir string) error                              // one, with all that is kept beside it
}

// Spares are those of one session while a run lasts. Start makes them.
type Spares struct {
	Options
	wake chan struct{}

	mu   sync.Mutex
	need need
	made int      // so far
	free []*ahead // whole ones, and the one that is being made
	gone []*ahead // to be removed
}

// need is what the last committed state asks for.
type need struct {
	n      int
	commit string
	hold   bool // agents are being started: nothing is to take their time
	begun  bool // an agent was started in this run
	failed bool // one could not be made since the state was committed
}

// ahead is one spare, or one that is being made.
type ahead struct {
	dir    string
	commit string
	ready  chan struct{} // closed when nothing is done to it any more
	failed bool          // set before
}

// Start makes workspaces ahead until stop is called, which removes those that were not taken.
func Start(ctx context.Context, o Options) (s *Spares, stop func()) {
	s = &Spares{Options: o, wake: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { s.run(ctx) })
	return s, func() {
		cancel()
		running.Wait()
		s.sweep()
	}
}

// Foresee tells which workspaces the step after a committed state needs. It does not block.
func (s *Spares) Foresee(def *workflows.Definition, st *orchestrator.State) {
	next := need{n: min(duty.Coming(def, st), maxSpares), commit: st.Integrated.Commit}
	for _, e := range st.Pending {
		switch e.Type {
		case orchestrator.EffStartAgent:
			next.hold, next.begun = true, true
		case orchestrator.EffEnsureWorkspace, orchestrator.EffIntegrate:
			next.hold = true
		}
	}
	s.mu.Lock()
	next.begun = next.begun || s.need.begun
	s.need = next
	s.mu.Unlock()
	s.stir()
}

// run makes and removes spares until ctx ends. Those of a run that was killed go first.
func (s *Spares) run(ctx context.Context) {
	s.sweep()
	for ctx.Err() == nil {
		for ctx.Err() == nil && s.step(ctx) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		}
	}
}

// sweep removes all spares.
func (s *Spares) sweep() {
	list, _ := os.ReadDir(s.Dir) // absent: there are none
	for _, e := range list {
		if name, ok := spareOf(e.Name()); ok {
			s.drop(&ahead{dir: filepath.Join(s.Dir, name)})
		}
	}
}

var spareName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(spare-[0-9]+)(\..*)?$`) })

// spareOf returns the spare that a name belongs to: what lies beside one continues its name with
// a dot.
func spareOf(name string) (spare string, ok bool) {
	if m := spareName().FindStringSubmatch(name); m != nil {
		return m[1], true
	}
	return "", false
}

// step brings the spares one step nearer to the need, and reports whether there was one to take.
func (s *Spares) step(ctx context.Context) bool {
	if !s.lacking() {
		x := s.leftOver()
		if x != nil {
			s.drop(x)
		}
		return x != nil
	}
	x, err := s.next(ctx)
	if x == nil || err != nil {
		return false
	}
	close(x.ready)
	if x.failed {
		s.release(x)
		s.drop(x)
	}
	return true
}

// tell logs why there is no spare, and reports whether there was an error.
func (s *Spares) tell(err error) bool {
	if err != nil && !errors.Is(err, context.Canceled) {
		s.Log.Warn("no workspace is made ahead", "session", s.Session, "err", err)
	}
	return err != nil
}

// next makes a spare that is lacking, in turn with other sessions.
func (s *Spares) next(ctx context.Context) (*ahead, error) {
	over, err := s.Store.Turn(ctx, "spare")
	if err != nil {
		return nil, err
	}
	defer over()
	x, from := s.choose()
	if x != nil {
		x.failed = s.tell(s.make(ctx, x, from))
	}
	return x, nil
}

// lacking reports whether a spare is to be made now.
func (s *Spares) lacking() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lacks()
}

// lacks is lacking; the caller holds mu.
func (s *Spares) lacks() bool {
	return s.need.begun && !s.need.hold && !s.need.failed && s.need.n > 0 && (len(s.free) < s.need.n || slices.ContainsFunc(s.free, s.behind))
}

// behind reports whether a spare is at another commit than the next step needs.
func (s *Spares) behind(x *ahead) bool { return x.commit != s.need.commit }

// leftOver returns a spare that is not needed, or a workspace that was retired, but none while
// agents are being started.
func (s *Spares) leftOver() (x *ahead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.need.hold {
		return nil
	}
	if len(s.free) > s.need.n {
		s.gone, s.free = append(s.gone, s.free[0]), s.free[1:]
	}
	if len(s.gone) > 0 {
		x, s.gone = s.gone[0], s.gone[1:]
	}
	return x
}

// choose begins a spare; from is one that may be brought there.
func (s *Spares) choose() (x, from *ahead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.lacks() {
		return nil, nil // the need changed while others had their turn
	}
	if i := slices.IndexFunc(s.free, s.behind); i >= 0 {
		from = s.free[i]
		s.free = slices.Delete(s.free, i, i+1)
	}
	s.made++
	x = &ahead{dir: s.place(s.made), commit: s.need.commit, ready: make(chan struct{})}
	s.free = append(s.free, x)
	return x, from
}

// make makes a spare, out of another one if that can be brought to its commit.
func (s *Spares) make(ctx context.Context, x, from *ahead) error {
	if from != nil {
		ok, err := s.move(ctx, from, x.dir, x.commit)
		if ok {
			return err
		}
		if s.drop(from); err != nil {
			return err
		}
	}
	return s.Make(ctx, x.dir, x.commit)
}

// release takes one that could not be made out of those that are free. The next commit of the
// session asks again.
func (s *Spares) release(x *ahead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = slices.DeleteFunc(s.free, func(f *ahead) bool { return f == x })
	s.need.failed = true
}

// discard leaves a spare to be removed later: an agent waits.
func (s *Spares) discard(x *ahead) {
	s.mu.Lock()
	s.gone = append(s.gone, x)
	s.mu.Unlock()
	s.stir()
}

// Retire takes a workspace away at once, and has its files removed when no agent waits.
func (s *Spares) Retire(dir string) error {
	if filepath.Dir(dir) != s.Dir {
		return s.Drop(dir)
	}
	s.mu.Lock()
	s.made++
	x := &ahead{dir: s.place(s.made)}
	s.mu.Unlock()
	err := os.Rename(dir, workspace.Removing(x.dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	crash.Point("retire workspace", "")
	s.discard(x)
	return s.Drop(dir) // what lies beside it
}

func (s *Spares) place(n int) string { return filepath.Join(s.Dir, fmt.Sprint("spare-", n)) }

// stir has the need looked at.
func (s *Spares) stir() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Spares) drop(x *ahead) {
	if err := s.Drop(x.dir); err != nil {
		s.Log.Warn("a workspace that was made ahead is not removed", "session", s.Session, "err", err)
	}
}

// move gives a spare another place, and another commit if it has one.
func (s *Spares) move(ctx context.Context, x *ahead, dir, commit string) (bool, error) {
	return spare.Take(ctx, spare.Move{Store: s.Store, Spare: x.dir, Dir: dir, Commit: commit})
}

// Take makes a spare the workspace at dir, and reports whether there was one that served. Where
// something is already it does nothing. s may be nil.
func (s *Spares) Take(ctx context.Context, dir, commit string) bool {
	if s == nil {
		return false
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	for {
		x := s.claim(commit)
		if x == nil {
			return false
		}
		select {
		case <-x.ready:
		case <-ctx.Done():
			s.giveBack(x)
			return false
		}
		if x.failed {
			continue
		}
		ok, err := s.move(ctx, x, dir, commit)
		if err != nil {
			s.Log.Warn("a workspace that was made ahead is not used", "session", s.Session, "err", err)
		}
		if !ok {
			s.discard(x)
			continue
		}
		crash.Point("took spare", "")
		s.Log.Debug("a workspace was made ahead", "session", s.Session, "dir", dir, "commit", commit)
		return true
	}
}

func (s *Spares) giveBack(x *ahead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, x)
}

// claim takes a spare out of those that are free: one of the commit, else any, which may be
// brought there.
func (s *Spares) claim(commit string) *ahead {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return nil
	}
	i := max(0, slices.IndexFunc(s.free, func(f *ahead) bool { return f.commit == commit }))
	x := s.free[i]
	s.free = slices.Delete(s.free, i, i+1)
	return x
}

// SameDisk reports whether what lies below dir, as a spare, can be moved to path. It makes path's directory.
func SameDisk(dir, path string) bool {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false
	}
	var from, to syscall.Stat_t
	return syscall.Stat(dir, &from) == nil && syscall.Stat(filepath.Dir(path), &to) == nil && from.Dev == to.Dev
}
