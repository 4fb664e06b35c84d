package decide

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/letter"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

// mailbox holds the messages to agents, each from its queueing to the acknowledgement, with the
// timers of its delivery.
type mailbox struct {
	*queue
	clock *clock
}

// send queues a text for an agent. m gives From, Type, Headline and InReplyTo.
func (b *mailbox) send(key orchestrator.AgentKey, m orchestrator.Message, body string) {
	m.Seq = 1
	if n := len(b.s.Messages); n > 0 {
		m.Seq = b.s.Messages[n-1].Seq + 1
	}
	id := "m" + strconv.Itoa(m.Seq)
	m.To, m.State, m.Priority = key.Address(), orchestrator.MessageQueued, "normal"
	m.File = path.Join("msgs", fmt.Sprintf("%s-%s-%s--%s-%s.md", b.now.UTC().Format("0102150405"),
		m.Type, letter.Recipient(m.From), letter.Recipient(m.To), id))
	content := letter.Text(m, id, b.now, body)
	m.SHA256 = b.blob(content)
	b.s.Messages = append(b.s.Messages, m)
	b.event(orchestrator.MsgQueuedRecord(letter.Record(m)))
	b.effect(orchestrator.EffWriteFile, m.File, orchestrator.Args{Path: m.File, SHA256: m.SHA256})
	if !m.Deadline.IsZero() {
		b.s.Deadlines[letter.ExpiryTimer(m.Seq)] = m.Deadline
	}
	b.deliver(key, m)
}

// Delivery of a queued message is tried again after these pauses.
const (
	firstRedelivery = 5 * time.Second
	maxRedelivery   = 60 * time.Second
)

// deliver hands a message to the agent, if that is running. A paused session hands
// over nothing: a message is a new turn.
// remind tells an agent whose turn has ended that its task has not.
func (b *mailbox) remind(key orchestrator.AgentKey) {
	b.send(key, orchestrator.Message{From: systemAddress, Type: "update", Headline: "your task is not submitted"},
		"Your turn ended, but nothing was submitted. Finish the task and submit it with the tool your instructions name, or ask with ask_human.\n")
}

func (b *mailbox) deliver(key orchestrator.AgentKey, m orchestrator.Message) {
	role, task := key.Split()
	launch := b.s.Agents[key].Launch
	if launch == "" || b.s.Paused || b.s.Ended() {
		return
	}
	after := b.pending(func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffWriteFile && e.Args.Path == m.File || e.Type == orchestrator.EffStartAgent && e.Args.Launch == launch
	})
	b.effect(orchestrator.EffDeliver, fmt.Sprintf("%d.%d", m.Seq, m.Attempts), orchestrator.Args{Seq: m.Seq, Path: m.File, Role: role, Task: task, Launch: launch}, after...)
}

// deliverQueued tries the messages that wait for an agent.
func (b *mailbox) deliverQueued(key orchestrator.AgentKey) {
	to := key.Address()
	for _, m := range b.s.Messages {
		if m.To != to || m.State != orchestrator.MessageQueued {
			continue
		}
		b.dropPending(func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffDeliver && e.Args.Seq == m.Seq })
		b.clock.disarm(letter.Timer(m.Seq))
		b.deliver(key, m)
	}
}

// delivered takes the result of a try. Of a message that reached its agent by a hook
// the receipt is known; any other is to be acknowledged.
func (b *mailbox) delivered(e orchestrator.Effect, res orchestrator.Result) {
	m := b.find(e.Args.Seq)
	if m == nil || m.State != orchestrator.MessageQueued {
		return
	}
	if res.Delivery == orchestrator.DeliveryRefused {
		m.Attempts++
		pause := min(firstRedelivery<<min(m.Attempts-1, 4), maxRedelivery)
		b.clock.arm(letter.Timer(m.Seq), orchestrator.Duration(pause))
		m.NextAt = b.s.Deadlines[letter.Timer(m.Seq)]
		return
	}
	m.State, m.DeliveredAt = orchestrator.MessageDelivered, b.now
	b.clock.disarm(letter.Timer(m.Seq), letter.ExpiryTimer(m.Seq))
	delivered := letter.Record(*m)
	delivered.Mode = res.Mode
	b.event(orchestrator.MsgDeliveredRecord(delivered))
	b.clock.heard(orchestrator.KeyOf(e.Args.Role, e.Args.Task), e.Args.Launch)
	if res.Mode == orchestrator.ModeHook {
		b.acked(m)
		return
	}
	b.clock.arm(letter.AckTimer(m.Seq), b.s.Settings.AckTimeout)
}

func (b *mailbox) acked(m *orchestrator.Message) {
	m.State, m.AckedAt = orchestrator.MessageAcked, b.now
	b.clock.disarm(letter.Timer(m.Seq), letter.AckTimer(m.Seq), letter.ExpiryTimer(m.Seq))
	b.event(orchestrator.MsgAckedRecord(letter.Record(*m)))
}

func (b *mailbox) read(c duty.Call) {
	for i := range b.s.Messages {
		m := &b.s.Messages[i]
		if m.File == c.Payload.File && m.AckedAt.IsZero() && (c.Role == "" || m.To == orchestrator.KeyOf(c.Role, c.Task).Address()) {
			b.acked(m)
			return
		}
	}
	b.ignore(c, "no such message")
}

