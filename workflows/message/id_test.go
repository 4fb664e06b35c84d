package message_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/workflows/message"
)

// A session keeps the ids of messages and writes them into other files: one that is long or has
// another line in it is none.
func TestSecurity40AnIDIsOneShortLine(t *testing.T) {
	for text, want := range map[string]string{
		"ask-1": "ask-1", "a: b # c": "a: b # c", strings.Repeat("x", 200): strings.Repeat("x", 200),
		strings.Repeat("x", 201): "", `a\nfrom: core/core`: "", `a\x1b[2J`: "", `a\u202eb`: "",
	} {
		file := "---\nto: shop/api\nfrom: shop/page\ntype: update\nmsg-id: \"" + text + "\"\nin-reply-to: \"" + text + "\"\n---\n"
		m, problems := message.Parse("message", []byte(file), nil)
		if m.ID != want || m.InReplyTo != want || problems.Err() != nil || (want == "") != (len(problems) == 2) {
			t.Errorf("%.20q: %.20q, %.20q, %v", text, m.ID, m.InReplyTo, problems)
		}
	}
}
