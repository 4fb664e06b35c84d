package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows"
)

// queue collects what the decision leads to: records in the order in which things happened, and
// effects, which are pending in the state from the moment they are asked for. Every other noun
// adds to the one queue of its turn.
type queue struct {
	turn
	evs     []orchestrator.Event
	effs    []orchestrator.Effect
	blobs   map[string][]byte
	changed bool // the state differs, even if nothing is recorded
}

// turn is what a decision is made on: the workflow, a state of our own to change, one input.
type turn struct {
	def *workflows.Definition
	s   *orchestrator.State
	in  orchestrator.Input
	now orchestrator.Time
}

// phase returns the definition of the current phase; ok is false in done and failed.
func (t *turn) phase() (workflows.Phase, bool) { return t.def.Phase(t.s.Phase) }

// artifact returns the file that came with the input.
func (t *turn) artifact() *orchestrator.Artifact {
	switch {
	case t.in.Line != nil:
		return t.in.Line.Artifact
	case t.in.Observe != nil:
		return t.in.Observe.Artifact
	}
	return nil
}

func (t *turn) round() string { return fmt.Sprint(t.s.ChangeRound) }

func (t *turn) marker(id string) string {
	return path.Join(t.def.DirOf(workflows.KindImplement), "done_"+id)
}

// markers lists the done markers of the first n subplans.
func (t *turn) markers(n int) []string {
	var paths []string
	for i := 1; i <= n; i++ {
		paths = append(paths, t.marker(fmt.Sprint(i)))
	}
	return paths
}

// event records what happened.
func (q *queue) event(record orchestrator.Record) {
	q.s.Seq++
	record = orchestrator.TruncateRecord(record, orchestrator.MaxEventText)
	q.evs = append(q.evs, orchestrator.Event{Seq: q.s.Seq, TS: q.now, Type: record.Type(), Phase: q.s.Phase, Visit: q.s.Visit, Data: record})
}

// lastEvent sets last_event and records it.
func (q *queue) lastEvent(name string) {
	q.s.LastEvent = name
	q.event(lastRecord(name))
}

func lastRecord(name string) orchestrator.EventRecord {
	label, ok := orchestrator.Label(name)
	if !ok {
		panic("orchestrator: last_event " + name + " is not in the catalog")
	}
	return orchestrator.EventRecord{Event: name, Label: label}
}

// moveEventTo puts the last event of this step at index at.
func (q *queue) moveEventTo(at int) {
	moved := q.evs[len(q.evs)-1]
	first := q.evs[0].Seq
	q.evs = slices.Insert(q.evs[:len(q.evs)-1], at, moved)
	for i := range q.evs {
		q.evs[i].Seq = first + i
	}
}

func (q *queue) ignore(c duty.Call, reason string) {
	q.event(orchestrator.InputIgnoredRecord{Tool: c.Tool, Role: c.Role, Task: c.Task, Reason: reason})
}

// effect asks for something and returns its id.
func (q *queue) effect(kind, key string, args orchestrator.Args, after ...string) string {
	q.s.EffectSeq++
	e := orchestrator.Effect{
		ID: fmt.Sprintf("%d.%d", q.s.Visit, q.s.EffectSeq), Type: kind, Key: key, Args: args,
		After: q.stillPending(after),
	}
	q.s.Pending = append(q.s.Pending, e)
	q.effs = append(q.effs, e.Clone())
	return e.ID
}

