package post

import (
	"path"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/message"
)

// Commands of the person about messages.
const (
	CommandSend  = "msg send"
	CommandAck   = "msg ack"
	CommandRetry = "msg retry"
)

// Writers of messages that are no launches of agents.
const (
	ByHand   orchestrator.Launch = "hand" // whoever laid the file there: its sender is claimed
	byPerson orchestrator.Launch = "cli"
)

// FromPerson queues a message of the person for an agent, or says why not. Where its file is not at
// hand, as when a command is foreseen, nothing happens.
func FromPerson(o *Office, p orchestrator.Payload, l *message.Letter) (refused string) {
	if l == nil {
		return ""
	}
	w := &l.Message
	to, problem := Recipient(o.Def, w.To.String())
	switch {
	case l.Problem != "":
		return l.Problem
	case l.SHA256 != p.SHA256:
		return "its file was changed after it was sent"
	case w.From != message.Person:
		return "it says that it is from " + w.From.String()
	case problem != "":
		return problem
	case to == orchestrator.CoordinatorPerson:
		return to + " is you"
	case w.Type == message.AskResponse:
		return "a question is answered with agentmux answer"
	case slices.ContainsFunc(o.State.Messages, func(m orchestrator.Message) bool { return m.File == p.File }):
		return Twice
	}
	o.queue(orchestrator.Message{
		Seq: o.nextNumber(), File: p.File, SHA256: p.SHA256, From: w.From.String(), To: to, Type: w.Type, Headline: w.Headline, ID: w.ID,
		By: byPerson, InReplyTo: w.InReplyTo, Priority: w.Priority, Deadline: orchestrator.At(w.Deadline),
	})
	o.deliverNext(o.runningAt(to))
	return ""
}

// Ack takes the word of the person that a message was read, or says why not.
func Ack(o *Office, name string) (refused string) {
	m := named(o.State, name)
	switch {
	case m == nil:
		return noMessage(name)
	case m.State != orchestrator.MessageQueued && m.State != orchestrator.MessageDelivered:
		return path.Base(m.File) + " is " + m.State
	}
	o.Read(m.File, "")
	return ""
}

// Retry queues a message again that did not reach its reader, or says why not. What was rejected is
// not a message that could be delivered.
func Retry(o *Office, name string) (refused string) {
	m := named(o.State, name)
	switch {
	case m == nil:
		return noMessage(name)
	case m.State == orchestrator.MessageFailed && m.DeliveredAt.IsZero() && m.Attempts == 0:
		return path.Base(m.File) + " was rejected: " + string(m.Reason) + "; its writer has to send another one"
	case m.State != orchestrator.MessageFailed && m.State != orchestrator.MessageExpired && m.State != orchestrator.MessageOrphan:
		return path.Base(m.File) + " is " + m.State
	}
	m.State, m.Reason, m.Again, m.Attempts = orchestrator.MessageQueued, "", false, 0
	m.Deadline, m.DeliveredAt = orchestrator.Time{}, orchestrator.Time{}
	o.Do.Event(orchestrator.MsgQueuedRecord(record(*m)))
	o.deliverNext(o.runningAt(m.To))
	return ""
}

// named returns the message in the state that has this file or this msg-id, or nil.
func named(s *orchestrator.State, name string) *orchestrator.Message {
	i := Named(s.Messages, name)
	if i < 0 {
		return nil
	}
	return &s.Messages[i]
}

// Named returns the place of the message that has this file, else of the one that has this msg-id, or -1.
// A file by hand may have the id of any other message, which comes before it.
func Named(list []orchestrator.Message, name string) int {
	i := slices.IndexFunc(list, func(m orchestrator.Message) bool { return path.Base(m.File) == path.Base(name) })
	if i < 0 {
		i = slices.IndexFunc(list, func(m orchestrator.Message) bool { return ID(m) == name && m.By != ByHand })
	}
	if i < 0 {
		i = slices.IndexFunc(list, func(m orchestrator.Message) bool { return ID(m) == name })
	}
	return i
}

func noMessage(name string) string {
	return "no message is called \"" + orchestrator.Truncate(name, 100) + "\", or it ended long ago; agentmux msg list shows them"
}
