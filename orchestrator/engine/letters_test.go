package engine_test

import (
	"fmt"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// A file has one path: under another one it would be taken a second time.
func TestSecurity40AMessageHasOnePath(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		h := w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.write("msgs/a.md", "---\nto: shop/api\nfrom: core/core\ntype: update\n---\n")
		paths := []string{"msgs//a.md", "./msgs/a.md", "msgs/../msgs/a.md", "a.md", "../a.md", "msgs/a.md"}
		for i, p := range paths {
			w.command(fmt.Sprintf(`{"name":"msg send","file":%q,"actor":"mia","source_id":"cli/%d"}`, p, i))
		}
		w.command(`{"name":"stop","actor":"mia","source_id":"cli/stop"}`)
		h.wait()
		found := w.events(orchestrator.EvCommandRefused)
		if len(found) != len(paths) {
			t.Fatalf("%d refusals", len(found))
		}
		for i, e := range found {
			why := e.Data.(orchestrator.CommandRefusedRecord).Reason
			if (why == "it names no file of a message") != (paths[i] != "msgs/a.md") {
				t.Errorf("%s: %s", paths[i], why)
			}
		}
	})
}
