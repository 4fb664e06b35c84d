package engine_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/message"
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

// An index that was cut or replaced is read from its start again. What it told has left the state long
// ago, and is not told a second time, by the host that saw it and by the next one; nor is it told because
// somebody wrote a line of it once more.
func TestProtocolT9ARewoundIndexTellsNothingTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const sent = 60
		w := newTeamWorld(t)
		h := w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 2 })
		post := func(n int) {
			w.post("1.build.api.1", message.Message{
				To: message.Person, From: message.Address{Mesh: "shop", Agent: "api"}, Type: message.Update, Headline: fmt.Sprint(n), ID: fmt.Sprintf("api-%d", n),
			})
		}
		for n := range sent {
			post(n)
		}
		st := w.until("told all", func(s *orchestrator.State) bool { return s.MessageSeq == sent })
		if len(st.RecentIDs) > 0 || len(st.Messages) >= sent {
			t.Errorf("the state holds %d ids and %d messages", len(st.RecentIDs), len(st.Messages))
		}
		index := w.s.Path(session.MessageIndex)
		text, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		w.appendTo(session.MessageIndex, first+"\n")
		for round, change := range []func(){func() {}, h.stop} { // the same host, then another one
			if change(); round == 1 {
				w.start(engine.Options{Start: orchestrator.Start{Mode: orchestrator.StartResume}})
			}
			again := strings.Repeat(" ", round+1) + "\n" + string(text) // every line is elsewhere
			if err := os.WriteFile(index, []byte(again), 0o600); err != nil {
				t.Fatal(err)
			}
			post(sent + round)
			w.until("told the next", func(s *orchestrator.State) bool {
				return len(s.Messages) > 0 && s.Messages[len(s.Messages)-1].ID == fmt.Sprintf("api-%d", sent+round)
			})
		}
		if n := len(w.events(orchestrator.EvInputRewound)); n != 2 {
			t.Errorf("%d rewinds", n)
		}
		told := map[string]int{}
		for _, e := range w.events(orchestrator.EvMsgDelivered) {
			told[e.Data.(orchestrator.MsgDeliveredRecord).File]++
		}
		for file, n := range told {
			if n != 1 {
				t.Errorf("%s was told %d times", file, n)
			}
		}
		if len(told) != sent+2 {
			t.Errorf("%d messages were told", len(told))
		}
	})
}
