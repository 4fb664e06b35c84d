package decide

import (
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/post"
)

// mailing is the Session of the office that carries the messages.
type mailing struct {
	*queue
	clock *clock
}

func (b *mailing) Event(record orchestrator.Record) { b.event(record) }

func (b *mailing) Effect(kind, key string, args orchestrator.Args, after ...string) {
	b.effect(kind, key, args, after...)
}

func (b *mailing) Keep(text string) string { return b.blob(text) }

func (b *mailing) Pending(match func(orchestrator.Effect) bool) []string { return b.pending(match) }

func (b *mailing) Drop(match func(orchestrator.Effect) bool) { b.dropPending(match) }

func (b *mailing) Arm(timer string, span orchestrator.Duration) { b.clock.arm(timer, span) }

func (b *mailing) Disarm(timers ...string) { b.clock.disarm(timers...) }

func newOffice(q *queue, c *clock) post.Office {
	return post.Office{Def: q.def, State: q.s, Now: q.now, Do: &mailing{q, c}}
}

func delivered(r *reducer, e orchestrator.Effect, res orchestrator.Result) {
	if r.mail.Delivered(e, res) {
		r.clock.heard(orchestrator.KeyOf(e.Args.Role, e.Args.Task), e.Args.Launch)
	}
}

func messageRead(r *reducer, c duty.Call) {
	if !r.mail.Read(c.Payload.File, orchestrator.KeyOf(c.Role, c.Task)) {
		r.ignore(c, "no such message")
	}
}

// messageLine takes a line of the index of messages. While the session is paused or over, lines wait:
// the cursor stays in front of them. A line is known by the file that it names, which is taken once: so
// the state needs no memory of lines that grows with each message.
func messageLine(r *reducer) {
	l := r.in.Line
	if r.s.Paused && !l.Last || r.s.Ended() {
		return
	}
	r.s.MessageCursor = l.Cursor
	r.changed = true
	if r.lines.unusable(l) {
		return
	}
	payload, err := l.Decode()
	if err != nil {
		r.lines.badPayload(l, err)
		return
	}
	call := duty.Call{Tool: l.Tool, Role: l.Role, Task: l.Task, Launch: l.Launch, Visit: l.Visit, Payload: payload}
	reason := duty.IgnoreReason(r.s, l, call)
	if reason == "" && l.Taken {
		reason = post.Twice
	}
	if reason == "" {
		reason = r.mail.Take(l.Launch, payload, l.Letter)
	}
	if reason != "" {
		r.lines.ignored(l, call, reason)
		return
	}
	if l.Launch != "" {
		r.clock.heard(orchestrator.KeyOf(call.Role, call.Task), l.Launch)
	}
	if m := r.mail.Asked(payload.File); m != nil {
		askPerson(r, *m, string(l.Letter.Message.Body))
	}
	r.crew.wakeAnswered()
}

// askPerson makes a question of an ask to the person.
func askPerson(r *reducer, m orchestrator.Message, body string) {
	role, task := post.At(r.def, r.s, m.From).Split()
	id := post.Question(m)
	r.questions.ask(orchestrator.Question{ID: id, Role: role, Task: task, Text: orchestrator.Truncate(strings.TrimSpace(m.Headline+"\n\n"+body), maxQuestion)})
	if !duty.Reachable(r.def, r.s, task) {
		r.questionTimeout(id)
	}
}

// maxQuestion is how much of an ask the person is shown, in characters.
const maxQuestion = 4000

// unanswered is the timer of an ask.
func unanswered(r *reducer, seq string) {
	if n, err := strconv.Atoi(seq); err == nil {
		r.mail.Unanswered(n)
		r.crew.wakeAnswered()
	}
}

// ofMessages carries out a command of the person about messages while the session has not ended.
func ofMessages(r *reducer, do func(*post.Office) string) (refused string) {
	if r.s.Ended() {
		return "the session has ended"
	}
	return do(&r.mail)
}
