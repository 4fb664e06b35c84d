package post

import (
	"path"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/message"
)

// Superseded is the state of a message whose sender wrote another one in its place.
const Superseded = "superseded"

// batchWait is how long a message waits for the others of its batch.
const batchWait = 60 * time.Second

// maxBatch is how many messages a batch may wait for: no more of one sender wait at a time by hand.
const maxBatch = maxClaimed

// gather queues a message as its file says: it takes the place of an earlier one, and waits for the
// others of its batch.
func gather(o *Office, m orchestrator.Message, w *message.Message) {
	supersede(o, m, w.Replaces)
	if w.Batch == "" || w.BatchSize <= 1 {
		o.queue(m)
		return
	}
	m.Batch = w.Batch
	o.queue(m)
	all := 0
	for i := range o.State.Messages {
		if together(o.State.Messages[i], m) {
			all++
		}
	}
	if all < min(w.BatchSize, maxBatch) {
		o.Do.Arm(retryTimer(m.Seq), orchestrator.Duration(batchWait))
		return
	}
	for i := range o.State.Messages {
		if a := o.State.Messages[i]; a.State == orchestrator.MessageQueued && together(a, m) {
			o.Do.Disarm(retryTimer(a.Seq))
			if a.To != m.To { // the caller delivers to the reader of m
				o.deliverNext(o.runningAt(a.To))
			}
		}
	}
}

// together reports whether two messages are of one batch.
func together(a, b orchestrator.Message) bool { return a.Batch == b.Batch && sameWriter(a, b) }

// sameWriter reports whether two messages are of one sender. One that is claimed is another one than the
// agent itself: who laid a file there has no say in what that wrote.
func sameWriter(a, b orchestrator.Message) bool {
	return a.From == b.From && (a.By == ByHand) == (b.By == ByHand)
}

// waitsForBatch reports whether a queued message waits for the others of its batch.
func waitsForBatch(s *orchestrator.State, m orchestrator.Message) bool {
	if m.Batch == "" || m.Attempts > 0 {
		return false
	}
	_, armed := s.Deadlines[retryTimer(m.Seq)]
	return armed
}

// supersede ends the earlier message of the same sender that a new one takes the place of, while nobody
// has it.
func supersede(o *Office, by orchestrator.Message, id string) {
	for i := range o.State.Messages {
		m := &o.State.Messages[i]
		if id == "" || ID(*m) != id || !sameWriter(*m, by) || m.State != orchestrator.MessageQueued {
			continue
		}
		end(o, m, Superseded, "superseded by "+path.Base(by.File))
		if m.Open {
			m.Open = false
			o.Do.Disarm(askTimer(m.Seq))
		}
		return
	}
}
