package message

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Letter is the file of a message as a session read it.
type Letter struct {
	SHA256  string  `json:"sha256"`  // of the file; "" if there is none
	Gone    bool    `json:"gone"`    // there is none under a name that a message may have
	Message Message `json:"message"` // with the beginning of its body
	Problem string  `json:"problem"` // why the file is not a message, in one line
}

// Text returns the file of a message.
func (m *Message) Text() []byte {
	var b strings.Builder
	add := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", key, value)
		}
	}
	quoted := func(key, value string) {
		if value != "" {
			add(key, strconv.Quote(value))
		}
	}
	b.WriteString("---\n")
	add("to", m.To.String())
	add("from", m.From.String())
	add("type", m.Type)
	add("status", m.Status)
	quoted("msg-id", m.ID)
	quoted("in-reply-to", m.InReplyTo)
	quoted("headline", m.Headline)
	add("timestamp", stamp(m.At))
	if m.Priority != Normal {
		add("priority", m.Priority)
	}
	add("deadline", stamp(m.Deadline))
	b.WriteString("---\n")
	b.Write(m.Body)
	return []byte(b.String())
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
