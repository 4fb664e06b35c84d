package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
)

// runner carries out effects. Only the loop's goroutine calls it; each try runs
// in a goroutine of its own that the runner waits for.
type runner struct {
	effects Effects
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan finished
	running map[string]try // effect id -> its try
	// settled are file effects that are done. Their results wait for the end of others, so that
	// they share a commit.
	settled []finished
}

type try struct {
	key    string
	file   bool // of a file effect
	cancel context.CancelFunc
}

// finished is the end of one try.
type finished struct {
	id     string
	result orchestrator.Result
	err    error
}

func newRunner(ctx context.Context, effects Effects) *runner {
	ctx, cancel := context.WithCancel(ctx)
	return &runner{effects: effects, ctx: ctx, cancel: cancel, done: make(chan finished), running: map[string]try{}}
}

func (r *runner) idle() bool { return len(r.running) == 0 && len(r.settled) == 0 }

// ready starts every pending effect whose turn it is: all it waits for is done,
// no earlier effect of its key is pending or still running, its pause is over. A file effect
// begins when another is done whose result is not committed yet: after a kill both are carried
// out again, in their order. Any other begins only from what is committed, because the files
// may be its agent's then.
func (r *runner) ready(st *orchestrator.State, now time.Time) {
	if r.ctx.Err() != nil {
		return // shut down
	}
	busy := map[string]bool{}
	for _, t := range r.running {
		busy[t.key] = true
	}
	for _, e := range st.Pending {
		if _, runs := r.running[e.ID]; runs || r.isSettled(e.ID) {
			continue
		}
		if !busy[e.Key] && r.free(e) && !e.NotBefore.After(now) {
			r.start(e)
		}
		busy[e.Key] = true
	}
}

// free reports whether nothing keeps an effect from beginning but its turn.
func (r *runner) free(e orchestrator.Effect) bool {
	return !slices.ContainsFunc(e.After, func(id string) bool { return !fileEffects[e.Type] || !r.isSettled(id) })
}

func (r *runner) isSettled(id string) bool {
	return slices.ContainsFunc(r.settled, func(f finished) bool { return f.id == id })
}

// filesRun reports whether a file effect is being carried out.
func (r *runner) filesRun() bool {
	for _, t := range r.running {
		if t.file {
			return true
		}
	}
	return false
}

func (r *runner) start(e orchestrator.Effect) {
	ctx, cancel := context.WithCancel(r.ctx)
	r.running[e.ID] = try{key: e.Key, file: fileEffects[e.Type], cancel: cancel}
	go func() {
		defer cancel()
		f := finished{id: e.ID}
		crash.Point("effect", e.Type)
		f.result, f.err = r.ensure(ctx, e)
		crash.Point("effect done", e.Type)
		r.done <- f
	}()
}

// ensure turns a panic into a failed try of this one effect.
func (r *runner) ensure(ctx context.Context, e orchestrator.Effect) (res orchestrator.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Never(fmt.Errorf("panic in %s: %v", e.Type, p))
		}
	}()
	return r.effects.Ensure(ctx, e)
}

// drop interrupts the tries of effects that are wanted no more. Their keys stay
// busy until they have returned: what stops an agent must not overtake what was
// starting it.
func (r *runner) drop(pending []orchestrator.Effect) {
	for id, t := range r.running {
		if !slices.ContainsFunc(pending, func(e orchestrator.Effect) bool { return e.ID == id }) {
			t.cancel()
		}
	}
}

// shutdown interrupts every try and waits for them.
func (r *runner) shutdown() {
	r.cancel()
	for len(r.running) > 0 {
		delete(r.running, (<-r.done).id)
	}
}

// finish hands the ends of tries to the reducer: f, and those that wait to be taken. They
// share one commit, since each commit costs several writes to the disk. A file that was made
// waits for those that are being made. An effect that was dropped meanwhile is not reported.
func (l *loop) finish(ctx context.Context, f finished) error {
	wait := true
	for more := true; more; {
		wait = wait && f.err == nil && l.effects.running[f.id].file
		delete(l.effects.running, f.id)
		l.effects.settled = append(l.effects.settled, f)
		select {
		case f = <-l.effects.done:
		default:
			more = false
		}
	}
	if wait {
		if l.effects.ready(l.st, l.Now()); l.effects.filesRun() {
			return nil
		}
	}
	b := batch{state: l.st}
	ends := l.effects.settled
	l.effects.settled = nil
	for _, f := range ends {
		in, wanted := result(b.state, f)
		if !wanted {
			continue
		}
		if _, err := l.stage(&b, in); err != nil {
			return err
		}
	}
	if _, err := l.flush(ctx, b); err != nil {
		return err // the state still owes what has just ended: nothing may begin from it
	}
	l.effects.ready(l.st, l.Now())
	return nil
}

// result is the input that the end of a try makes.
func result(s *orchestrator.State, f finished) (in orchestrator.Input, wanted bool) {
	wanted = slices.ContainsFunc(s.Pending, func(e orchestrator.Effect) bool { return e.ID == f.id })
	in = orchestrator.Input{Kind: orchestrator.InEffectDone, Effect: &orchestrator.Outcome{ID: f.id, Result: f.result}}
	if f.err != nil {
		in.Kind = orchestrator.InEffectFailed
		in.Effect = &orchestrator.Outcome{ID: f.id, Error: f.err.Error(), Class: orchestrator.FailLocal}
		var c *classed
		if errors.As(f.err, &c) {
			in.Effect.Class, in.Effect.Wait, in.Effect.Until = c.class, orchestrator.Duration(c.wait), orchestrator.At(c.until)
			in.Effect.Fallbacks = c.fallbacks
		}
	}
	return in, wanted
}

// finishPending carries out what the end of the session left to do, for a
// bounded time; what is not done then stays pending for the next start.
func (l *loop) finishPending() error {
	ctx, cancel := context.WithTimeout(l.effects.ctx, stopBound)
	defer cancel()
	for len(l.st.Pending) > 0 || !l.effects.idle() {
		l.effects.ready(l.st, l.Now())
		wake := time.NewTimer(l.next())
		select {
		case f := <-l.effects.done:
			wake.Stop()
			if err := l.finish(ctx, f); err != nil {
				return err
			}
		case <-wake.C:
		case <-ctx.Done():
			wake.Stop()
			return nil
		}
	}
	return nil
}

// fileEffects prepare the files of a phase.
var fileEffects = map[string]bool{
	orchestrator.EffEnsureDirs: true, orchestrator.EffWriteFile: true, orchestrator.EffWriteMarker: true,
	orchestrator.EffMoveAside: true, orchestrator.EffRemoveFiles: true, orchestrator.EffMaterialise: true,
}

func filesPending(st *orchestrator.State) bool {
	return slices.ContainsFunc(st.Pending, func(e orchestrator.Effect) bool { return fileEffects[e.Type] })
}
