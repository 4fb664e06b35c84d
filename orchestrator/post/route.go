package post

import (
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/message"
)

// Refused says why the table of the run does not allow a message from an agent: with what it may
// send, or nothing. An answer to an ask that was put to its writer is always allowed: the ask was.
func Refused(s *orchestrator.State, from, to, status string, answersAnAsk bool) string {
	if answersAnAsk {
		return ""
	}
	return s.Settings.Msg.Rows.Table().Refused(agentOf(from), status, agentOf(to))
}

// AnswersAnAsk reports whether a message of from to to answers an open ask.
func AnswersAnAsk(s *orchestrator.State, from, to, id string) bool {
	for _, a := range s.Messages {
		if id != "" && a.Open && a.From == to && a.To == from && ID(a) == id {
			return true
		}
	}
	return false
}

// wearsOut counts a message that may come back to its writer along the table, and reports whether it
// went this way as often as it may. The person is asked then, and it may go as often again.
func (o *Office) wearsOut(m orchestrator.Message, status string) bool {
	from, to := agentOf(m.From), agentOf(m.To)
	rules := o.State.Settings.Msg
	if rules.Max <= 0 || !rules.Rows.Table().Cycles(from, status, to) {
		return false
	}
	rule := strings.Join([]string{"route", from, status, to}, "/")
	c := o.State.Counters[rule]
	if c.N >= rules.Max {
		delete(o.State.Counters, rule)
		return true
	}
	if c.N == 0 {
		c.Since = o.Now
	}
	c.N++
	o.State.Counters[rule] = c
	return false
}

// stopped makes an ask to the person of a message that went its way too often.
func stopped(m orchestrator.Message, status string, times int) orchestrator.Message {
	m.Headline = fmt.Sprintf("%s sent %s to %s %d times and would again: %s", m.From, status, m.To, times, m.Headline)
	m.Type, m.To = message.Ask, orchestrator.CoordinatorPerson
	return m
}
