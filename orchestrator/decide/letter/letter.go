// Package letter renders messages: their files, and what the records say of them. It is pure.
package letter

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// Recipient returns the agent that an address names, whatever mesh is before it.
func Recipient(address string) string {
	_, agent, ok := strings.Cut(address, "/")
	if !ok {
		return address
	}
	return agent
}

// Record returns what the records say of a message.
func Record(m orchestrator.Message) orchestrator.MessageRecord {
	return orchestrator.MessageRecord{
		Seq: m.Seq, File: m.File, From: m.From, To: m.To, MsgType: m.Type, Priority: m.Priority, Reason: string(m.Reason),
	}
}

// Text returns the file of a message.
func Text(m orchestrator.Message, id string, now orchestrator.Time, body string) string {
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

// Orphan returns the name of the file of a message that was never delivered.
func Orphan(file string) string { return strings.TrimSuffix(file, ".md") + "-orphan.md" }

// Timer names the deadline of a message that is to be sent again.
func Timer(seq int) string { return "message/" + strconv.Itoa(seq) }

// AckTimer names the deadline of the word that a message was read.
func AckTimer(seq int) string { return "ack/" + strconv.Itoa(seq) }

// ExpiryTimer names the deadline of a message itself.
func ExpiryTimer(seq int) string { return "expire/" + strconv.Itoa(seq) }
