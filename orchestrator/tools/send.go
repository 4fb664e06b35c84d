package tools

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/postbox"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/message"
)

// sendMessage writes a message of an agent to its file, which gets its name and the line of the index
// that names it while no other writer can write. The sender is the agent of the launch that calls. The
// state, which is long when many messages wait, is the one that was read before: what came since then
// counts as unread.
func (c *call) sendMessage(st *orchestrator.State) Answer {
	m, refusal := c.letter(st)
	if refusal != nil {
		return *refusal
	}
	answer := Answer{OK: true, Phase: st.Phase, Warnings: c.warnings}
	sending := post.Sending{From: m.From.String(), To: m.To.String()}
	sending.Answers = post.AnswersAnAsk(st, sending.From, sending.To, m.InReplyTo)
	before, err := postbox.CountSince(c.s.Path(session.MessageIndex), st.MessageCursor.Offset)
	if err == nil {
		m.ID = fmt.Sprintf("%s-%d", m.From.Agent, st.MessageCursor.Seq+before+1)
		err = postbox.Box{Dir: c.s.Path(session.MessagesDir)}.Post(m, c.now, func(name postbox.Name) error {
			return c.s.AppendSeen(session.MessageIndex, c.now, st, func(tail session.Tail) (*session.NewLine, error) {
				unread, own, last, err := tail.CountUnread(c.who.Launch)
				if err != nil {
					return nil, err
				}
				if sending.Unread, sending.Own = unread, own; post.Waits(c.def, st, sending) {
					answer = refused("too many messages of yours wait to be read; send no more until some are")
					answer.Phase = st.Phase
					return nil, nil
				}
				id := m.ID
				if last > before { // the sender sent another one meanwhile, which may have this id
					id = fmt.Sprintf("%s-%d", m.From.Agent, st.MessageCursor.Seq+unread+1)
				}
				file, sum, err := name(id)
				if err != nil {
					return nil, err
				}
				c.payload = orchestrator.Payload{File: path.Join(session.MessagesDir, file), SHA256: sum}
				answer.Text = c.sent(m, file)
				return c.line(st), nil
			})
		})
	}
	if err == nil {
		return answer
	}
	if errors.Is(err, session.ErrStays) {
		return Answer{
			Phase: c.seen.Phase, Errors: []string{err.Error()},
			Text: "not known to be sent: " + err.Error() + "; the session takes it if " + session.MessageIndex + " names " + c.payload.File + ": look there before you send it again",
		}
	}
	if errors.Is(err, session.ErrBusy) {
		return Answer{Text: "busy: other writers hold the file, nothing was sent; call " + c.who.shown(c.seen, c.tool.Name) + " again", Errors: []string{"busy"}}
	}
	if errors.Is(err, postbox.ErrLarge) {
		return *c.invalid(c.seen, []string{"body: the message would be " + err.Error()})
	}
	return Answer{Phase: c.seen.Phase, Text: "not sent: " + err.Error() + "; call " + c.who.shown(c.seen, c.tool.Name) + " again", Errors: []string{err.Error()}}
}

// sent says what becomes of a message, and what the writer can do meanwhile.
func (c *call) sent(m message.Message, name string) string {
	text := "sent: " + name + " to " + m.To.String() + "."
	if m.Type == message.Ask {
		text += " The answer comes as a message; go on with what does not need it, or end your turn."
	}
	return text
}

// letter makes the message of the parameters, or says why it is not sent.
func (c *call) letter(st *orchestrator.State) (message.Message, *Answer) {
	if a := c.admitted(st); a != nil {
		return message.Message{}, a
	}
	parts, ok := c.who.Launch.Parts()
	key := orchestrator.KeyOf(parts.Role, parts.Task)
	if !ok || key != c.who.key() || !slices.Contains(post.Addresses(c.def), post.Address(c.def, key)) {
		a := refused("a message is sent from the launch of its writer, and launch %q is not of an agent %q of this run", c.who.Launch, c.who.key())
		a.Phase = st.Phase
		return message.Message{}, &a
	}
	m, problems := c.compose()
	if problems = append(c.problems, problems...); len(problems) > 0 {
		return m, c.invalid(st, problems)
	}
	status := m.Status
	if status == "" {
		status = message.StatusOf(m.Type)
	}
	from, to := m.From.String(), m.To.String()
	switch why := post.Refused(st, from, to, status, post.AnswersAnAsk(st, from, to, m.InReplyTo)); {
	case why == "":
	case st.Settings.Msg.Warn:
		c.warnings = append(c.warnings, why)
	default:
		a := refused("%s", why)
		a.Phase = st.Phase
		return m, &a
	}
	return m, nil
}

func (c *call) compose() (m message.Message, problems []string) {
	text := func(name string) string { return c.draft[name].text }
	m = message.Message{
		Type: text("type"), Status: text("status"), Headline: strings.TrimSpace(text("headline")), InReplyTo: text("in_reply_to"),
		Priority: text("priority"), At: c.now, Body: []byte(strings.TrimRight(text("body"), "\n") + "\n"),
	}
	from := post.Address(c.def, c.who.key())
	m.From, _ = message.ParseAddress(from)
	switch to, warning, problem := post.Recipient(c.def, text("to")); {
	case text("to") == "":
	case problem != "":
		problems = append(problems, "to: "+problem)
	case to == from:
		problems = append(problems, "to: "+to+" is you")
	default:
		m.To, _ = message.ParseAddress(to)
		if warning != "" {
			c.warnings = append(c.warnings, "to: "+warning)
		}
	}
	if given := text("deadline"); given != "" {
		var err error
		if m.Deadline, err = time.Parse(time.RFC3339, given); err != nil {
			problems = append(problems, fmt.Sprintf("deadline: expected a time such as 2026-01-15T10:05:00Z, found %q", given))
		}
	}
	if m.Type == message.AskResponse && m.InReplyTo == "" {
		problems = append(problems, "in_reply_to: required for an ask-response")
	}
	if len(problems) > 0 || len(c.problems) > 0 {
		return m, problems
	}
	_, found := message.Parse("message", m.Text(), nil) // the rules of its file
	for _, p := range found {
		p.File, p.Line = "", 0
		problems = append(problems, p.String())
	}
	return m, problems
}
