package decide

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// Delivery of a queued message is tried again after these pauses.
const (
	firstRedelivery = 5 * time.Second
	maxRedelivery   = 60 * time.Second
)

// systemAddress is the sender of what the session itself has to say.
const systemAddress = "system"

func messageTimer(seq int) string { return "message/" + strconv.Itoa(seq) }
func ackTimer(seq int) string     { return "ack/" + strconv.Itoa(seq) }
func expiryTimer(seq int) string  { return "expire/" + strconv.Itoa(seq) }

// agentAddress is how an agent stands in a message's to and from.
func agentAddress(key string) string {
	return "pipeline/" + strings.ReplaceAll(key, "/", "-")
}

func messageRecord(m orchestrator.Message) orchestrator.MessageRecord {
	return orchestrator.MessageRecord{
		Seq: m.Seq, File: m.File, From: m.From, To: m.To, MsgType: m.Type, Priority: m.Priority, Reason: string(m.Reason),
	}
}

// message queues a text for an agent. m gives From, Type, Headline and InReplyTo.
func (r *reducer) message(key string, m orchestrator.Message, body string) {
	m.Seq = 1
	if n := len(r.s.Messages); n > 0 {
		m.Seq = r.s.Messages[n-1].Seq + 1
	}
	id := "m" + strconv.Itoa(m.Seq)
	m.To, m.State, m.Priority = agentAddress(key), orchestrator.MessageQueued, "normal"
	m.File = path.Join("msgs", fmt.Sprintf("%s-%s-%s--%s-%s.md", r.now.UTC().Format("0102150405"),
		m.Type, agentPart(m.From), agentPart(m.To), id))
	content := messageText(m, id, r.now, body)
	m.SHA256 = r.blob(content)
	r.s.Messages = append(r.s.Messages, m)
	r.event(orchestrator.MsgQueuedRecord(messageRecord(m)))
	r.effect(orchestrator.EffWriteFile, m.File, orchestrator.Args{Path: m.File, SHA256: m.SHA256})
	if !m.Deadline.IsZero() {
		r.s.Deadlines[expiryTimer(m.Seq)] = m.Deadline
	}
	r.deliver(key, m)
}

func agentPart(address string) string {
	_, agent, ok := strings.Cut(address, "/")
	if !ok {
		return address
	}
	return agent
}

func messageText(m orchestrator.Message, id string, now orchestrator.Time, body string) string {
	status := "start"
	if m.Type == "ask-response" {
		status = "complete"
	}
	reply := ""
	if m.InReplyTo != "" {
		reply = "in-reply-to: " + m.InReplyTo + "\n"
	}
	return fmt.Sprintf("---\nto: %s\nfrom: %s\ntype: %s\nstatus: %s\nmsg-id: %s\n%sheadline: %s\ntimestamp: %s\n---\n%s",
		m.To, m.From, m.Type, status, id, reply, strconv.Quote(m.Headline), now.UTC().Format(time.RFC3339), body)
}

// deliver hands a message to the agent, if that is running. A paused session hands
// over nothing: a message is a new turn.
func (r *reducer) deliver(key string, m orchestrator.Message) {
	role, task := orchestrator.SplitKey(key)
	launch := r.s.Agents[key].Launch
	if launch == "" || r.s.Paused || r.s.Ended() {
		return
	}
	after := r.pending(func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffWriteFile && e.Args.Path == m.File || e.Type == orchestrator.EffStartAgent && e.Args.Launch == launch
	})
	r.effect(orchestrator.EffDeliver, fmt.Sprintf("%d.%d", m.Seq, m.Attempts), orchestrator.Args{Seq: m.Seq, Path: m.File, Role: role, Task: task, Launch: launch}, after...)
}

// deliverQueued tries the messages that wait for an agent.
func (r *reducer) deliverQueued(key string) {
	to := agentAddress(key)
	for _, m := range r.s.Messages {
		if m.To != to || m.State != orchestrator.MessageQueued {
			continue
		}
		r.dropPending(func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffDeliver && e.Args.Seq == m.Seq })
		r.disarm(messageTimer(m.Seq))
		r.deliver(key, m)
	}
}

// delivered takes the result of a try. Of a message that reached its agent by a hook
// the receipt is known; any other is to be acknowledged.
func (r *reducer) delivered(e orchestrator.Effect, res orchestrator.Result) {
	m := r.findMessage(e.Args.Seq)
	if m == nil || m.State != orchestrator.MessageQueued {
		return
	}
	if res.Delivery == orchestrator.DeliveryRefused {
		m.Attempts++
		pause := min(firstRedelivery<<min(m.Attempts-1, 4), maxRedelivery)
		r.deadline(messageTimer(m.Seq), orchestrator.Duration(pause))
		m.NextAt = r.s.Deadlines[messageTimer(m.Seq)]
		return
	}
	m.State, m.DeliveredAt = orchestrator.MessageDelivered, r.now
	r.disarm(messageTimer(m.Seq), expiryTimer(m.Seq))
	delivered := messageRecord(*m)
	delivered.Mode = res.Mode
	r.event(orchestrator.MsgDeliveredRecord(delivered))
	r.heard(orchestrator.AgentKey(e.Args.Role, e.Args.Task), e.Args.Launch)
	if res.Mode == orchestrator.ModeHook {
		r.acked(m)
		return
	}
	r.deadline(ackTimer(m.Seq), r.s.Settings.AckTimeout)
}

