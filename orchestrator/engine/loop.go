package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
)

// loop is a running session. Only the goroutine of Run touches it.
type loop struct {
	Options
	st      *orchestrator.State // as committed
	version int                 // commits of this run
	effects *runner
	files   *files

	watch     context.Context // of looks at agents
	stopWatch context.CancelFunc
	found     chan Look
	looks     looks
	takes     takes
	hand      hand
	archive   archive
	views     views
	absent    map[orchestrator.Launch]time.Time // when its pane was first missed
	forwarded map[orchestrator.AgentKey]forward // the newest report that was judged

	scanned, logged time.Time // last looks
	clock           clock

	over bool // the session got its outcome in this run; what people say now is for the next
	last bool // the session is handed over, or saved in a pause for other machines: what agents have said is taken now, or never

	dirty   bool  // files may have been made since the last log of them
	failing spell // of commits
}

// begin takes the session: the start input, then for a resume everything that
// was submitted before agents are started.
func (l *loop) begin(ctx context.Context) error {
	start := l.Start
	if err := l.classic(&start); err != nil {
		return err
	}
	if err := l.setBack(ctx); err != nil {
		return err
	}
	resume := start.Mode != orchestrator.StartNew
	if resume {
		l.files.ingest, l.files.anyTime = true, l.st.Visit
	}
	if _, err := l.apply(ctx, orchestrator.Input{Kind: orchestrator.InStart, Start: &start}); err != nil {
		return err
	}
	l.effects.ready(l.st, l.Now())
	crash.Point("begin", "")
	if !resume || l.st.Ended() {
		return nil
	}
	if err := l.settle(ctx); err != nil {
		return err
	}
	var exited []orchestrator.AgentReport
	l.files.alive, exited = l.live(ctx)
	seen := launches(l.st)
	if err := l.pass(ctx, nil); err != nil {
		return err
	}
	if err := l.awaitTakes(ctx); err != nil {
		return err
	}
	l.files.ingest = false
	live := slices.Clone(l.files.alive)
	for _, launch := range launches(l.st) {
		if !slices.Contains(seen, launch) { // what was submitted has led to it, and it runs already
			live = append(live, launch)
		}
	}
	_, err := l.apply(ctx, orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{
		Mode: start.Mode, Live: live, Exited: exited,
	}})
	return err
}

// launches lists the current launch of each agent.
func launches(s *orchestrator.State) []orchestrator.Launch {
	var list []orchestrator.Launch
	for _, key := range slices.Sorted(maps.Keys(s.Agents)) {
		if a := s.Agents[key]; a.Launch != "" {
			list = append(list, a.Launch)
		}
	}
	return list
}

// classic completes the start of a session of the earlier tool with what its
// directory shows. It is always taken as a resume.
func (l *loop) classic(start *orchestrator.Start) error {
	if !l.st.IsClassic() {
		return nil
	}
	dir, err := l.Session.Classic(l.st)
	if err != nil {
		return fmt.Errorf("read classic session: %w", err)
	}
	if given := start.Classic; given != nil {
		dir.Base, dir.Integrated, dir.Branch = given.Base, given.Integrated, given.Branch
	}
	start.Mode, start.Classic = orchestrator.StartResume, dir
	return nil
}

