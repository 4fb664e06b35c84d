package post

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/message"
)

// maxAsked is how many questions to the person one agent may have open.
const maxAsked = 3

// Asks reports whether an agent waits for the answer to an ask.
func Asks(def *workflows.Definition, s *orchestrator.State, key orchestrator.AgentKey) bool {
	return slices.ContainsFunc(s.Messages, func(m orchestrator.Message) bool { return m.Open && addressed(def, key, m.From) })
}

// held reports whether a message waits until its reader has the answer to an ask of its own: what
// other agents write does, but for answers, and what somebody claims to be one.
func held(m orchestrator.Message) bool {
	return m.By == ByHand || m.By != "" && m.By != byPerson && m.Type != message.AskResponse && m.Type != message.TaskComplete
}

// Deadlock returns the agents that would wait for one another in a circle if from put an ask to to,
// beginning with from; nil if none would.
func Deadlock(list []orchestrator.Message, from, to string) []string {
	seen := map[string]bool{}
	var path func(at string) []string
	path = func(at string) []string {
		if at == from {
			return []string{at}
		}
		if seen[at] {
			return nil
		}
		seen[at] = true
		for _, m := range list {
			if m.Open && m.From == at {
				if rest := path(m.To); rest != nil {
					return append([]string{at}, rest...)
				}
			}
		}
		return nil
	}
	if circle := path(to); circle != nil {
		return append([]string{from}, circle...)
	}
	return nil
}

// ask opens an ask, which holds its writer, or answers it at once where no answer can come.
func (o *Office) ask(writer orchestrator.AgentKey, m orchestrator.Message) {
	_, reader := At(o.Def, o.State, m.To).Split()
	circle := Deadlock(o.State.Messages, m.From, m.To)
	switch {
	case m.To == orchestrator.CoordinatorPerson:
		m.Open = true
		o.show(m)
	case circle != nil:
		o.fail(m, "a circle of asks: "+strings.Join(circle, " waits for "))
		o.unanswered(writer, m, "It would never be answered: "+strings.Join(circle, " waits for ")+". Answer what you were asked first, or go on without it.")
	case o.State.Team[reader].Marker != "":
		o.fail(m, m.To+" has ended")
		o.unanswered(writer, m, m.To+" has ended and answers nothing more. Go on without it.")
	default:
		m.Open = true
		o.queue(m)
		o.Do.Arm(askTimer(m.Seq), o.State.Settings.AskTimeout)
		o.deliverNext(o.runningAt(m.To))
	}
}

// show ends a message to the person, who sees it in the records.
func (o *Office) show(m orchestrator.Message) {
	o.queue(m)
	shown := o.find(m.Seq)
	shown.State, shown.AckedAt = orchestrator.MessageAcked, o.Now
	delivered := record(*shown)
	delivered.Mode = modeShown
	o.Do.Event(orchestrator.MsgDeliveredRecord(delivered))
}

const modeShown = "shown"

// answered returns the open ask that a message answers, or nil. Of the files of other tools an answer
// may have the msg-id of its ask.
func answered(s *orchestrator.State, m orchestrator.Message) *orchestrator.Message {
	if m.Type != message.AskResponse {
		return nil
	}
	i := slices.IndexFunc(s.Messages, func(a orchestrator.Message) bool {
		return a.Open && a.From == m.To && (ID(a) == m.InReplyTo || m.InReplyTo == "" && ID(a) == ID(m))
	})
	if i < 0 {
		return nil
	}
	return &s.Messages[i]
}

// close ends the wait for an answer. An ask that is answered was read.
func (o *Office) close(a *orchestrator.Message) {
	a.Open = false
	o.Do.Disarm(askTimer(a.Seq))
	if a.State == orchestrator.MessageQueued || a.State == orchestrator.MessageDelivered {
		o.acked(a)
	}
}

// unanswered gives the writer of an ask the answer that there is none.
func (o *Office) unanswered(writer orchestrator.AgentKey, m orchestrator.Message, why string) {
	o.send(writer, orchestrator.Message{
		From: orchestrator.CoordinatorPerson, Type: message.AskResponse, Headline: "no answer to " + ID(m), InReplyTo: ID(m),
	}, "blocked", fmt.Sprintf("You asked %s: %s\n\n%s\n", m.To, m.Headline, why))
}

// giveUp closes an ask that will not be answered. One that was not delivered is not delivered any more.
func (o *Office) giveUp(seq int, why string) {
	m := o.find(seq)
	if m == nil || !m.Open {
		return
	}
	m.Open = false
	o.Do.Disarm(askTimer(seq))
	if m.State == orchestrator.MessageQueued {
		o.expire(m, "it was not answered in time")
	}
	m = o.find(seq)
	o.unanswered(At(o.Def, o.State, m.From), *m, why)
}

// Unanswered is the timer of an ask.
func (o *Office) Unanswered(seq int) {
	o.giveUp(seq, "Nobody answered in time. Take the safest reading and write it down, or go on without it.")
}

// Ended gives up the asks to an agent that answers nothing more.
func (o *Office) Ended(key orchestrator.AgentKey) {
	for i := range o.State.Messages {
		if m := o.State.Messages[i]; m.Open && addressed(o.Def, key, m.To) {
			o.giveUp(m.Seq, m.To+" has ended and answers nothing more. Go on without it.")
		}
	}
}

// Forget closes the asks of an agent that has done its part.
func (o *Office) Forget(key orchestrator.AgentKey) {
	for i := range o.State.Messages {
		if m := &o.State.Messages[i]; m.Open && addressed(o.Def, key, m.From) {
			m.Open = false
			o.Do.Disarm(askTimer(m.Seq))
		}
	}
}

// Asked returns the open ask to the person in a file, or nil.
func (o *Office) Asked(file string) *orchestrator.Message {
	i := slices.IndexFunc(o.State.Messages, func(m orchestrator.Message) bool {
		return m.File == file && m.Open && m.To == orchestrator.CoordinatorPerson
	})
	if i < 0 {
		return nil
	}
	return &o.State.Messages[i]
}

// Question returns the id of the question that an ask to the person is.
func Question(m orchestrator.Message) string { return id(m.Seq) }

// Answered closes the ask that the question with an id was, and returns its msg-id; of any other
// question it returns the id.
func (o *Office) Answered(question string) string {
	for i := range o.State.Messages {
		if m := &o.State.Messages[i]; m.By != "" && m.By != ByHand && m.Type == message.Ask && m.To == orchestrator.CoordinatorPerson && Question(*m) == question {
			m.Open = false
			return ID(*m)
		}
	}
	return question
}
