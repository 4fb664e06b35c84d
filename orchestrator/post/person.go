package post

import (
	"path"
	"slices"
	"strings"

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
	to, _, problem := Recipient(o.Def, w.To.String())
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
	case loadOf(o.Def, o.State, orchestrator.CoordinatorPerson).own >= maxClaimed:
		return "too many messages of yours wait to be read"
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
	m, refused := named(o.State, name)
	switch {
	case m == nil:
		return refused
	case m.State != orchestrator.MessageQueued && m.State != orchestrator.MessageDelivered:
		return path.Base(m.File) + " is " + m.State
	}
	o.Read(m.File, "")
	return ""
}

// Retry queues a message again that did not reach its reader, or says why not. What was rejected is
// not a message that could be delivered.
func Retry(o *Office, name string) (refused string) {
	m, refused := named(o.State, name)
	switch {
	case m == nil:
		return refused
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

// named returns the message in the state that has this file or this msg-id, or says why there is not one.
func named(s *orchestrator.State, name string) (m *orchestrator.Message, refused string) {
	found := Named(s.Messages, name)
	switch len(found) {
	case 0:
		return nil, NoMessage(name)
	case 1:
		i := slices.IndexFunc(s.Messages, func(m orchestrator.Message) bool { return m.Seq == found[0].Seq })
		return &s.Messages[i], ""
	}
	return nil, Several(name, found)
}

// Named returns the messages that a name may mean: the one that has this file, else those that have this msg-id.
func Named(list []orchestrator.Message, name string) []orchestrator.Message {
	if found := WithFile(list, name); len(found) > 0 {
		return found
	}
	return WithID(list, name)
}

// maxTold bounds the files that a refusal names.
const maxTold = 5

// Several says that a name may mean several messages, and names the files of the last of them.
func Several(name string, list []orchestrator.Message) string {
	var files []string
	for _, m := range list[max(0, len(list)-maxTold):] {
		files = append(files, path.Base(m.File)+" from "+Sender(m))
	}
	return "several messages are called \"" + orchestrator.Truncate(name, 100) + "\"; name the file of one: " + strings.Join(files, ", ")
}

// WithFile returns the messages that have a file. Names of files are the identity of messages: there is
// one at most.
func WithFile(list []orchestrator.Message, name string) []orchestrator.Message {
	return matching(list, func(m orchestrator.Message) bool { return path.Base(m.File) == path.Base(name) })
}

// WithID returns the messages that have a msg-id. A file by hand may have the id of any other message,
// which comes before it.
func WithID(list []orchestrator.Message, id string) []orchestrator.Message {
	if found := matching(list, func(m orchestrator.Message) bool { return ID(m) == id && m.By != ByHand }); len(found) > 0 {
		return found
	}
	return matching(list, func(m orchestrator.Message) bool { return ID(m) == id })
}

func matching(list []orchestrator.Message, means func(orchestrator.Message) bool) []orchestrator.Message {
	return slices.DeleteFunc(slices.Clone(list), func(m orchestrator.Message) bool { return !means(m) })
}

// NoMessage says that a name means no message.
func NoMessage(name string) string {
	return "no message is called \"" + orchestrator.Truncate(name, 100) + "\", or it ended long ago; agentmux msg list shows them"
}
