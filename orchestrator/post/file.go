package post

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// Dir is the directory of the message files, below that of the session.
const Dir = "msgs"

// id is the msg-id of what the session itself writes.
func id(seq int) string { return "m" + strconv.Itoa(seq) }

// ID returns the msg-id of a message.
func ID(m orchestrator.Message) string { return cmp.Or(m.ID, id(m.Seq)) }

// file returns the path of the file that the session itself writes for a message.
func file(m orchestrator.Message, now orchestrator.Time) string {
	return path.Join(Dir, fmt.Sprintf("%s-%s-%s--%s-%s.md", now.UTC().Format("0102150405"), m.Type, agentOf(m.From), agentOf(m.To), id(m.Seq)))
}

// text returns the content of that file.
func text(m orchestrator.Message, status string, now orchestrator.Time, body string) string {
	reply := ""
	if m.InReplyTo != "" {
		reply = "in-reply-to: " + strconv.Quote(m.InReplyTo) + "\n"
	}
	return fmt.Sprintf("---\nto: %s\nfrom: %s\ntype: %s\nstatus: %s\nmsg-id: %s\n%sheadline: %s\ntimestamp: %s\n---\n%s",
		m.To, m.From, m.Type, status, id(m.Seq), reply, strconv.Quote(m.Headline), now.UTC().Format(time.RFC3339), body)
}

// orphan returns the name of the file of a message that was never delivered.
func orphan(file string) string { return strings.TrimSuffix(file, ".md") + "-orphan.md" }

// record returns what the records say of a message.
func record(m orchestrator.Message) orchestrator.MessageRecord {
	return orchestrator.MessageRecord{
		Seq: m.Seq, File: m.File, From: Sender(m), To: m.To, MsgType: m.Type, Priority: m.Priority, Reason: string(m.Reason),
	}
}