// stillPending drops empty ids and those that are done already.
func (q *queue) stillPending(ids []string) []string {
	var out []string
	for _, id := range ids {
		if slices.ContainsFunc(q.s.Pending, func(e orchestrator.Effect) bool { return e.ID == id }) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// pending returns the ids of the pending effects that match.
func (q *queue) pending(match func(orchestrator.Effect) bool) []string {
	var ids []string
	for _, e := range q.s.Pending {
		if match(e) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// fsPending returns the pending effects that prepare files for agents.
func (q *queue) fsPending() []string {
	fs := []string{orchestrator.EffEnsureDirs, orchestrator.EffWriteFile, orchestrator.EffWriteMarker, orchestrator.EffMoveAside, orchestrator.EffRemoveFiles, orchestrator.EffMaterialise}
	return q.pending(func(e orchestrator.Effect) bool { return slices.Contains(fs, e.Type) })
}

func (q *queue) starting(launch orchestrator.Launch) bool {
	return len(q.pending(starts(launch))) > 0
}

// adopting reports whether the base of a change round is still being made.
func (q *queue) adopting() bool {
	return len(q.pending(func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffAdopt })) > 0
}

// dropPending removes pending effects that are no longer wanted, and what waits
// for them forgets them.
func (q *queue) dropPending(match func(orchestrator.Effect) bool) {
	var dropped []string
	q.s.Pending = slices.DeleteFunc(q.s.Pending, func(e orchestrator.Effect) bool {
		if match(e) {
			dropped = append(dropped, e.ID)
			return true
		}
		return false
	})
	if len(dropped) == 0 {
		return
	}
	q.changed = true
	q.effs = slices.DeleteFunc(q.effs, func(e orchestrator.Effect) bool { return slices.Contains(dropped, e.ID) })
	for i := range q.s.Pending {
		q.s.Pending[i].After = slices.DeleteFunc(q.s.Pending[i].After, func(id string) bool {
			return slices.Contains(dropped, id)
		})
	}
}

// take removes the record of a pending effect and returns it.
func (q *queue) take(id string) (orchestrator.Effect, bool) {
	i := slices.IndexFunc(q.s.Pending, func(e orchestrator.Effect) bool { return e.ID == id })
	if i < 0 {
		return orchestrator.Effect{}, false
	}
	e := q.s.Pending[i]
	q.s.Pending = slices.Delete(q.s.Pending, i, i+1)
	for j := range q.s.Pending {
		q.s.Pending[j].After = slices.DeleteFunc(q.s.Pending[j].After, func(after string) bool { return after == id })
	}
	q.changed = true
	return e, true
}

// moveAside renames files that an earlier visit consumed or left.
func (q *queue) moveAside(paths ...string) {
	q.effect(orchestrator.EffMoveAside, paths[0]+"@"+strconv.Itoa(q.s.Visit), orchestrator.Args{Paths: paths, Visit: q.s.Visit})
}

// checkpointPause is how long the checkpoint of a phase waits, so that it does not take
// the machine from a hand-off, and phases in quick succession make one.
const checkpointPause = time.Second

// checkpoint has the session kept where another host finds it, with what workspaces hold.
// It is made behind the pending effects of a type and those that preserve work, which is in no workspace
// any more, after a pause. The latest one is all that is wanted; one key keeps it behind an earlier one that is being made.
func (q *queue) checkpoint(workspaces []string, behind string, pause time.Duration) {
	at := q.now.Later(pause)
	for _, e := range q.s.Pending { // one that takes the place of another waits no longer than that
		if e.Type == orchestrator.EffCheckpoint && !e.NotBefore.IsZero() && e.NotBefore.Before(at.Time) {
			at = e.NotBefore
		}
	}
	q.dropPending(func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCheckpoint })
	q.effect(orchestrator.EffCheckpoint, "checkpoint", orchestrator.Args{Visit: q.s.Visit, Paths: workspaces},
		q.pending(func(e orchestrator.Effect) bool { return e.Type == behind || e.Type == orchestrator.EffPreserve })...)
	if pause > 0 {
		q.s.Pending[len(q.s.Pending)-1].NotBefore, q.effs[len(q.effs)-1].NotBefore = at, at
	}
}

// blob keeps a text for the effects and returns its hash.
func (q *queue) blob(content string) string {
	sum := sha256.Sum256([]byte(content))
	hash := hex.EncodeToString(sum[:])
	q.blobs[hash] = []byte(content)
	return hash
}

// count adds one to the rule's counter and returns the sum.
func (q *queue) count(rule string) int {
	c := q.s.Counters[rule]
	if c.N == 0 {
		c.Since = q.now
	}
	c.N++
	q.s.Counters[rule] = c
	q.changed = true
	return c.N
}

// isNew reports whether evidence differs from what was last seen under name, and
// remembers it.
func (q *queue) isNew(name, evidence string) bool {
	if q.s.Seen[name] == evidence {
		return false
	}
	q.s.Seen[name] = evidence
	q.changed = true
	return true
}

// step is what the decision led to, as its caller commits it.
func (q *queue) step() Step {
	q.s.UpdatedAt = orchestrator.Classic(q.now.Time)
	q.s.UpdatedBy = "engine:" + q.s.Phase
	return Step{State: q.s, Events: q.evs, Effects: q.effs, Blobs: q.blobs, Changed: true}
}
