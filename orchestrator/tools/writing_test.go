package tools_test

import (
	"os"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
)

// Whenever the host writes the file of a message, an agent reads it or is told to call again: never that it cannot be read.
func TestAMessageIsReadWhileItsFileIsWritten(t *testing.T) {
	r := start(t, "quick")
	r.input(orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Tool: "command", ID: "1",
		Payload: []byte(`{"name":"say","actor":"ann","args":{"text":"hint"}}`)}})
	planner, m := r.agent("planner", ""), r.st.Messages[0]
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		if err := os.RemoveAll(r.s.Path(m.File)); err != nil {
			t.Fatal(err)
		}
		written := make(chan error)
		go func() { written <- r.s.WriteBlob(m.File, m.SHA256) }()
		for {
			a := r.call(planner, "msg_read", map[string]any{"file": m.File})
			if a.OK {
				break
			}
			if !strings.Contains(strings.Join(a.Errors, " "), "call msg_read again") {
				t.Fatalf("%+v", a)
			}
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	}
}
