package decide

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/fault"
	"github.com/agentmux/agentmux/orchestrator/invariant"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/workflows"
)

// Step is what one input leads to.
type Step struct {
	State   *orchestrator.State    // the next state; the given one is never changed
	Events  []orchestrator.Event   // records to append, numbered from the old State.Seq + 1
	Effects []orchestrator.Effect  // newly wanted; they are also in State.Pending
	Blobs   map[string][]byte      // texts the effects name, by sha256; stored before the commit
	Filed   []orchestrator.Message // that have ended and left the state
	Changed bool                   // false: there is nothing to commit
}

// Reduce decides what in means in state s under def. An error means that the
// session cannot go on (an invariant is broken); the caller then records
// run_failed with [Fail].
func Reduce(def *workflows.Definition, s *orchestrator.State, in orchestrator.Input) (Step, error) {
	r := newReducer(def, s, in)
	handle, ok := handlers[in.Kind]
	if !ok {
		return Step{}, fmt.Errorf("reduce: unknown input %q", in.Kind)
	}
	handle(r)
	return r.finish()
}

// Fail ends the session as failed, whatever its state: the caller met a fault
// that no input can describe.
func Fail(def *workflows.Definition, s *orchestrator.State, at time.Time, cause string) (Step, error) {
	r := newReducer(def, s, orchestrator.Input{Kind: "fault", At: at})
	r.outcome.fail(cause)
	// What is broken may be the very state: ending as failed must not depend on it.
	return r.step(), nil
}

var handlers = map[string]func(*reducer){
	orchestrator.InStart:        (*reducer).start,
	orchestrator.InOwed:         (*reducer).owed,
	orchestrator.InCommand:      (*reducer).commandLine,
	orchestrator.InTool:         (*reducer).toolLine,
	orchestrator.InMessage:      messageLine,
	orchestrator.InObserve:      (*reducer).observe,
	orchestrator.InAgent:        (*reducer).agent,
	orchestrator.InTimer:        (*reducer).timer,
	orchestrator.InEffectDone:   (*reducer).effectDone,
	orchestrator.InEffectFailed: (*reducer).effectFailed,
	orchestrator.InOverwritten:  (*reducer).overwritten,
	orchestrator.InLocked:       (*reducer).locked,
	orchestrator.InClaimLost:    func(r *reducer) { r.outcome.loseClaim(r.in.Host) },
	orchestrator.InJump:         func(r *reducer) { r.clock.jumped() },
}

// reducer carries one reduction: it takes the input to the nouns of the session and from one
// phase to the next. A noun knows those it needs, never the reducer: what leads to another phase
// is decided here.
type reducer struct {
	queue
	clock      clock
	questions  questions
	mail       post.Office
	workspaces workspaces
	crew       crew
	research   research
	outcome    outcome
	gate       gate
	reviews    reviews
	completion completion
	plan       plan
	team       teamwork
	lines      lines
	saving     saving
}

func newReducer(def *workflows.Definition, s *orchestrator.State, in orchestrator.Input) *reducer {
	r := &reducer{queue: queue{turn: turn{def: def, s: s.Clone(), in: in, now: orchestrator.At(in.At)}, blobs: map[string][]byte{}}}
	q := &r.queue
	r.clock = clock{q}
	r.questions = questions{q, &r.clock}
	r.mail = newOffice(q, &r.clock)
	r.workspaces = workspaces{q}
	r.crew = crew{q, &r.clock, &r.mail, &r.questions, &r.workspaces}
	r.research = research{q, &r.crew, &r.mail, &r.workspaces}
	r.outcome = outcome{q, &r.clock, &r.crew, &r.mail, &r.workspaces}
	r.gate = gate{q, &r.clock, &r.crew}
	r.reviews = reviews{q, &r.clock, &r.crew, &r.outcome}
	r.completion = completion{q, &r.gate, &r.outcome, &r.research, &r.reviews}
	r.plan = plan{q, &r.clock, &r.crew, &r.mail, &r.workspaces, &r.outcome}
	r.team = teamwork{q, &r.crew, &r.mail, &r.outcome}
	r.lines = lines{q}
	r.saving = saving{q, &r.clock, &r.workspaces}
	return r
}

func (r *reducer) finish() (Step, error) {
	if len(r.evs) > 0 || len(r.effs) > 0 {
		r.changed = true
	}
	if !r.changed {
		return Step{State: r.s}, nil
	}
	filed := post.Settle(r.s)
	r.saving.follow()
	r.clock.keepTime()
	if err := invariant.Check(r.def, r.s); err != nil {
		return Step{}, err
	}
	step := r.step()
	step.Filed = filed
	return step, nil
}

// overwritten records that somebody wrote state.json, or what git obeys in the store;
// our version stays.
func (r *reducer) overwritten() {
	path := r.in.Path
	if path == "" {
		path = "state.json"
	}
	r.event(orchestrator.StateOverwrittenRecord{Path: path})
}

// Join makes one step of two that share a commit, the second decided on the state of the
// first. Of equal faults of lines in a row the first record stays and counts them: an agent that
// floods a file does not flood the records.
func Join(first, then Step) Step {
	if !first.Changed {
		return then
	}
	if n := len(first.Events); n > 0 && len(then.Events) == 1 && fault.Same(first.Events[n-1], then.Events[0]) {
		first.Events[n-1].Data = fault.Again(first.Events[n-1].Data)
		then.Events = nil
		then.State.Seq--
	}
	then.Events = append(first.Events, then.Events...)
	then.Effects = append(first.Effects, then.Effects...)
	then.Filed = append(first.Filed, then.Filed...)
	if first.Blobs != nil {
		maps.Copy(first.Blobs, then.Blobs)
		then.Blobs = first.Blobs
	}
	return then
}

// Minor reports whether a step only tells of a line, or that a message was read: it may share a commit
// with the next.
func (s Step) Minor() bool {
	if len(s.Blobs) > 0 || s.State.Ended() || s.State.Paused ||
		slices.ContainsFunc(s.Effects, func(e orchestrator.Effect) bool { return e.Type != orchestrator.EffDeliver }) {
		return false
	}
	for _, e := range s.Events {
		switch e.Type {
		case orchestrator.EvInputCorrupt, orchestrator.EvInputUnknown, orchestrator.EvInputIgnored, orchestrator.EvAgentStatus, orchestrator.EvMsgAcked:
		default:
			return false
		}
	}
	return true
}
