package mail

import (
	"time"

	"github.com/agentmux/agentmux/orchestrator/folder"
)

// Message is one message for a program.
type Message struct {
	File      string   `json:"file"`
	ID        string   `json:"id"`
	At        string   `json:"at"`
	Type      string   `json:"type"`
	Status    string   `json:"status"`
	From      string   `json:"from"`
	Claimed   bool     `json:"claimed,omitempty"`
	To        string   `json:"to"`
	Requester string   `json:"requester,omitempty"`
	Headline  string   `json:"headline"`
	InReplyTo string   `json:"in_reply_to,omitempty"`
	Priority  string   `json:"priority"`
	Tags      []string `json:"tags,omitempty"`
	Deadline  string   `json:"deadline,omitempty"`
	State     string   `json:"state"`
	Reason    string   `json:"reason,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
	Body      *string  `json:"body,omitempty"`
}

func jsonOf(e folder.Entry) Message {
	m := e.Message
	row := Message{
		File: e.File, ID: m.ID, At: e.At.UTC().Format(time.RFC3339), Type: m.Type, Status: m.Status,
		From: m.From.String(), To: m.To.String(), Requester: m.Requester, Headline: m.Headline, InReplyTo: m.InReplyTo,
		Priority: m.Priority, Tags: m.Tags, State: e.State, Reason: e.Reason, Warnings: e.Warnings, Claimed: e.Claimed,
	}
	if !m.Deadline.IsZero() {
		row.Deadline = m.Deadline.Format(time.RFC3339)
	}
	return row
}
