package orchestrator

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
)

// Delivery of a queued message is tried again after these pauses.
const (
	firstRedelivery = 5 * time.Second
	maxRedelivery   = 60 * time.Second
)

func messageTimer(seq int) string { return "message/" + strconv.Itoa(seq) }

// agentAddress is how an agent stands in a message's to and from.
func agentAddress(key string) string {
	return "pipeline/" + strings.ReplaceAll(key, "/", "-")
}

func messageData(m Message) map[string]any {
	return map[string]any{
		"seq": m.Seq, "file": m.File, "from": m.From, "to": m.To, "msg_type": m.Type, "priority": m.Priority,
		"mode": "", "reason": string(m.Reason),
	}
}

// message queues a text for an agent. m gives From, Type and Headline.
func (r *reducer) message(key string, m Message, body string) {
	m.Seq = 1
	if n := len(r.s.Messages); n > 0 {
		m.Seq = r.s.Messages[n-1].Seq + 1
	}
	id := "m" + strconv.Itoa(m.Seq)
	m.To, m.State, m.Priority = agentAddress(key), MessageQueued, "normal"
	m.File = path.Join("msgs", fmt.Sprintf("%s-%s-%s--%s-%s.md", r.now.UTC().Format("0102150405"),
		m.Type, agentPart(m.From), agentPart(m.To), id))
	content := messageText(m, id, r.now, body)
	m.SHA256 = r.blob(content)
	r.s.Messages = append(r.s.Messages, m)
	r.event(EvMsgQueued, messageData(m))
	r.effect(EffWriteFile, m.File, Args{Path: m.File, SHA256: m.SHA256})
	if r.s.Agents[key].Launch != "" {
		r.deliver(key, m)
	}
}

func agentPart(address string) string {
	_, agent, ok := strings.Cut(address, "/")
	if !ok {
		return address
	}
	return agent
}

func messageText(m Message, id string, now Time, body string) string {
	status := "start"
	if m.Type == "ask-response" {
		status = "complete"
	}
	return fmt.Sprintf("---\nto: %s\nfrom: %s\ntype: %s\nstatus: %s\nmsg-id: %s\nheadline: %s\ntimestamp: %s\n---\n%s",
		m.To, m.From, m.Type, status, id, strconv.Quote(m.Headline), now.UTC().Format(time.RFC3339), body)
}

func (r *reducer) deliver(key string, m Message) {
	role, task := SplitKey(key)
	launch := r.s.Agents[key].Launch
	after := r.pending(func(e Effect) bool {
		return e.Type == EffWriteFile && e.Args.Path == m.File || e.Type == EffStartAgent && e.Args.Launch == launch
	})
	r.effect(EffDeliver, fmt.Sprintf("%d.%d", m.Seq, m.Attempts), Args{Seq: m.Seq, Path: m.File, Role: role, Task: task, Launch: launch}, after...)
}

// deliverQueued tries the messages that wait for an agent.
func (r *reducer) deliverQueued(key string) {
	to := agentAddress(key)
	for _, m := range r.s.Messages {
		if m.To != to || m.State != MessageQueued {
			continue
		}
		r.dropPending(func(e Effect) bool { return e.Type == EffDeliver && e.Args.Seq == m.Seq })
		r.disarm(messageTimer(m.Seq))
		r.deliver(key, m)
	}
}

func (r *reducer) delivered(e Effect, res Result) {
	m := r.findMessage(e.Args.Seq)
	if m == nil || m.State != MessageQueued {
		return
	}
	if res.Delivery == DeliveryRefused {
		m.Attempts++
		pause := min(firstRedelivery<<min(m.Attempts-1, 4), maxRedelivery)
		m.NextAt = r.now.Later(pause)
		r.s.Deadlines[messageTimer(m.Seq)] = m.NextAt
		return
	}
	m.State, m.DeliveredAt = MessageDelivered, r.now
	data := messageData(*m)
	data["mode"] = res.Mode
	r.event(EvMsgDelivered, data)
}

func (r *reducer) findMessage(seq int) *Message {
	for i := range r.s.Messages {
		if r.s.Messages[i].Seq == seq {
			return &r.s.Messages[i]
		}
	}
	return nil
}

// redeliver is the timer of a refused message.
func (r *reducer) redeliver(seq string) {
	n, err := strconv.Atoi(seq)
	if err != nil {
		return
	}
	m := r.findMessage(n)
	if m == nil || m.State != MessageQueued {
		return
	}
	for key, a := range r.s.Agents {
		if agentAddress(key) == m.To && a.Launch != "" {
			r.deliver(key, *m)
			return
		}
	}
}

// orphan ends what was never delivered.
func (r *reducer) orphanMessages() {
	for i := range r.s.Messages {
		m := &r.s.Messages[i]
		if m.State != MessageQueued {
			continue
		}
		m.State, m.Reason = MessageOrphan, "the session ended"
		r.disarm(messageTimer(m.Seq))
		r.event(EvMsgOrphaned, messageData(*m))
	}
}