// settle waits, within bounds, until the files of the phase are as they should
// be, so that predicates see them.
func (l *loop) settle(ctx context.Context) error {
	bound := time.NewTimer(settleBound)
	defer bound.Stop()
	for filesPending(l.st) {
		select {
		case f := <-l.effects.done:
			if err := l.finish(ctx, f); err != nil {
				return err
			}
			l.effects.ready(l.st, l.Now())
		case <-bound.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// run continues until nothing is left to do.
func (l *loop) run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var reports []orchestrator.AgentReport
	for ctx.Err() == nil {
		if err := l.pass(ctx, reports); err != nil {
			return err
		}
		reports = nil
		if l.finished() {
			return nil
		}
		l.startLook()
		timer.Reset(l.next())
		select {
		case <-ctx.Done():
		case f := <-l.effects.done:
			if err := l.finish(ctx, f); err != nil {
				return err
			}
		case end := <-l.takes.ended:
			l.takes.finish(end)
		case found := <-l.found:
			reports = l.looks.ended(found)
		case _, open := <-l.Wakes:
			l.dirty, l.looks.woken = true, true
			if !open {
				l.Wakes = nil
			}
		case host := <-l.Lost:
			l.Lost = nil // another claim needs another run
			if _, err := l.apply(ctx, orchestrator.Input{Kind: orchestrator.InClaimLost, Host: host}); err != nil {
				return err
			}
		case <-timer.C:
		}
	}
	return nil
}

// finished reports whether the session has its outcome and owes nothing.
func (l *loop) finished() bool {
	return l.st.Ended() && len(l.st.Pending) == 0 && l.effects.idle()
}

// pass takes what is there, in order, until that has led to no other phase.
func (l *loop) pass(ctx context.Context, reports []orchestrator.AgentReport) error {
	for ctx.Err() == nil {
		before := l.situation()
		l.last = l.saves(l.st)
		l.takes.begin()
		steps := []func(context.Context) error{
			l.jumps, l.takeResults, l.overwritten, l.commands, l.toolLines,
			func(context.Context) error { l.hand.take(&l.Options, l.st); return nil },
			l.messageLines, l.observe,
			func(ctx context.Context) error { return l.agents(ctx, reports) },
			l.locked, l.timers,
		}
		for _, step := range steps {
			version := l.version
			if err := step(ctx); err != nil {
				return err
			}
			if l.version != version {
				l.effects.ready(l.st, l.Now()) // they do not wait for the rest of the looks
			}
			if before.ended && !l.st.Ended() { // somebody told it to go on
				l.files.ingest, l.files.anyTime = true, l.st.Visit
			}
		}
		if before.ended {
			l.files.ingest = false
		}
		if !l.st.Paused && !filesPending(l.st) { // else lines or markers were not looked at
			l.takes.end()
		}
		l.effects.ready(l.st, l.Now())
		l.views.show(&l.Options, l.st)
		l.logCreated()
		if l.situation() == before {
			return nil
		}
		reports = nil
	}
	return nil
}

// situation is what decides which inputs are looked for.
type situation struct {
	phase         string
	visit         int
	ended, paused bool
}

func (l *loop) situation() situation {
	return situation{l.st.Phase, l.st.Visit, l.st.Ended(), l.st.Paused}
}

func (l *loop) takeResults(ctx context.Context) error {
	for {
		select {
		case f := <-l.effects.done:
			if err := l.finish(ctx, f); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// overwritten notices that somebody else wrote state.json or another file that is ours.
func (l *loop) overwritten(ctx context.Context) error {
	if l.Edited != nil {
		for _, path := range l.Edited() {
			if _, err := l.apply(ctx, orchestrator.Input{Kind: orchestrator.InOverwritten, Path: path}); err != nil {
				return err
			}
		}
	}
	if l.Now().Sub(l.scanned) < scanPause {
		return nil
	}
	l.scanned = l.Now()
	if !l.Session.Overwritten() {
		return nil
	}
	_, err := l.apply(ctx, orchestrator.Input{Kind: orchestrator.InOverwritten})
	return err
}

// locked tells that the issue takes no comments, once.
func (l *loop) locked(ctx context.Context) error {
	if l.Locked == nil || !l.st.Settings.Reachable || !l.Locked() {
		return nil
	}
	_, err := l.apply(ctx, orchestrator.Input{Kind: orchestrator.InLocked})
	return err
}

// timers takes the deadlines that have passed, the oldest first. One that changes
// nothing, as while limits stand still, is asked again at the next look.
func (l *loop) timers(ctx context.Context) error {
	now := l.Now()
	due := slices.DeleteFunc(slices.Collect(maps.Keys(l.st.Deadlines)), func(name string) bool {
		return l.st.Deadlines[name].After(now)
	})
	at := l.st.Deadlines
	slices.SortFunc(due, func(a, b string) int {
		return cmp.Or(at[a].Compare(at[b].Time), cmp.Compare(a, b))
	})
	for _, name := range due {
		if _, armed := l.st.Deadlines[name]; !armed {
			continue // an earlier one ended it
		}
		if name == decide.CheckpointTimer && l.last && l.takes.running() > 0 {
			continue // what is handed in is saved as such
		}
		if _, err := l.apply(ctx, orchestrator.Input{Kind: orchestrator.InTimer, Timer: name}); err != nil {
			return err
		}
	}
	return nil
}

// next returns how long the loop may wait for a wake: until the earliest of its timers.
func (l *loop) next() time.Duration {
	now := l.Now()
	wait := l.rest()
	soon := func(at time.Time) {
		if !at.IsZero() {
			wait = min(wait, max(at.Sub(now), 0))
		}
	}
	if hasAgents(l.st) && !l.looks.running {
		soon(l.looks.next(l.rest()))
	}
	if l.files.settling || l.hand.soon {
		wait = min(wait, settlePause)
	}
	if l.dirty && l.Wakes != nil {
		soon(l.logged.Add(scanPause))
	}
	if l.views.stale {
		soon(l.views.at.Add(viewPause))
	}
	for _, at := range l.st.Deadlines {
		if at.After(now) {
			soon(at.Time)
		}
	}
	for _, e := range l.st.Pending {
		if e.NotBefore.After(now) {
			soon(e.NotBefore.Time)
		}
	}
	return max(wait, time.Millisecond)
}

// apply lets the reducer decide about one input and commits what it decided.
func (l *loop) apply(ctx context.Context, in orchestrator.Input) (changed bool, err error) {
	b := batch{state: l.st}
	if _, err := l.stage(&b, in); err != nil {
		return false, err
	}
	return l.flush(ctx, b)
}

// batch is what inputs have led to that share a commit.
type batch struct {
	state *orchestrator.State
	step  decide.Step
	kind  string // of the last input
	// inputs is how many of them changed something.
	inputs int
}

// stage lets the reducer decide about one input. Nothing is true before flush.
func (l *loop) stage(b *batch, in orchestrator.Input) (decide.Step, error) {
	in.At = l.Now()
	step, err := l.reduce(b.state, in)
	if err != nil {
		l.Log.Error("the session cannot go on", "phase", b.state.Phase, "err", err)
		step, err = decide.Fail(l.Definition, b.state, in.At, err.Error())
	}
	if err != nil {
		return step, fmt.Errorf("end the session as failed: %w", err)
	}
	if !step.Changed {
		return step, nil
	}
	crash.Point("decide", in.Kind)
	b.kind = in.Kind
	b.inputs++
	b.step = decide.Join(b.step, step)
	b.state = b.step.State
	return step, nil
}

// flush commits a batch.
func (l *loop) flush(ctx context.Context, b batch) (changed bool, err error) {
	if !b.step.Changed {
		return false, nil
	}
	l.archive.file(&l.Options, b.step.Filed)
	edited := l.Session.Overwritten() // the commit replaces it: who edited it has to be told
	if err := l.commit(ctx, b.step); err != nil {
		return false, err
	}
	crash.Point("commit", b.kind)
	l.over = b.state.Ended() && (l.over || !l.st.Ended())
	l.views.stale = l.views.stale || !slices.Equal(l.st.Messages, b.state.Messages)
	l.st = b.state
	l.version++
	l.dirty = true
	l.looks.within(agentPause)
	l.effects.drop(l.st.Pending)
	for _, e := range b.step.Events {
		l.logEvent(e)
	}
	l.OnCommit(l.st)
	if edited {
		_, err = l.apply(ctx, orchestrator.Input{Kind: orchestrator.InOverwritten})
	}
	return true, err
}

// reduce turns a panic of the reducer into the failure of this one session.
func (l *loop) reduce(s *orchestrator.State, in orchestrator.Input) (step decide.Step, err error) {
	defer func() {
		if r := recover(); r != nil {
			l.Log.Error("panic while deciding", "input", in.Kind, "err", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("decide about %s: %v", in.Kind, r)
		}
	}()
	return decide.Reduce(l.Definition, s, in)
}