func (r *reducer) acked(m *orchestrator.Message) {
	m.State, m.AckedAt = orchestrator.MessageAcked, r.now
	r.disarm(messageTimer(m.Seq), ackTimer(m.Seq), expiryTimer(m.Seq))
	r.event(orchestrator.MsgAckedRecord(messageRecord(*m)))
}

// notAcked is the timer of a delivered message: it is delivered once more to an
// agent that is still at work, then it has failed.
func (r *reducer) notAcked(seq string) {
	m := r.messageOf(seq, orchestrator.MessageDelivered)
	if m == nil {
		return
	}
	key := r.runningAt(m.To)
	switch {
	case key == "": // its work is taken, nobody is left to read it
	case m.Again:
		r.messageFailed(m, "not acknowledged")
	default:
		m.Again, m.State, m.Reason = true, orchestrator.MessageQueued, "not acknowledged"
		r.event(orchestrator.MsgQueuedRecord(messageRecord(*m)))
		r.deliver(key, *m)
	}
}

// messageFailed gives a message up and tells its sender, if that is an agent;
// people see it in the records.
func (r *reducer) messageFailed(m *orchestrator.Message, cause string) {
	m.State, m.Reason = orchestrator.MessageFailed, orchestrator.Optional(orchestrator.Truncate(cause, 200))
	r.disarm(messageTimer(m.Seq), ackTimer(m.Seq), expiryTimer(m.Seq))
	r.event(orchestrator.MsgFailedRecord(messageRecord(*m)))
	to, headline := m.To, m.Headline
	if key := r.runningAt(m.From); key != "" { // the append below may move m
		r.message(key, orchestrator.Message{From: systemAddress, Type: "update", Headline: "your message was not delivered"},
			fmt.Sprintf("Your message %q to %s failed: %s.\n", headline, to, cause))
	}
}

// expire ends a message whose deadline passed before it was delivered.
func (r *reducer) expire(seq string) {
	m := r.messageOf(seq, orchestrator.MessageQueued)
	if m == nil {
		return
	}
	m.State, m.Reason = orchestrator.MessageExpired, "its deadline passed"
	r.disarm(messageTimer(m.Seq))
	r.dropPending(func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffDeliver && e.Args.Seq == m.Seq })
	r.event(orchestrator.MsgExpiredRecord(messageRecord(*m)))
}

// messageOf finds a message by its number as a timer names it, in a given state.
func (r *reducer) messageOf(seq, state string) *orchestrator.Message {
	n, err := strconv.Atoi(seq)
	if err != nil {
		return nil
	}
	if m := r.findMessage(n); m != nil && m.State == state {
		return m
	}
	return nil
}

// runningAt returns the key of the running agent with an address, or "".
func (r *reducer) runningAt(address string) string {
	for _, key := range slices.Sorted(maps.Keys(r.s.Agents)) {
		if agentAddress(key) == address && r.s.Agents[key].Launch != "" {
			return key
		}
	}
	return ""
}

func (r *reducer) findMessage(seq int) *orchestrator.Message {
	for i := range r.s.Messages {
		if r.s.Messages[i].Seq == seq {
			return &r.s.Messages[i]
		}
	}
	return nil
}

// redeliver is the timer of a refused message.
func (r *reducer) redeliver(seq string) {
	if m := r.messageOf(seq, orchestrator.MessageQueued); m != nil {
		r.deliver(r.runningAt(m.To), *m)
	}
}

// orphanMessages ends what was never delivered, and lets the names of the files say so.
func (r *reducer) orphanMessages() {
	var files []string
	for i := range r.s.Messages {
		m := &r.s.Messages[i]
		if m.State != orchestrator.MessageQueued {
			continue
		}
		files = append(files, m.File)
		m.State, m.Reason, m.File = orchestrator.MessageOrphan, "the session ended", orphanFile(m.File)
		r.disarm(messageTimer(m.Seq), expiryTimer(m.Seq))
		r.event(orchestrator.MsgOrphanedRecord(messageRecord(*m)))
	}
	if len(files) > 0 {
		r.effect(orchestrator.EffOrphan, files[0], orchestrator.Args{Paths: files}, r.fsPending()...)
	}
}

// orphanFile is the name of the file of a message that reached nobody.
func orphanFile(file string) string { return strings.TrimSuffix(file, ".md") + "-orphan.md" }
