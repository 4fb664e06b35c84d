// Package dialog says what follows from a dialog that an agent's program shows, and from its answer. Beside the state that
// it is given it is pure. The answer may permit the agent to act: only a person gives it.
package dialog

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// MaxText is how much of a screen a person is shown, in characters.
const MaxText = orchestrator.MaxEventText

// MaxAsked is how many questions about dialogs of a launch may follow one another without an answer: its screen may move.
const MaxAsked = 5

// Rule is the counter of those.
func Rule(launch orchestrator.Launch) string { return "dialog/" + string(launch) }

// Of is the open question about a dialog of an agent's program, or nil.
func Of(s *orchestrator.State, key orchestrator.AgentKey) *orchestrator.Question {
	i := slices.IndexFunc(s.Questions, func(q orchestrator.Question) bool {
		return q.Open() && q.Kind == orchestrator.KindDialog && orchestrator.KeyOf(q.Role, q.Task) == key
	})
	if i < 0 {
		return nil
	}
	return &s.Questions[i]
}

// Covers reports whether what an agent has waited for since then was a known dialog: one was shown later, or asked about, or
// a person has answered one.
func Covers(s *orchestrator.State, key orchestrator.AgentKey, since, shown time.Time) bool {
	return !shown.Before(since) || slices.ContainsFunc(s.Questions, func(q orchestrator.Question) bool {
		return q.Kind == orchestrator.KindDialog && orchestrator.KeyOf(q.Role, q.Task) == key &&
			(q.AskedAt.After(since) || q.Answer != "" && q.AnsweredAt.After(since))
	})
}

// Seen is what a report says of the dialogs of an agent.
type Seen struct {
	Known bool                   // the program shows a dialog that a person is asked about
	Gone  bool                   // the one that is asked about is gone, or another one
	Ask   *orchestrator.Question // a new one

	until orchestrator.Time // when the same dialog, on a screen that moves, is no longer waited for
}

// Count counts the questions that follow one another without an answer, and has them end together. timer names the deadline
// of a question.
func (seen Seen) Count(s *orchestrator.State, launch orchestrator.Launch, timer func(id string) string) {
	if seen.Gone && !seen.Known {
		delete(s.Counters, Rule(launch))
	}
	if seen.Ask == nil {
		return
	}
	if !seen.until.IsZero() {
		s.Deadlines[timer(seen.Ask.ID)] = seen.until
	}
	c := s.Counters[Rule(launch)]
	c.N++
	s.Counters[Rule(launch)] = c
}

// See judges a report. The number of a question is that of the next record: a state of before has no other one with it. What
// a person has answered is not asked again before the answer was tried.
func See(s *orchestrator.State, rep *orchestrator.AgentReport) (seen Seen) {
	if slices.ContainsFunc(s.Pending, Answers(rep.Launch)) {
		return Seen{Known: true}
	}
	seen.Known = len(rep.Choices) > 0
	text := orchestrator.Truncate(rep.Dialog, MaxText)
	if q := Of(s, rep.Key); q != nil {
		if q.Text == text && slices.Equal(q.Options, rep.Choices) {
			return seen
		}
		if seen.Gone = true; slices.Equal(q.Options, rep.Choices) {
			seen.until = s.Deadlines["question/"+q.ID]
		}
	}
	if seen.Known {
		role, task := rep.Key.Split()
		seen.Ask = &orchestrator.Question{
			ID: "d" + strconv.Itoa(s.Seq+1), Kind: orchestrator.KindDialog, Role: role, Task: task, Text: text, Options: slices.Clone(rep.Choices),
		}
	}
	return seen
}

// AnswerFault tells why an answer may not be pressed, "" if it may: an answer permits what its writer has read of. So it names
// its question, and was written, which is zero if that is not known, after that was asked: in seconds, as lines tell it.
func AnswerFault(q *orchestrator.Question, named bool, written time.Time) string {
	switch asked := q.AskedAt.Truncate(time.Second); {
	case q.Kind != orchestrator.KindDialog:
	case !named:
		return "question " + q.ID + " is about a dialog, whose answer may permit the agent to act: read it, then answer " + q.ID + " <number>"
	case !written.IsZero() && written.Before(asked):
		return "the answer was written before question " + q.ID + " was asked: read it, then answer " + q.ID + " <number>"
	}
	return ""
}

// Unanswered says why a question about a dialog parks the session: reachable reports whether a person could be asked.
func Unanswered(s *orchestrator.State, q *orchestrator.Question, reachable bool) string {
	key := orchestrator.KeyOf(q.Role, q.Task)
	text := ": " + orchestrator.Truncate(strings.Join(strings.Fields(q.Text), " "), 200)
	switch {
	case !reachable:
		return "the " + string(key) + " shows a dialog that only a person may answer, and no person can be asked here" + text
	case s.Counters[Rule(s.Agents[key].Launch)].N > MaxAsked:
		return "the screen of the " + string(key) + " changed each time that a person was asked about its dialog" + text
	}
	return "the dialog of question " + q.ID + " was not answered in time" + text
}

// Answers matches the effect that answers a dialog of a launch.
func Answers(launch orchestrator.Launch) func(orchestrator.Effect) bool {
	return func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffAnswerDialog && e.Args.Launch == launch
	}
}

// Answered says what came of an answer that was to be pressed: that nothing was pressed, or why the session is parked;
// both are empty if the dialog went.
func Answered(s *orchestrator.State, e orchestrator.Effect, res orchestrator.Result) (said, parked string) {
	key := orchestrator.KeyOf(e.Args.Role, e.Args.Task)
	switch {
	case res.Delivery == orchestrator.DeliverySent:
	case res.Delivery == orchestrator.DeliveryRefused || s.Ended() || s.Agents[key].Launch != e.Args.Launch:
		said = "the dialog of question " + e.Args.Question + " is gone or another one: nothing was pressed"
	case res.Delivery == orchestrator.DeliveryIndeterminate:
		parked = "the " + string(key) + " shows the dialog of question " + e.Args.Question + " after three tries to answer it"
	default:
		parked = "the dialog of question " + e.Args.Question + " could not be answered"
	}
	return said, parked
}
