package post

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/message"
)

// Session is what an office asks of the reducer.
type Session interface {
	Event(orchestrator.Record)
	Effect(kind, key string, args orchestrator.Args, after ...string)
	Keep(text string) (sha256 string) // for the effects
	Pending(match func(orchestrator.Effect) bool) []string
	Drop(match func(orchestrator.Effect) bool)
	Arm(timer string, span orchestrator.Duration)
	Disarm(timers ...string)
}

// Office holds the messages of a session at one moment.
type Office struct {
	Def   *workflows.Definition
	State *orchestrator.State // is changed
	Now   orchestrator.Time
	Do    Session
}

// Send queues a text for an agent. m gives From, Type, Headline and InReplyTo.
func (o *Office) Send(key orchestrator.AgentKey, m orchestrator.Message, body string) {
	status := message.StatusStart
	if m.Type == message.AskResponse {
		status = message.StatusComplete
	}
	o.send(key, m, status, body)
}

func (o *Office) send(key orchestrator.AgentKey, m orchestrator.Message, status, body string) {
	m.Seq = o.nextNumber()
	m.To, m.Priority = Address(o.Def, key), message.Normal
	m.File = file(m, o.Now)
	m.SHA256 = o.Do.Keep(text(m, status, o.Now, body))
	o.queue(m)
	o.Do.Effect(orchestrator.EffWriteFile, m.File, orchestrator.Args{Path: m.File, SHA256: m.SHA256})
	o.deliverNext(key)
}

// nextNumber returns the number of a new message. Sessions of earlier versions did not store it.
func (o *Office) nextNumber() int {
	if n := len(o.State.Messages); n > 0 {
		return max(o.State.MessageSeq, o.State.Messages[n-1].Seq) + 1
	}
	return o.State.MessageSeq + 1
}

func (o *Office) queue(m orchestrator.Message) {
	m.State, o.State.MessageSeq = orchestrator.MessageQueued, m.Seq
	if m.From != System && m.To != orchestrator.CoordinatorPerson { // those words decide; these are a question's
		m.Headline = orchestrator.Truncate(m.Headline, maxHeadline)
	}
	o.State.Messages = append(o.State.Messages, m)
	o.Do.Event(orchestrator.MsgQueuedRecord(record(m)))
	if !m.Deadline.IsZero() {
		o.State.Deadlines[expiryTimer(m.Seq)] = m.Deadline
	}
}

// Remind tells an agent whose turn has ended that its task has not.
func (o *Office) Remind(key orchestrator.AgentKey) {
	o.Send(key, orchestrator.Message{From: System, Type: message.Update, Headline: "your task is not submitted"},
		"Your turn ended, but nothing was submitted. Finish the task and submit it with the tool your instructions name, or ask with "+
			o.State.Agents[key].Shown(toolset.AskHuman)+".\n")
}

// Read takes the word of an agent, or of a person, that a message was read. It reports whether there
// is such a message.
func (o *Office) Read(file string, by orchestrator.AgentKey) bool {
	for i := range o.State.Messages {
		m := &o.State.Messages[i]
		if m.File == file && m.AckedAt.IsZero() && (by == "" || addressed(o.Def, by, m.To)) {
			o.acked(m)
			o.deliverNext(o.runningAt(m.To))
			return true
		}
	}
	return false
}

func (o *Office) acked(m *orchestrator.Message) {
	m.State, m.AckedAt = orchestrator.MessageAcked, o.Now
	o.Do.Disarm(retryTimer(m.Seq), ackTimer(m.Seq), expiryTimer(m.Seq))
	o.Do.Event(orchestrator.MsgAckedRecord(record(*m)))
}

// Undeliverable gives up the message whose delivery failed for good.
func (o *Office) Undeliverable(seq int, cause string) {
	if m := o.find(seq); m != nil {
		m.Attempts++ // what was rejected has none
		o.failed(m, cause)
	}
}

