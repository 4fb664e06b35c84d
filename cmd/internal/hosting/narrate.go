package hosting

import (
	"slices"

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
}

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
	for range n.wake {
		n.read()
	}
	n.read()
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
