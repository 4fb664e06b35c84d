package post

import (
	"fmt"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// Delivery of a queued message is tried again after these pauses.
const (
	firstRedelivery = 5 * time.Second
	maxRedelivery   = 60 * time.Second
)

// RetryTimers and the others begin the names of the deadlines of messages.
const (
	RetryTimers  = "message/" // it is tried again
	AckTimers    = "ack/"     // the word is due that it was read
	ExpiryTimers = "expire/"  // its own deadline
	AskTimers    = "ask/"     // the answer to an ask is due
)

func retryTimer(seq int) string  { return RetryTimers + strconv.Itoa(seq) }
func ackTimer(seq int) string    { return AckTimers + strconv.Itoa(seq) }
func askTimer(seq int) string    { return AskTimers + strconv.Itoa(seq) }
func expiryTimer(seq int) string { return ExpiryTimers + strconv.Itoa(seq) }

// deliverNext hands the next message to an agent, if that is running and nothing is on its way to
// it. A paused session hands over nothing: a message is a new turn.
func (o *Office) deliverNext(key orchestrator.AgentKey) {
	role, task := key.Split()
	launch := o.State.Agents[key].Launch
	if launch == "" || o.State.Paused || o.State.Ended() {
		return
	}
	waiting := Waiting(o.Def, o.State, key)
	if len(waiting) == 0 || len(o.Do.Pending(deliveries(key))) > 0 {
		return
	}
	m := waiting[0]
	if !m.Deadline.IsZero() && !o.Now.Before(m.Deadline.Time) {
		return // its timer is due, and ends it
	}
	if _, armed := o.State.Deadlines[retryTimer(m.Seq)]; armed {
		return
	}
	after := o.Do.Pending(func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffWriteFile && e.Args.Path == m.File || e.Type == orchestrator.EffStartAgent && e.Args.Launch == launch
	})
	o.Do.Effect(orchestrator.EffDeliver, fmt.Sprintf("%d.%d", m.Seq, m.Attempts), orchestrator.Args{Seq: m.Seq, Path: m.File, Role: role, Task: task, Launch: launch}, after...)
}

// deliveries matches the deliveries to an agent.
func deliveries(key orchestrator.AgentKey) func(orchestrator.Effect) bool {
	return func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffDeliver && orchestrator.KeyOf(e.Args.Role, e.Args.Task) == key
	}
}

// DeliverQueued tries what waits for an agent at once: it was started, or is to go on. What is on its
// way to its launch stays: it may be there already, and would be given a second time.
func (o *Office) DeliverQueued(key orchestrator.AgentKey) {
	launch, toIt := o.State.Agents[key].Launch, deliveries(key)
	o.Do.Drop(func(e orchestrator.Effect) bool {
		return toIt(e) && (e.Args.Launch != launch || e.NotBefore.After(o.Now.Time))
	})
	for _, m := range Waiting(o.Def, o.State, key) {
		o.Do.Disarm(retryTimer(m.Seq))
	}
	o.deliverNext(key)
}

// Delivered takes the result of a try, and reports whether the message reached its agent. Of one
// that reached it by a hook the receipt is known; any other is to be acknowledged.
func (o *Office) Delivered(e orchestrator.Effect, res orchestrator.Result) bool {
	key := orchestrator.KeyOf(e.Args.Role, e.Args.Task)
	defer o.deliverNext(key)
	m := o.find(e.Args.Seq)
	if m == nil || m.State != orchestrator.MessageQueued {
		return false
	}
	if res.Delivery == orchestrator.DeliveryRefused {
		m.Attempts++
		pause := min(firstRedelivery<<min(m.Attempts-1, 4), maxRedelivery)
		o.Do.Arm(retryTimer(m.Seq), orchestrator.Duration(pause))
		m.NextAt = o.State.Deadlines[retryTimer(m.Seq)]
		return false
	}
	m.State, m.DeliveredAt = orchestrator.MessageDelivered, o.Now
	passOver(o.State.Messages, *m)
	o.Do.Disarm(retryTimer(m.Seq), expiryTimer(m.Seq))
	delivered := record(*m)
	delivered.Mode = res.Mode
	o.Do.Event(orchestrator.MsgDeliveredRecord(delivered))
	if res.Mode == orchestrator.ModeHook {
		o.acked(m)
		return true
	}
	o.Do.Arm(ackTimer(m.Seq), o.State.Settings.AckTimeout)
	return true
}

// Redeliver is the timer of a refused message.
func (o *Office) Redeliver(seq string) {
	if m := o.findIn(seq, orchestrator.MessageQueued); m != nil {
		o.deliverNext(o.runningAt(m.To))
	}
}

// NotAcked is the timer of a delivered message: it is delivered once more to an agent that is still
// at work, then it has failed.
func (o *Office) NotAcked(seq string) {
	m := o.findIn(seq, orchestrator.MessageDelivered)
	if m == nil {
		return
	}
	key := o.runningAt(m.To)
	switch {
	case key == "": // its work is taken, no agent is left to read it
	case m.Again:
		o.failed(m, "not acknowledged")
	default:
		m.Again, m.State, m.Reason = true, orchestrator.MessageQueued, "not acknowledged"
		o.Do.Event(orchestrator.MsgQueuedRecord(record(*m)))
		o.deliverNext(key)
	}
}

// Expire ends a message whose deadline passed before it was delivered.
func (o *Office) Expire(seq string) {
	if m := o.findIn(seq, orchestrator.MessageQueued); m != nil {
		o.expire(m, "its deadline passed")
		o.giveUp(m.Seq, "Its deadline passed before it was delivered.")
	}
}

func (o *Office) expire(m *orchestrator.Message, why string) {
	end(o, m, orchestrator.MessageExpired, why)
	o.deliverNext(o.runningAt(m.To))
}

// end ends a message that was not delivered and will not be.
func end(o *Office, m *orchestrator.Message, state, why string) {
	m.State, m.Reason = state, orchestrator.Optional(why)
	o.Do.Disarm(retryTimer(m.Seq), expiryTimer(m.Seq))
	o.Do.Drop(func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffDeliver && e.Args.Seq == m.Seq })
	o.Do.Event(orchestrator.MsgExpiredRecord(record(*m)))
}
