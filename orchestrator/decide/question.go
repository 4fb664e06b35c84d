package decide

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

const synthetic = "nobody answered: take the safest reading and write it down"

func questionTimer(id string) string { return "question/" + id }

// SourceWithdrawn is the source of the answer to a question that needs none any more.
const SourceWithdrawn = "withdrawn"

// hostQuestions begins the ids of the questions that the session itself asks. No
// agent's question has such an id.
const hostQuestions = "host-"

// questionID is what the id of an agent's question looks like: its number, or that
// of the message it came by.
var questionID = regexp.MustCompile(`^[qm][0-9]{1,9}$`)

func (r *reducer) applyAsk(c Call) {
	id := c.Payload.ID
	if !questionID.MatchString(id) || r.question(id) != nil {
		id = r.nextQuestion()
	}
	r.ask(orchestrator.Question{ID: id, Role: c.Role, Task: c.Task, Text: c.Payload.Question, Options: c.Payload.Options})
	if !r.s.Settings.Reachable {
		r.questionTimeout(id)
	}
}

func (r *reducer) nextQuestion() string { return NextQuestion(r.s, 0) }

// NextQuestion is the id of the next question, behind as many that the state does not know
// yet.
func NextQuestion(s *orchestrator.State, unread int) string {
	for n := len(s.Questions) + unread + 1; ; n++ {
		id := "q" + strconv.Itoa(n)
		if !slices.ContainsFunc(s.Questions, func(q orchestrator.Question) bool { return q.ID == id }) {
			return id
		}
	}
}

func (r *reducer) ask(q orchestrator.Question) {
	q.AskedAt = r.now
	if q.Options == nil {
		q.Options = []string{}
	}
	r.s.Questions = append(r.s.Questions, q)
	r.event(orchestrator.QuestionAskedRecord{ID: q.ID, Role: q.Role, Task: q.Task, Text: q.Text, Options: q.Options})
	if !r.s.Interactive {
		r.deadline(questionTimer(q.ID), r.s.Settings.LimitHumanWait)
	}
}

func (r *reducer) question(id string) *orchestrator.Question {
	for i := range r.s.Questions {
		if r.s.Questions[i].ID == id {
			return &r.s.Questions[i]
		}
	}
	return nil
}

// openQuestions returns the ids of the questions that wait.
func (r *reducer) openQuestions() []string {
	var ids []string
	for _, q := range r.s.Questions {
		if q.Open() {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// pickFault tells why a number picks none of the options; "" for any other answer.
func pickFault(q *orchestrator.Question, text string) string {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || len(q.Options) == 0 || n >= 1 && n <= len(q.Options) || slices.Contains(q.Options, text) {
		return ""
	}
	return fmt.Sprintf("question %s has no option %d: answer with a number from 1 to %d, or in words", q.ID, n, len(q.Options))
}

// answer closes a question and tells the agent. An option's number stands for its text.
func (r *reducer) answer(q *orchestrator.Question, text, actor, source string, timeout bool) {
	if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && n >= 1 && n <= len(q.Options) {
		text = q.Options[n-1]
	}
	q.Answer, q.AnsweredBy, q.AnsweredAt = orchestrator.Optional(text), orchestrator.Optional(actor), r.now
	r.disarm(questionTimer(q.ID))
	r.event(orchestrator.QuestionAnsweredRecord{ID: q.ID, Actor: actor, Source: source, Timeout: timeout})
	key := orchestrator.AgentKey(q.Role, q.Task)
	if ofHost(*q) {
		r.answerRetry(key, text, actor, source)
		return
	}
	asked, text := q.Text, string(q.Answer)
	r.message(key, orchestrator.Message{From: orchestrator.CoordinatorPerson, Type: "ask-response", Headline: "answer to " + q.ID, InReplyTo: q.ID},
		fmt.Sprintf("You asked: %s\n\nThe answer: %s\n", asked, text))
	r.wake(key)
}

// withdraw closes a question that needs no answer any more.
func (r *reducer) withdraw(q *orchestrator.Question) {
	q.AnsweredBy, q.AnsweredAt = "system", r.now
	r.disarm(questionTimer(q.ID))
	r.event(orchestrator.QuestionAnsweredRecord{ID: q.ID, Actor: "system", Source: SourceWithdrawn, Timeout: false})
}

func (r *reducer) questionTimeout(id string) {
	q := r.question(id)
	if q == nil || !q.Open() {
		return
	}
	if r.s.Settings.QuestionTimeout == "park" {
		r.park(orchestrator.ReasonQuestion, "question "+id+" was not answered in time", "answer it, then resume")
		return
	}
	r.answer(q, synthetic, "system", "timeout", true)
}

// locked notes that the issue takes no comments any more. Nobody can answer there, so
// what is open is decided now, as if its time had passed. A resume tries the issue anew.
func (r *reducer) locked() {
	if r.s.Interactive || r.s.Paused || r.s.Ended() || !r.s.Settings.Reachable {
		return
	}
	r.s.Settings.Reachable, r.changed = false, true
	for _, id := range r.openQuestions() {
		if !r.s.Ended() {
			r.questionTimeout(id)
		}
	}
}

// askRetry asks the person of an interactive session what to do with an agent
// that is gone.
func (r *reducer) askRetry(key, cause string) {
	if hostQuestion(r.s, key) != nil {
		return
	}
	role, task := orchestrator.SplitKey(key)
	r.ask(orchestrator.Question{ID: hostQuestions + strconv.Itoa(len(r.s.Questions)+1), Role: role, Task: task,
		Text: fmt.Sprintf("The %s ended without submitting (%s). Start it again?", key, cause), Options: []string{"retry", "stop"}})
}

func (r *reducer) answerRetry(key, text, actor, source string) {
	if strings.EqualFold(strings.TrimSpace(text), "stop") {
		r.cancel(actor, source)
		return
	}
	if o, ok := owedAgent(r.def, r.s, key); ok {
		r.launch(o, true)
	}
}
