package decide

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/dialog"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

// questions are what agents, and the session itself, want to know from a person. An answer
// reaches its agent by mail, see [reducer.answer].
type questions struct {
	*queue
	clock *clock
}

func (qs *questions) ask(q orchestrator.Question) {
	q.Kind, q.AskedAt = cmp.Or(q.Kind, orchestrator.KindQuestion), qs.now
	if q.Options == nil {
		q.Options = []string{}
	}
	qs.s.Questions = append(qs.s.Questions, q)
	qs.event(orchestrator.QuestionAskedRecord{ID: q.ID, Kind: q.Kind, Role: q.Role, Task: q.Task, Text: q.Text, Options: q.Options})
	if !qs.s.Interactive {
		qs.clock.arm(questionTimer(q.ID), qs.s.Settings.LimitHumanWait)
	}
}

// askRetry asks the person of an interactive session what to do with an agent
// that is gone.
func (qs *questions) askRetry(key orchestrator.AgentKey, cause string) {
	if duty.HostQuestion(qs.s, key) != nil {
		return
	}
	role, task := key.Split()
	qs.ask(orchestrator.Question{ID: duty.HostQuestions + strconv.Itoa(len(qs.s.Questions)+1), Role: role, Task: task,
		Text: fmt.Sprintf("The %s ended without submitting (%s). Start it again?", key, cause), Options: []string{"retry", "stop"}})
}

func (qs *questions) find(id string) *orchestrator.Question {
	for i := range qs.s.Questions {
		if qs.s.Questions[i].ID == id {
			return &qs.s.Questions[i]
		}
	}
	return nil
}

// withdraw closes a question that needs no answer any more.
func (qs *questions) withdraw(q *orchestrator.Question) {
	q.AnsweredBy, q.AnsweredAt = "system", qs.now
	qs.clock.disarm(questionTimer(q.ID))
	qs.event(orchestrator.QuestionAnsweredRecord{ID: q.ID, Actor: "system", Source: orchestrator.SourceWithdrawn, Timeout: false})
}

const synthetic = "nobody answered: take the safest reading and write it down"

func questionTimer(id string) string { return "question/" + id }

// questionID is what the id of an agent's question looks like: its number, or that
// of the message it came by.
var questionID = regexp.MustCompile(`^[qm][0-9]{1,9}$`)

func (r *reducer) applyAsk(c duty.Call) {
	id := c.Payload.ID
	if !questionID.MatchString(id) || r.questions.find(id) != nil {
		id = duty.NextQuestion(r.s)
	}
	r.questions.ask(orchestrator.Question{ID: id, Role: c.Role, Task: c.Task, Text: c.Payload.Question, Options: c.Payload.Options})
	if !duty.Reachable(r.def, r.s, c.Task) {
		r.questionTimeout(id)
	}
}

// answer closes a question and tells the agent. An option's number means its text.
func (r *reducer) answer(q *orchestrator.Question, text, actor, source string, timeout bool) {
	text = duty.Pick(q, text)
	q.Answer, q.AnsweredBy, q.AnsweredAt = orchestrator.Optional(text), orchestrator.Optional(actor), r.now
	r.clock.disarm(questionTimer(q.ID))
	r.event(orchestrator.QuestionAnsweredRecord{ID: q.ID, Actor: actor, Source: source, Timeout: timeout})
	key := orchestrator.KeyOf(q.Role, q.Task)
	if duty.OfHost(*q) {
		r.answerRetry(key, text, actor, source)
		return
	}
	if q.Kind == orchestrator.KindDialog {
		r.crew.answerDialog(q)
		return
	}
	asked, text := q.Text, string(q.Answer)
	r.mail.Send(key, orchestrator.Message{From: orchestrator.CoordinatorPerson, Type: "ask-response", Headline: "answer to " + q.ID, InReplyTo: r.mail.Answered(q.ID)},
		fmt.Sprintf("You asked: %s\n\nThe answer: %s\n", asked, text))
	r.crew.wake(key)
}

func (r *reducer) questionTimeout(id string) {
	q := r.questions.find(id)
	if q == nil || !q.Open() {
		return
	}
	if q.Kind == orchestrator.KindDialog { // what permits an agent to act is a person's alone
		r.outcome.park(orchestrator.ReasonAgentDialog, dialog.Unanswered(r.s, q, duty.Reachable(r.def, r.s, q.Task)), duty.AnswerHow[orchestrator.ReasonAgentDialog])
		return
	}
	if r.s.Settings.QuestionTimeout == "park" {
		r.outcome.park(orchestrator.ReasonQuestion, "question "+id+" was not answered in time", "answer it, then resume")
		return
	}
	r.answer(q, synthetic, "system", "timeout", true)
}

// locked notes that the issue takes no comments any more. People cannot answer there, so
// what is open is decided now, as if its time had passed. A resume tries the issue again.
func (r *reducer) locked() {
	if r.s.Interactive || r.s.Paused || r.s.Ended() || !r.s.Settings.Reachable {
		return
	}
	r.s.Settings.Reachable, r.changed = false, true
	for _, id := range duty.OpenQuestions(r.s, "") {
		if !r.s.Ended() {
			r.questionTimeout(id)
		}
	}
}

func (r *reducer) answerRetry(key orchestrator.AgentKey, text, actor, source string) {
	if strings.EqualFold(strings.TrimSpace(text), "stop") {
		r.outcome.cancel(actor, source)
		return
	}
	if o, ok := duty.OwedBy(r.def, r.s, key); ok {
		r.crew.launch(o, true)
	}
}
