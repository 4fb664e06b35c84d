package post

import (
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/message"
)

// Claimed marks a sender that nothing but a file names.
const Claimed = " (claimed, not proven)"

// Sender returns who sent a message, as its reader is told.
func Sender(m orchestrator.Message) string {
	if m.By == ByHand {
		return m.From + Claimed
	}
	return m.From
}

// Announced returns the type of a message and its sender, as its reader is told, with a mark if it may have
// been told before.
func Announced(m orchestrator.Message) string {
	if m.Again {
		return m.Type + " from " + Sender(m) + ", delivered once more"
	}
	return m.Type + " from " + Sender(m)
}

// Line is the line that announces a message, which is in file, to an agent; its text is never typed.
func Line(file string, m orchestrator.Message) string {
	return "New " + Announced(m) + ": read @" + file + " and act on it."
}

// takeClaimed queues a message whose file somebody laid there. Nothing proves who that was, so it is
// delivered as of a claimed sender and does nothing else: it opens and closes no ask, is no question to
// the person, and of what is wrong with it no agent is told. Its batch and what it supersedes are by hand,
// too.
func (o *Office) takeClaimed(p orchestrator.Payload, l *message.Letter) {
	w := &l.Message
	m := orchestrator.Message{
		Seq: o.nextNumber(), File: p.File, SHA256: p.SHA256, From: w.From.String(), To: w.To.String(), Type: w.Type, Headline: w.Headline,
		ID: w.ID, By: ByHand, InReplyTo: w.InReplyTo, Priority: w.Priority, Deadline: orchestrator.At(w.Deadline),
	}
	to, _, problem := Recipient(o.Def, m.To)
	switch {
	case l.SHA256 != p.SHA256:
		problem = "its file was changed after it was found"
	case l.Problem != "":
		problem = l.Problem
	case problem == "" && !o.State.Settings.Msg.Warn:
		problem = Refused(o.State, m.From, to, w.Status, false)
	}
	switch {
	case problem != "":
		o.fail(m, problem)
	case to == orchestrator.CoordinatorPerson:
		o.show(m)
	default:
		m.To, m.Reason = whole(o.Def, m.To)
		gather(o, m, w)
		o.deliverNext(o.runningAt(to))
	}
}

// maxClaimed is how many messages by hand may wait for their readers; further files wait where they are.
const maxClaimed = 100

// TakesClaimed reports whether there is room for another message by hand.
func TakesClaimed(def *workflows.Definition, s *orchestrator.State) bool {
	if loadOf(def, s, "").all >= room {
		return false
	}
	waiting := slices.DeleteFunc(slices.Clone(s.Messages), func(m orchestrator.Message) bool {
		return m.By != ByHand || m.State != orchestrator.MessageQueued && m.State != orchestrator.MessageDelivered
	})
	return len(waiting) < maxClaimed
}
