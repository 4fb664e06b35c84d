// Package engine runs one session: it collects what happened, lets
// [decide.Reduce] decide, makes the decision durable and has the effects
// carried out.
//
// [Run] is the one goroutine that owns a session's state while its lock is held.
// It takes inputs in a fixed order, so that a submission beats the exit of the
// agent that made it: results of effects, commands, tool lines, observations of
// files, conditions of agents, deadlines. Every decision is committed before
// anything of it is done; a failed commit does nothing and is tried again for two
// minutes. A wake-up carries no data: whatever woke it, the engine reads its
// files and cursors again, also without any wake-up every 30 seconds, and every two
// where nothing can wake it. Agents are looked at after each wake and commit, when a
// report asks for it, and every 30 seconds.
//
// Effects run side by side, those with the same key in order, each at most once
// at a time; an effect that waits for others starts when they are done. What is
// not done when the engine ends stays in the state, and the next start does it.
//
// A submission of work waits in front of the cursor until its tree is taken, so that the
// decision about it knows what was handed in, whatever its agent writes later.
//
// The engine sees the world through [Effects], [Agents] and [Work]. It stores nothing but
// what the session package writes for it.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/postbox"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// Effects makes effects true.
type Effects interface {
	// Ensure carries e out, or finds that it is true already: carried out twice
	// it leaves the world as carried out once. It is called from several
	// goroutines and returns soon after ctx ends. An error means one failed try;
	// Remote, Away, Cooling and Never say what kind, any other is local and tried again soon.
	Ensure(ctx context.Context, e orchestrator.Effect) (orchestrator.Result, error)
}

// Agents looks at the agents of a session.
type Agents interface {
	// Observe returns the condition of every launch that the state names. It
	// must not change the state. An error means that they could not be observed; it
	// says nothing about any agent.
	Observe(ctx context.Context, s *orchestrator.State) (Look, error)
}

// Look is the result of one look at the agents.
type Look struct {
	Reports []orchestrator.AgentReport
	// Next is how soon a report may change by something that does not wake the engine, as the screen of an
	// agent or the time for which a dialog is open. 0 = it does not: the safety look will do.
	Next time.Duration
}

// Options is what Run needs.
type Options struct {
	Session    *session.Session // its lock held, for as long as Run runs
	Definition *workflows.Definition
	Effects    Effects
	Agents     Agents
	Work       Work            // nil = work is taken by its integration, once its agent has ended
	Wakes      <-chan struct{} // something in the session's directory may have changed; may be nil
	Start      orchestrator.Start
	Log        *slog.Logger              // nil = none
	Now        func() time.Time          // nil = time.Now
	OnCommit   func(*orchestrator.State) // called after each commit, must not block or change the state; may be nil
	// Redact takes secrets out of a text. What agents say goes through it before it is
	// decided about, so that neither records nor state hold one; nil = as it is.
	Redact func(string) string
	// Forged reports whether a line of an agent names a launch that has not written it. It
	// must not block; nil = none is.
	Forged func(orchestrator.Line) bool
	// Locked reports whether the issue takes no comments, so that people cannot answer
	// there. It is asked often and must not block; may be nil.
	Locked func() bool
	// Leaves says that other machines may continue the session from its checkpoints. They may not believe a line of an agent
	// that they find there, so in a pause, too, what agents have said is taken before each one that is due, and at once with what
	// they hand in.
	Leaves bool
	// Lost gives the id of the host that holds the claim of the issue now, once this one has lost
	// it; nil = no claim.
	Lost <-chan string
	// Edited returns the files besides state.json that somebody else wrote since it was asked
	// last, and that are ours again. It must not block; may be nil.
	Edited func() []string
	// Vacate is called when ctx ended without a Signal, once no effect is carried out any more. If it reports that it
	// ended the agents of s, what they have handed in is decided about before Run returns. May be nil.
	Vacate func(s *orchestrator.State) bool
}

// Signal is the cause to cancel Run's context with when the session itself is to
// end: the run is recorded as canceled and its agents are stopped. With any other
// cause Run only lets go of the session, whose agents go on.
type Signal struct{ Name string }

// Error names the signal.
func (s Signal) Error() string { return "signal: " + s.Name }

// Remote marks an error of a remote side, to be tried again with patience; wait
// is the pause it asked for, 0 if none.
func Remote(err error, wait time.Duration) error {
	return &classed{error: err, class: orchestrator.FailRemote, wait: wait}
}

// Away marks an error of a remote side that does not accept the account. It is tried again until it
// does, however long that takes: the limit of remote errors does not count.
func Away(err error) error { return &classed{error: err, class: orchestrator.FailAway} }

// Never marks an error that no further try can mend.
func Never(err error) error { return &classed{error: err, class: orchestrator.FailNever} }

// Cooling marks the start of an agent whose provider refuses more until about a time. The agent waits
// for its provider, and is started when a later try finds that it takes more, unless one of the fallbacks
// takes over: the providers that could, in order.
func Cooling(err error, until time.Time, fallbacks ...string) error {
	return &classed{error: err, class: orchestrator.FailCooling, until: until, fallbacks: fallbacks}
}

