package mirror_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A host that gets a session with its checkpoint does not know of the last edits of the host before it. It reads
// what the status comment says, and edits it only if that is something else.
func TestAnotherHostEditsOnlyAStatusThatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		changed bool // by somebody else
		edits   int
	}{"right": {}, "wrong": {changed: true, edits: 1}} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			st.openPR()
			st.run(st.mirror(st.options()))
			right := st.end()
			file := st.session.Path(session.MirrorFile)
			var kept map[string]any
			if data, err := os.ReadFile(file); err != nil || json.Unmarshal(data, &kept) != nil {
				t.Fatal(err)
			}
			kept["status_digest"], kept["host"] = "of an earlier text", "a_1_1"
			data, err := json.Marshal(kept)
			if err == nil {
				err = os.WriteFile(file, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.changed {
				body := strings.Replace(statusOf(st), "done in", "lost in", 1)
				if err := (ghsync.Comments{Client: clientOf(t, st.server, botLogin)}).Edit(t.Context(), octoWidgets, int64(kept["status_comment_id"].(float64)), markdown.Finish(redact.New(), body)); err != nil {
					t.Fatal(err)
				}
			}
			before := len(st.server.Log())
			st.finish(st.mirror(st.options()))
			if n := len(st.server.Log()) - before; n != c.edits || st.end() != right {
				t.Errorf("writes %+v, want %d; it shows\n%s\nand not\n%s", st.server.Log()[before:], c.edits, st.end(), right)
			}
		})
	}
}

// statusOf is the text of the status comment.
func statusOf(st *stage) string {
	for _, c := range st.repo.Comments(12) {
		if strings.Contains(c.Body, "kind="+ghsync.KindStatus) {
			return c.Body
		}
	}
	return ""
}
