package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// Step is what one input leads to.
type Step struct {
	State   *orchestrator.State   // the next state; the given one is never changed
	Events  []orchestrator.Event  // records to append, numbered from the old State.Seq + 1
	Effects []orchestrator.Effect // newly wanted; they are also in State.Pending
	Blobs   map[string][]byte     // texts the effects name, by sha256; stored before the commit
	Changed bool                  // false: there is nothing to commit
}

// Reduce decides what in means in state s under def. An error means that the
// session cannot go on (an invariant is broken); the caller then records
// run_failed with [Fail].
func Reduce(def *workflows.Definition, s *orchestrator.State, in orchestrator.Input) (Step, error) {
	r := &reducer{def: def, s: s.Clone(), in: in, now: orchestrator.At(in.At), blobs: map[string][]byte{}}
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
	r := &reducer{def: def, s: s.Clone(), in: orchestrator.Input{Kind: "fault", At: at}, now: orchestrator.At(at), blobs: map[string][]byte{}}
	r.fail(cause)
	r.touch()
	// What is broken may be the very state: ending as failed must not depend on it.
	return r.step(), nil
}

var handlers = map[string]func(*reducer){
	orchestrator.InStart:        (*reducer).start,
	orchestrator.InOwed:         (*reducer).owed,
	orchestrator.InCommand:      (*reducer).commandLine,
	orchestrator.InTool:         (*reducer).toolLine,
	orchestrator.InObserve:      (*reducer).observe,
	orchestrator.InAgent:        (*reducer).agent,
	orchestrator.InTimer:        (*reducer).timer,
	orchestrator.InEffectDone:   (*reducer).effectDone,
	orchestrator.InEffectFailed: (*reducer).effectFailed,
	orchestrator.InOverwritten:  (*reducer).overwritten,
	orchestrator.InLocked:       (*reducer).locked,
	orchestrator.InJump:         (*reducer).jumped,
}

// reducer carries one reduction. Its methods change the cloned state and note
// what else is to happen.
type reducer struct {
	def     *workflows.Definition
	s       *orchestrator.State
	in      orchestrator.Input
	now     orchestrator.Time
	evs     []orchestrator.Event
	effs    []orchestrator.Effect
	blobs   map[string][]byte
	changed bool
}

func (r *reducer) finish() (Step, error) {
	if len(r.evs) > 0 || len(r.effs) > 0 {
		r.changed = true
	}
	if !r.changed {
		return Step{State: r.s}, nil
	}
	r.keepTime()
	r.touch()
	if err := Check(r.def, r.s); err != nil {
		return Step{}, err
	}
	return r.step(), nil
}

func (r *reducer) touch() {
	r.s.UpdatedAt = orchestrator.Classic(r.now.Time)
	r.s.UpdatedBy = "engine:" + r.s.Phase
}

func (r *reducer) step() Step {
	return Step{State: r.s, Events: r.evs, Effects: r.effs, Blobs: r.blobs, Changed: true}
}

// event records what happened.
func (r *reducer) event(record orchestrator.Record) {
	r.s.Seq++
	record = orchestrator.TruncateRecord(record, orchestrator.MaxEventText)
	r.evs = append(r.evs, orchestrator.Event{Seq: r.s.Seq, TS: r.now, Type: record.Type(), Phase: r.s.Phase, Visit: r.s.Visit, Data: record})
}

// last sets last_event and records it.
func (r *reducer) last(name string) {
	r.s.LastEvent = name
	r.event(lastRecord(name))
}

func lastRecord(name string) orchestrator.EventRecord {
	label, ok := orchestrator.Label(name)
	if !ok {
		panic("orchestrator: last_event " + name + " is not in the catalog")
	}
	return orchestrator.EventRecord{Event: name, Label: label}
}

// effect asks for something and returns its id.
func (r *reducer) effect(kind, key string, args orchestrator.Args, after ...string) string {
	r.s.EffectSeq++
	e := orchestrator.Effect{
		ID: fmt.Sprintf("%d.%d", r.s.Visit, r.s.EffectSeq), Type: kind, Key: key, Args: args,
		After: r.stillPending(after),
	}
	r.s.Pending = append(r.s.Pending, e)
	r.effs = append(r.effs, e.Clone())
	return e.ID
}

// stillPending drops empty ids and those that are done already.
func (r *reducer) stillPending(ids []string) []string {
	var out []string
	for _, id := range ids {
		open := slices.ContainsFunc(r.s.Pending, func(e orchestrator.Effect) bool { return e.ID == id })
		if open && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// pending returns the ids of the pending effects that match.
func (r *reducer) pending(match func(orchestrator.Effect) bool) []string {
	var ids []string
	for _, e := range r.s.Pending {
		if match(e) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// dropPending removes pending effects that are no longer wanted, and what waits
// for them forgets them.
func (r *reducer) dropPending(match func(orchestrator.Effect) bool) {
	var dropped []string
	r.s.Pending = slices.DeleteFunc(r.s.Pending, func(e orchestrator.Effect) bool {
		if match(e) {
			dropped = append(dropped, e.ID)
			return true
		}
		return false
	})
	if len(dropped) == 0 {
		return
	}
	r.changed = true
	r.effs = slices.DeleteFunc(r.effs, func(e orchestrator.Effect) bool { return slices.Contains(dropped, e.ID) })
	for i := range r.s.Pending {
		r.s.Pending[i].After = slices.DeleteFunc(r.s.Pending[i].After, func(id string) bool {
			return slices.Contains(dropped, id)
		})
	}
}

// blob keeps a text for the effects and returns its hash.
func (r *reducer) blob(content string) string {
	sum := sha256.Sum256([]byte(content))
	hash := hex.EncodeToString(sum[:])
	r.blobs[hash] = []byte(content)
	return hash
}

// count adds one to the rule's counter and returns the sum.
func (r *reducer) count(rule string) int {
	c := r.s.Counters[rule]
	if c.N == 0 {
		c.Since = r.now
	}
	c.N++
	r.s.Counters[rule] = c
	r.changed = true
	return c.N
}

// news reports whether evidence differs from what was last seen under name, and
// remembers it.
func (r *reducer) news(name, evidence string) bool {
	if r.s.Seen[name] == evidence {
		return false
	}
	r.s.Seen[name] = evidence
	r.changed = true
	return true
}

// phase returns the definition of the current phase; ok is false in done and failed.
func (r *reducer) phase() (workflows.Phase, bool) { return r.def.Phase(r.s.Phase) }

// conditions are the facts that a definition's "when" may ask for.
func (r *reducer) conditions() workflows.Conditions { return conditions(r.s) }

func conditions(s *orchestrator.State) workflows.Conditions {
	return workflows.Conditions{
		"product_manager": s.ProductManager,
		"needs_design":    s.Schedule != nil && s.Schedule.NeedsDesign,
		"interactive":     s.Interactive,
		"issue":           s.IssueNumber > 0,
	}
}

// overwritten records that somebody wrote state.json, or what git obeys in the host repository;
// our version stays.
func (r *reducer) overwritten() {
	path := r.in.Path
	if path == "" {
		path = "state.json"
	}
	r.event(orchestrator.StateOverwrittenRecord{Path: path})
}