type classed struct {
	error
	class     string
	wait      time.Duration
	until     time.Time
	fallbacks []string
}

func (c *classed) Unwrap() error { return c.error }

const (
	safetyPause  = 30 * time.Second       // between two looks at files and agents at rest
	scanPause    = 2 * time.Second        // between two looks at files where nothing wakes the loop
	agentPause   = 2 * time.Second        // until the look at agents after a commit
	wakePause    = 200 * time.Millisecond // between two looks at agents when woken
	absentFor    = 2 * time.Second        // how long a pane is missing before that counts
	silencePause = 10 * time.Second       // between two reports of the same silence
	stopBound    = 10 * time.Second       // for what is left to do after a signal
	vacateBound  = time.Minute            // for what agents handed in until they were ended
	settleBound  = 5 * time.Second        // for file effects at a resume
	settlePause  = 500 * time.Millisecond // between two looks at a file that may still be written
	observeBound = 10 * time.Second
)

// Run hosts the session until it has an outcome and nothing is pending, and
// returns the last committed state. It returns an error, with the state it had
// reached, when the session cannot be read, a commit failed for two minutes, or
// ctx ended without a Signal.
func Run(ctx context.Context, o Options) (*orchestrator.State, error) {
	l, err := newLoop(ctx, o)
	if err != nil {
		return nil, err
	}
	defer l.close()
	err = l.begin(ctx)
	if err == nil {
		err = l.run(ctx)
	}
	if ctx.Err() != nil {
		err = l.interrupted(ctx, err)
	}
	return l.st, err
}

func newLoop(ctx context.Context, o Options) (*loop, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnCommit == nil {
		o.OnCommit = func(*orchestrator.State) {}
	}
	if o.Definition == nil {
		def, err := o.Session.Definition()
		if err != nil {
			return nil, err
		}
		o.Definition = def
	}
	st, err := o.Session.Recover(o.Now())
	if err != nil {
		return nil, fmt.Errorf("recover session: %w", err)
	}
	o.Log = o.Log.With("session", st.SessionID)
	for _, d := range o.Session.Differences(st) {
		o.Log.Warn("the state is not what the records say; see agentmux doctor "+o.Session.Name(), "differs", d)
	}
	for _, warning := range st.Warnings {
		o.Log.Warn("state read", "warning", warning)
	}
	watch, stopWatch := context.WithCancel(context.WithoutCancel(ctx))
	l := &loop{
		Options: o, st: st,
		watch: watch, stopWatch: stopWatch,
		effects:   newRunner(context.WithoutCancel(ctx), o.Effects),
		files:     &files{def: o.Definition, sess: o.Session, now: o.Now, stable: o.Session.NewStable(), looked: map[string]string{}},
		found:     make(chan Look, 1),
		absent:    map[orchestrator.Launch]time.Time{},
		clock:     newClock(o.Now()),
		forwarded: map[orchestrator.AgentKey]forward{},
		hand:      newHand(o.Session),
		archive:   archive{postbox.Archive{Log: o.Session.Path(session.MessagesLog), Now: o.Now}},
	}
	l.takes = newTakes(watch, &l.Options)
	l.views.Views = postbox.Views{Queues: o.Session.Path(session.QueuesDir), Offsets: o.Session.Path(session.OffsetsDir), Archive: &l.archive.Archive}
	l.views.stale = len(st.Messages) > 0 // what a kill left of them is of an earlier commit
	return l, nil
}

// close waits for every goroutine of the run.
func (l *loop) close() {
	l.stopWatch()
	if l.looks.running {
		<-l.found
	}
	l.takes.close()
	l.effects.shutdown()
	l.logged, l.views.at = time.Time{}, time.Time{}
	l.views.show(&l.Options, l.st)
	l.logCreated()
}

// interrupted ends the run after ctx ended.
func (l *loop) interrupted(ctx context.Context, err error) error {
	var sig Signal
	if !errors.As(context.Cause(ctx), &sig) {
		if err == nil {
			err = vacated(ctx, l)
		}
		return cmp.Or(err, context.Cause(ctx))
	}
	if !l.st.Ended() {
		in := orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Signal: sig.Name}}
		if _, err := l.apply(ctx, in); err != nil {
			return err
		}
	}
	return l.finishPending()
}

// vacated has the agents ended, and takes what they have handed in and said until then: another host may not believe
// a line that it finds, because the keys of launches stay on this machine. What follows from it stays pending.
func vacated(ctx context.Context, l *loop) error {
	l.effects.shutdown()
	if l.Vacate == nil || l.st.Ended() || !l.Vacate(l.st) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), vacateBound)
	defer cancel()
	l.last = true
	for {
		l.takes.begin()
		err := l.toolLines(ctx)
		if err == nil {
			err = l.messageLines(ctx)
		}
		if err != nil || l.takes.running() == 0 {
			return err
		}
		select {
		case end := <-l.takes.ended:
			l.takes.finish(end)
		case <-ctx.Done():
			l.Log.Warn("not all that agents handed in was taken before the hand-over", "time", vacateBound)
			return nil
		}
	}
}