// redeliver is the timer of a refused message.
func (b *mailbox) redeliver(seq string) {
	if m := b.findIn(seq, orchestrator.MessageQueued); m != nil {
		b.deliver(b.runningAt(m.To), *m)
	}
}

// notAcked is the timer of a delivered message: it is delivered once more to an
// agent that is still at work, then it has failed.
func (b *mailbox) notAcked(seq string) {
	m := b.findIn(seq, orchestrator.MessageDelivered)
	if m == nil {
		return
	}
	key := b.runningAt(m.To)
	switch {
	case key == "": // its work is taken, no agent is left to read it
	case m.Again:
		b.failed(m, "not acknowledged")
	default:
		m.Again, m.State, m.Reason = true, orchestrator.MessageQueued, "not acknowledged"
		b.event(orchestrator.MsgQueuedRecord(letter.Record(*m)))
		b.deliver(key, *m)
	}
}

// failed gives a message up and tells its sender, if that is an agent;
// people see it in the records.
func (b *mailbox) failed(m *orchestrator.Message, cause string) {
	m.State, m.Reason = orchestrator.MessageFailed, orchestrator.Optional(orchestrator.Truncate(cause, 200))
	b.clock.disarm(letter.Timer(m.Seq), letter.AckTimer(m.Seq), letter.ExpiryTimer(m.Seq))
	b.event(orchestrator.MsgFailedRecord(letter.Record(*m)))
	to, headline := m.To, m.Headline
	if key := b.runningAt(m.From); key != "" { // the append below may move m
		b.send(key, orchestrator.Message{From: systemAddress, Type: "update", Headline: "your message was not delivered"},
			fmt.Sprintf("Your message %q to %s failed: %s.\n", headline, to, cause))
	}
}

// expire ends a message whose deadline passed before it was delivered.
func (b *mailbox) expire(seq string) {
	m := b.findIn(seq, orchestrator.MessageQueued)
	if m == nil {
		return
	}
	m.State, m.Reason = orchestrator.MessageExpired, "its deadline passed"
	b.clock.disarm(letter.Timer(m.Seq))
	b.dropPending(func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffDeliver && e.Args.Seq == m.Seq })
	b.event(orchestrator.MsgExpiredRecord(letter.Record(*m)))
}

// orphan ends what was never delivered, and lets the names of the files say so.
func (b *mailbox) orphan() {
	var files []string
	for i := range b.s.Messages {
		m := &b.s.Messages[i]
		if m.State != orchestrator.MessageQueued {
			continue
		}
		files = append(files, m.File)
		m.State, m.Reason, m.File = orchestrator.MessageOrphan, "the session ended", letter.Orphan(m.File)
		b.clock.disarm(letter.Timer(m.Seq), letter.ExpiryTimer(m.Seq))
		b.event(orchestrator.MsgOrphanedRecord(letter.Record(*m)))
	}
	if len(files) > 0 {
		b.effect(orchestrator.EffOrphan, files[0], orchestrator.Args{Paths: files}, b.fsPending()...)
	}
}

func (b *mailbox) find(seq int) *orchestrator.Message {
	for i := range b.s.Messages {
		if b.s.Messages[i].Seq == seq {
			return &b.s.Messages[i]
		}
	}
	return nil
}

// findIn finds a message by its number as a timer names it, in a given state.
func (b *mailbox) findIn(seq, state string) *orchestrator.Message {
	n, err := strconv.Atoi(seq)
	if err != nil {
		return nil
	}
	if m := b.find(n); m != nil && m.State == state {
		return m
	}
	return nil
}

// runningAt returns the key of the running agent with an address, or "".
func (b *mailbox) runningAt(address string) orchestrator.AgentKey {
	for _, key := range slices.Sorted(maps.Keys(b.s.Agents)) {
		if key.Address() == address && b.s.Agents[key].Launch != "" {
			return key
		}
	}
	return ""
}

// hasMail reports whether a message to the agent is on its way.
func (b *mailbox) hasMail(key orchestrator.AgentKey) bool {
	to := key.Address()
	return slices.ContainsFunc(b.s.Messages, func(m orchestrator.Message) bool {
		return m.To == to && m.State == orchestrator.MessageQueued
	})
}

// missed reports whether an agent ended before it read what concerns its end: it waited for
// an answer that had come just before, and ended cleanly, or it had handed in what was rejected,
// for which it may have been ended. Each such message excuses one end.
func (b *mailbox) missed(key orchestrator.AgentKey, clean bool) bool {
	to := key.Address()
	for _, m := range b.s.Messages {
		awaited := clean && (m.Type == "ask-response" || m.From == systemAddress && strings.HasPrefix(m.Headline, researchHeadline)) ||
			m.From == systemAddress && strings.HasSuffix(m.Headline, rejectedHeadline)
		if m.To == to && m.State == orchestrator.MessageQueued && awaited && b.count("missed/"+strconv.Itoa(m.Seq)) == 1 {
			return true
		}
	}
	return false
}

// rejectedHeadline ends the headline of every message about a submission that was not taken.
const rejectedHeadline = " was rejected"

// systemAddress is the sender of what the session itself has to say.
const systemAddress = "system"
