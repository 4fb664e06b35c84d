package play_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/play"
)

// A message that is listed while the host writes its file is read once it is there, as an agent would; another refusal is an end.
func TestAMessageIsHeardOnceItCanBeRead(t *testing.T) {
	var out strings.Builder
	reads := 0
	err := play.Hear(t.Context(), func(_ context.Context, tool string, params map[string]any) (string, bool, error) {
		if tool == "msg_list" {
			return "1 message\n- 1-answer.md: answer from person, queued: The answer", false, nil
		}
		if reads++; reads == 1 {
			return "message 1-answer.md cannot be read: the host is writing it; call msg_read again in a moment", true, nil
		}
		return "The answer: b", false, nil
	}, &out, "answer: b")
	if err != nil || reads != 2 || out.String() != "The answer: b\n" {
		t.Errorf("%v, %d reads, %q", err, reads, out.String())
	}
	err = play.Hear(t.Context(), func(_ context.Context, tool string, _ map[string]any) (string, bool, error) {
		return "- 1.md: x", tool == "msg_read", nil
	}, io.Discard, "b")
	if err == nil {
		t.Error("a refusal is taken for a message")
	}
}