// failed gives a message up and tells its sender, if that is an agent; people see it in the records.
func (o *Office) failed(m *orchestrator.Message, cause string) {
	m.State, m.Reason = orchestrator.MessageFailed, orchestrator.Optional(orchestrator.Truncate(cause, 200))
	o.Do.Disarm(retryTimer(m.Seq), ackTimer(m.Seq), expiryTimer(m.Seq))
	o.Do.Event(orchestrator.MsgFailedRecord(record(*m)))
	seq, from, to, headline, by := m.Seq, m.From, m.To, m.Headline, m.By // the append below may move m
	if m.Open {
		o.giveUp(seq, "It could not be delivered: "+cause+".")
		o.deliverNext(o.runningAt(to))
		return
	}
	if key := o.runningAt(from); key != "" && by != ByHand {
		o.Send(key, orchestrator.Message{From: System, Type: message.Update, Headline: "your message was not delivered"},
			fmt.Sprintf("Your message %q to %s failed: %s.\n", headline, to, cause))
	}
	o.deliverNext(o.runningAt(to))
}

// Orphan ends what was never delivered, and lets the names of the files say so.
func (o *Office) Orphan() {
	var files []string
	for i := range o.State.Messages {
		m := &o.State.Messages[i]
		if m.State != orchestrator.MessageQueued {
			continue
		}
		files = append(files, m.File)
		m.State, m.Reason, m.File = orchestrator.MessageOrphan, "the session ended", orphan(m.File)
		o.Do.Disarm(retryTimer(m.Seq), expiryTimer(m.Seq))
		o.Do.Event(orchestrator.MsgOrphanedRecord(record(*m)))
	}
	if len(files) > 0 {
		o.Do.Effect(orchestrator.EffOrphan, files[0], orchestrator.Args{Paths: files}, o.Do.Pending(func(e orchestrator.Effect) bool {
			return e.Type == orchestrator.EffWriteFile && slices.Contains(files, e.Args.Path)
		})...)
	}
}

// Rearm starts the timers of the messages again, at a resume.
func (o *Office) Rearm() {
	for _, m := range o.State.Messages {
		if m.Open && m.To != orchestrator.CoordinatorPerson {
			o.Do.Arm(askTimer(m.Seq), o.State.Settings.AskTimeout)
		}
		switch {
		case m.State == orchestrator.MessageDelivered:
			o.Do.Arm(ackTimer(m.Seq), o.State.Settings.AckTimeout)
		case m.State == orchestrator.MessageQueued && !m.Deadline.IsZero():
			o.State.Deadlines[expiryTimer(m.Seq)] = m.Deadline
		}
	}
}

func (o *Office) find(seq int) *orchestrator.Message {
	i := slices.IndexFunc(o.State.Messages, func(m orchestrator.Message) bool { return m.Seq == seq })
	if i < 0 {
		return nil
	}
	return &o.State.Messages[i]
}

// findIn finds a message by its number as a timer names it, in a given state.
func (o *Office) findIn(seq, state string) *orchestrator.Message {
	n, err := strconv.Atoi(seq)
	if err != nil {
		return nil
	}
	if m := o.find(n); m != nil && m.State == state {
		return m
	}
	return nil
}

// runningAt returns the key of the running agent with an address, or "".
func (o *Office) runningAt(address string) orchestrator.AgentKey {
	if key := At(o.Def, o.State, address); o.State.Agents[key].Launch != "" {
		return key
	}
	return ""
}

// HasMail reports whether a message to the agent is on its way.
func (o *Office) HasMail(key orchestrator.AgentKey) bool {
	return len(Waiting(o.Def, o.State, key)) > 0
}

// Researched begins the headline of every message about the end of a research topic.
const Researched = "research "

// Rejected ends the headline of every message about a submission that was not taken.
const Rejected = " was rejected"

// Missed reports whether an agent ended before it read what concerns its end: it waited for
// an answer that had come just before, and ended cleanly, or it had handed in what was rejected,
// for which it may have been ended. Each such message excuses one end; one whose sender is claimed, none.
func (o *Office) Missed(key orchestrator.AgentKey, clean bool) bool {
	for _, m := range Waiting(o.Def, o.State, key) {
		awaited := clean && (m.Type == message.AskResponse || m.From == System && strings.HasPrefix(m.Headline, Researched)) ||
			m.From == System && strings.HasSuffix(m.Headline, Rejected)
		if !awaited || m.By == ByHand {
			continue
		}
		rule := "missed/" + strconv.Itoa(m.Seq)
		c := o.State.Counters[rule]
		if c.N++; c.N == 1 {
			o.State.Counters[rule] = orchestrator.Counter{N: 1, Since: o.Now}
			return true
		}
	}
	return false
}
