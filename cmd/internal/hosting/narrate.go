package hosting

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// narrator prints the records of a session as lines for a person, while they are committed.
type narrator struct {
	finder   *site.Finder
	follower *session.Follower
	palette  paint.Palette
	wake     chan struct{}
	done     chan struct{}
	saving   atomic.Bool // the session has ended, and its last checkpoint is on its way
}

// savingPause is how long that may take before the person is told what the command waits for.
const savingPause = 2 * time.Second

// narrate prints the records of a run for the person at the terminal, unless the log itself is
// asked for. The caller calls told when the run is over.
func narrate(a *site.Finder, s *site.Site, spec *host.RunSpec) (told func(), err error) {
	if a.LogAs() != hostlog.Lines || s.Log.Plain {
		return func() {}, nil
	}
	sess, err := session.Open(spec.Dir)
	if err != nil {
		return nil, err
	}
	before := 0
	if state, err := sess.ReadState(); err == nil {
		before = state.Seq
	}
	n := &narrator{finder: a, follower: sess.Follow(before), palette: paint.New(console.Stream(a.Err)), wake: make(chan struct{}, 1), done: make(chan struct{})}
	next := spec.OnCommit
	spec.OnCommit = func(state *orchestrator.State) {
		n.saving.Store(state.Ended() && slices.ContainsFunc(state.Pending, func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCheckpoint }))
		select {
		case n.wake <- struct{}{}:
		default:
		}
		if next != nil {
			next(state)
		}
	}
	go n.run()
	return func() { close(n.wake); <-n.done }, nil
}

func (n *narrator) run() {
	defer close(n.done)
	defer n.read()
	var slow <-chan time.Time
	for {
		select {
		case _, more := <-n.wake:
			if !more {
				return
			}
			n.read()
			switch {
			case !n.saving.Load():
				slow = nil
			case slow == nil:
				slow = time.After(savingPause)
			}
		case <-slow: // once: slow stays
			n.finder.Say("the session has ended; waiting up to 90 s for the push of its last checkpoint: pushes to one repository are paced")
		}
	}
}

// ends are the records that are left out here, because they are told with the outcome.
var ends = []string{orchestrator.EvDone, orchestrator.EvNeedsHuman, orchestrator.EvFailed, orchestrator.EvCanceled}

func (n *narrator) read() {
	records, err := n.follower.Read()
	if err != nil {
		return // the next call may read more, and the end is told from the state
	}
	shown := n.finder.Shown()
	for _, e := range records {
		line := shown(console.OneLine(story.Line(e)))
		if line == "" || slices.Contains(ends, e.Type) {
			continue
		}
		n.finder.Say("%s %s", n.palette.Paint(e.TS.Local().Format("15:04:05"), paint.Faint), n.palette.Paint(line, lineInk(e.Type)))
	}
}

// lineInk marks what went wrong.
func lineInk(kind string) paint.Ink {
	switch kind {
	case orchestrator.EvEffectFailed, orchestrator.EvAgentFailed, orchestrator.EvAgentStalled, orchestrator.EvInputRejected, orchestrator.EvScopeViolation,
		orchestrator.EvWorkspaceLost:
		return paint.Bad
	case orchestrator.EvPhaseEntered:
		return paint.Strong
	case orchestrator.EvGateOpened, orchestrator.EvQuestionAsked, orchestrator.EvAgentMarked:
		return paint.Ask
	}
	return paint.Plain
}
