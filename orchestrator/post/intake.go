package post

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/message"
)

// Addresses lists whom the agents of a session may write to, the person last.
func Addresses(def *workflows.Definition) []string {
	var list []string
	if def.Team != nil {
		for i := range def.Team.Agents {
			list = append(list, def.Team.Session+"/"+def.Team.Agents[i].Name)
		}
	}
	return append(list, orchestrator.CoordinatorPerson)
}

// Recipient returns the address that a writer means: an address, the name of an agent alone, or the bare
// name of a mesh, with a warning that tells the whole address. problem says what is wrong with any other
// text.
func Recipient(def *workflows.Definition, text string) (address, warning, problem string) {
	known := Addresses(def)
	for _, a := range known {
		if a == text || agentOf(a) == text {
			return a, "", ""
		}
	}
	shown := "\"" + orchestrator.Truncate(text, 100) + "\""
	switch found := bare(known, text); len(found) {
	case 0:
		return "", "", "no agent is called " + shown + "; expected one of " + strings.Join(known, ", ")
	case 1:
		return found[0], shown + " is the bare name of a mesh and was taken for " + found[0] + ", the whole address", ""
	default:
		return "", "", shown + " is the bare name of a mesh and may mean " + strings.Join(found, ", ") + "; name one of them"
	}
}

// bare returns the addresses that the bare name of a mesh may mean: a mesh without an agent, or one of which
// an instance runs, as shop-1a2b3c is one of shop.
func bare(known []string, text string) (found []string) {
	mesh, agent, named := strings.Cut(text, "/")
	for _, a := range known {
		instance, name, _ := strings.Cut(a, "/")
		if named && name == agent && InstanceOf(instance, mesh) || !named && (instance == mesh || InstanceOf(instance, mesh)) {
			found = append(found, a)
		}
	}
	return found
}

// InstanceOf reports whether the name of a run is that of an instance of a mesh: the name of the mesh with
// an ending.
func InstanceOf(run, mesh string) bool { return mesh != "" && strings.HasPrefix(run, mesh+"-") }

// Twice is why a line that names the file of a message has no effect.
const Twice = "the message was taken before"

// Take queues the message that a line of the index names, or tells its writer why not. The sender is
// the agent of the launch that wrote the line, whatever the file says; without a launch it is claimed.
// ignored tells why the line has no effect at all.
func (o *Office) Take(by orchestrator.Launch, p orchestrator.Payload, l *message.Letter) (ignored string) {
	parts, ok := by.Parts()
	key := orchestrator.KeyOf(parts.Role, parts.Task)
	switch {
	case by != "" && (!ok || !slices.Contains(Addresses(o.Def), Address(o.Def, key))), o.Def.Team == nil:
		return "it is of no agent of this run"
	case slices.ContainsFunc(o.State.Messages, func(m orchestrator.Message) bool { return m.File == p.File }):
		return Twice
	case Full(o.State, Address(o.Def, key)):
		return "too many messages of " + Address(o.Def, key) + " wait to be read"
	case l == nil || l.SHA256 == "" && (!l.Gone || by == ""): // an agent is told what became of a message that it sent
		return "the message cannot be read"
	case by == "":
		o.takeClaimed(p, l)
		return ""
	}
	w := &l.Message
	m := orchestrator.Message{
		Seq: o.nextNumber(), File: p.File, SHA256: p.SHA256, From: Address(o.Def, key), To: w.To.String(), Type: w.Type, Headline: w.Headline,
		ID: w.ID, By: by, InReplyTo: w.InReplyTo, Priority: w.Priority, Deadline: orchestrator.At(w.Deadline),
	}
	if reason := o.refusal(m, p, l); reason != "" {
		o.reject(key, m, reason)
		return ""
	}
	m.To, m.Reason = whole(o.Def, m.To)
	if o.wearsOut(m, w.Status) {
		m = stopped(m, w.Status, o.State.Settings.Msg.Max)
	}
	o.take(key, m)
	return ""
}

func (o *Office) take(writer orchestrator.AgentKey, m orchestrator.Message) {
	for i := range o.State.Messages { // a reply says that what it answers was read
		if a := &o.State.Messages[i]; m.InReplyTo != "" && ID(*a) == m.InReplyTo && a.To == m.From && a.AckedAt.IsZero() &&
			(a.State == orchestrator.MessageQueued || a.State == orchestrator.MessageDelivered) {
			o.acked(a)
		}
	}
	if ask := answered(o.State, m); ask != nil {
		o.close(ask)
	}
	switch {
	case m.Type == message.Ask:
		o.ask(writer, m)
	case m.To == orchestrator.CoordinatorPerson:
		o.show(m)
	default:
		o.queue(m)
		o.deliverNext(o.runningAt(m.To))
	}
	o.deliverNext(writer)
}

// refusal says why a message is not taken, or nothing.
func (o *Office) refusal(m orchestrator.Message, p orchestrator.Payload, l *message.Letter) string {
	switch {
	case l.SHA256 != p.SHA256 && !l.Gone:
		return "its file was changed after it was sent"
	case l.Problem != "":
		return l.Problem
	case l.Message.From.String() != m.From:
		return "it says that it is from " + l.Message.From.String()
	}
	ask := answered(o.State, m)
	if ask != nil && ask.To != m.From {
		return m.InReplyTo + " was not put to you"
	}
	if m.Type == message.Ask && m.To == orchestrator.CoordinatorPerson && asked(o.State, m.From) >= maxAsked {
		return fmt.Sprintf("you have %d questions open, which is the most an agent may have", maxAsked)
	}
	to, _, problem := Recipient(o.Def, m.To)
	if problem != "" || o.State.Settings.Msg.Warn {
		return problem
	}
	return Refused(o.State, m.From, to, l.Message.Status, ask != nil)
}

// whole returns the whole address for one that was not refused, and what people are told of another
// spelling.
func whole(def *workflows.Definition, text string) (to string, warning orchestrator.Optional) {
	to, told, _ := Recipient(def, text)
	return to, orchestrator.Optional(orchestrator.Truncate(told, 200))
}

// asked counts the open asks of an agent to the person.
func asked(s *orchestrator.State, from string) (n int) {
	for _, m := range s.Messages {
		if m.Open && m.From == from && m.To == orchestrator.CoordinatorPerson {
			n++
		}
	}
	return n
}

// fail ends a message that is not queued.
func (o *Office) fail(m orchestrator.Message, reason string) {
	m.State, m.Reason, o.State.MessageSeq = orchestrator.MessageFailed, orchestrator.Optional(orchestrator.Truncate(reason, 200)), m.Seq
	o.State.Messages = append(o.State.Messages, m)
	o.Do.Event(orchestrator.MsgFailedRecord(record(m)))
}

// reject ends a message that is not taken, and tells its writer.
func (o *Office) reject(writer orchestrator.AgentKey, m orchestrator.Message, reason string) {
	o.fail(m, reason)
	o.Send(writer, orchestrator.Message{From: System, Type: message.Update, Headline: "rejected: " + path.Base(m.File), InReplyTo: m.ID},
		"Your message "+path.Base(m.File)+" was rejected: "+reason+".\n")
}
