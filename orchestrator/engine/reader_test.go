package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// row is one kind of line: what it leaves in the records, and what of it they tell.
type row struct {
	name string
	line string
	kind string // of the only new record; "" = none
	key  string // of its data
	want string // what the value begins with
}

// readerRows are given in order to a session whose planner 1.planner.1 is at work.
func readerRows(id string) []row {
	status := func(more string) string { return `{"tool":"report_status","payload":{"message":"hi"}` + more + `}` }
	submit := func(more string) string { return `{"tool":"submit_plan","payload":{},"role":"planner"` + more + `}` }
	return []row{
		{"bad JSON", `{"tool":`, "input_corrupt", "reason", "bad JSON"},
		{"no object", `[1]`, "input_corrupt", "reason", "no object"},
		{"no tool", `{"payload":{}}`, "input_corrupt", "reason", "no tool"},
		{"tool no text", `{"tool":{}}`, "input_corrupt", "reason", "no tool"},
		{"payload no object", `{"tool":"report_status","payload":"x"}`, "input_corrupt", "reason", "payload is not an object"},
		{"payload of another form", submit(`,"payload":{"subplan_index":[]}`), "input_corrupt", "reason", "payload: subplan_index: found array"},
		{"payload of another form, shown", status(`,"payload":{"message":7}`), "input_corrupt", "excerpt", `{"message":7}`},
		{"not UTF-8", "{\"tool\":\"\xff\"}", "input_corrupt", "reason", "not UTF-8"},
		{"too long", status(`,"x":"` + strings.Repeat("x", session.MaxLine) + `"`), "input_corrupt", "reason", "longer than 256 KiB"},
		{"blank", "", "", "", ""},
		{"white space", " \t\r", "", "", ""},
		{"no payload", `{"tool":"report_status"}`, "agent_status", "message", ""},
		{"unknown tool", `{"tool":"submit_everything","payload":{}}`, "input_unknown", "tool", "submit_everything"},
		{"another session", status(`,"session":"other"`), "input_ignored", "reason", "foreign"},
		{"its own session", status(`,"session":"` + id + `","id":"a1"`), "agent_status", "message", "hi"},
		{"a known id", status(`,"id":"a1"`), "input_ignored", "reason", "duplicate"},
		{"a classic line", status(`,"classic":1`), "agent_status", "message", "hi"},
		{"the same bytes", status(`,"classic":1`), "input_ignored", "reason", "duplicate"},
		{"an older visit", submit(`,"visit":0`), "input_ignored", "reason", "stale"},
		{"a later visit", submit(`,"visit":9`), "input_ignored", "reason", "stale"},
		{"an older visit, no submission", status(`,"visit":0`), "agent_status", "message", "hi"},
		{"another launch", submit(`,"visit":1,"launch":"1.planner.9"`), "input_ignored", "reason", "stale"},
		{"another launch, no submission", status(`,"launch":"1.planner.9"`), "agent_status", "message", "hi"},
		{"not of this workflow", `{"tool":"submit_design","payload":{}}`, "input_ignored", "reason", "workflow quick has no phase"},
		{"not of this phase", `{"tool":"submit_done","payload":{"subplan_index":1}}`, "input_ignored", "reason", "the session is in phase planning"},
		{"not of this role", `{"tool":"submit_plan","payload":{},"role":"coder"}`, "input_ignored", "reason", "submit_plan is a tool of the planner"},
		{"not of this task", `{"tool":"submit_research_done","payload":{"topic":"a","type":"code"},"role":"code-researcher","task":"b"}`,
			"input_ignored", "reason", "this launch works on topic b"},
		{"an artifact that is not there", submit(`,"visit":1,"launch":"1.planner.1"`), "input_rejected", "tool", "submit_plan"},
	}
}

// written returns a field of a record as its line has it.
func written(t *testing.T, e orchestrator.Event, key string) string {
	t.Helper()
	var data map[string]any
	line, err := json.Marshal(e.Data)
	if err == nil {
		err = json.Unmarshal(line, &data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(data[key])
}

// What a reader makes of each kind of line: what it leaves, and that the cursor stands
// behind it.
func TestProtocolJ3EveryKindOfLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		w.start(engine.Options{})
		st := w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.pass(3 * time.Second)
		read, length := len(w.events("")), int64(0)
		for _, r := range readerRows(st.SessionID) {
			w.append(r.line + "\n")
			length += int64(len(r.line)) + 1
			w.pass(3 * time.Second)
			news := decided(w.events("")[read:])
			read = len(w.events(""))
			switch {
			case r.kind == "":
				if len(news) != 0 {
					t.Errorf("%s: %+v", r.name, news)
				}
				continue // passed over with the next line
			case len(news) != 1 || news[0].Type != r.kind || !strings.HasPrefix(written(t, news[0], r.key), r.want):
				t.Errorf("%s: %+v, want %s with %s %q", r.name, news, r.kind, r.key, r.want)
			}
			if corrupt, _ := news[0].Data.(orchestrator.InputCorruptRecord); len([]rune(corrupt.Excerpt)) > 120 {
				t.Errorf("%s: the excerpt has %d characters", r.name, len([]rune(corrupt.Excerpt)))
			}
			if at := w.state().ToolCursor.Offset; at != length {
				t.Errorf("%s: the cursor is at %d of %d", r.name, at, length)
			}
		}
		if st := w.state(); st.Phase != "planning" || len(st.Messages) != 1 || !strings.Contains(st.Messages[0].Headline, "rejected") {
			t.Errorf("phase %s, messages %+v", st.Phase, st.Messages)
		}
		halfThenWhole(t, w, length)
	})
}

// decided are the records of lines, without those of messages.
func decided(events []orchestrator.Event) []orchestrator.Event {
	var out []orchestrator.Event
	for _, e := range events {
		if !strings.HasPrefix(e.Type, "msg_") {
			out = append(out, e)
		}
	}
	return out
}

// halfThenWhole has the same launch correct its artifact, in a line that comes in two
// pieces and, as those of the earlier tool, names no visit.
func halfThenWhole(t *testing.T, w *world, length int64) {
	t.Helper()
	w.write("04_planning/plan.yaml", plan)
	w.append(`{"tool":"submit_plan",`)
	w.pass(time.Minute)
	if st := w.state(); st.ToolCursor.Offset != length || st.Phase != "planning" {
		t.Errorf("half a line moved the cursor to %d, phase %s", st.ToolCursor.Offset, st.Phase)
	}
	w.append(`"payload":{}}` + "\n")
	w.until("implementing", func(st *orchestrator.State) bool { return st.Phase == "implementing" })
}

// A file that is gone is an empty one; if it had been read, that is recorded.
func TestProtocolJ3AMissingFileIsEmpty(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		remove := func() {
			t.Helper()
			if err := os.Remove(w.s.Path(session.ToolEvents)); err != nil {
				t.Fatal(err)
			}
			w.pass(5 * time.Second)
		}
		w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		remove()
		if n := len(w.events(orchestrator.EvInputRewound)); n != 0 {
			t.Errorf("%d rewinds of a file nobody had read", n)
		}
		line := `{"tool":"report_status","payload":{"message":"hi"}}` + "\n"
		w.append(line)
		w.pass(3 * time.Second)
		remove()
		if n := len(w.events(orchestrator.EvInputRewound)); n != 1 || w.state().ToolCursor.Offset != 0 {
			t.Errorf("%d rewinds, cursor %+v", n, w.state().ToolCursor)
		}
		w.append(line)
		w.pass(3 * time.Second)
		if n := len(w.events(orchestrator.EvAgentStatus)); n != 1 {
			t.Errorf("the same line was applied %d times", n)
		}
	})
}

// A writer that died in the middle of a line costs that line and no other.
func TestProtocolJ2ATornTailThenAnotherWriter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.append(`{"tool":"report_status","payload":{"mess`)
		w.pass(10 * time.Second)
		if n := len(decided(w.events(""))); n != len(w.events("")) || len(w.events(orchestrator.EvInputCorrupt)) != 0 {
			t.Error("a line without an end was judged")
		}
		err := w.s.Append(session.ToolEvents, time.Now(), func(session.Tail) (*session.NewLine, error) {
			return &session.NewLine{Tool: "report_status", Role: "planner", Launch: "1.planner.1", Visit: 1, Payload: map[string]any{"message": "whole"}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		w.pass(3 * time.Second)
		corrupt, status := w.events(orchestrator.EvInputCorrupt), w.events(orchestrator.EvAgentStatus)
		if len(corrupt) != 1 {
			t.Fatalf("corrupt lines: %+v", corrupt)
		}
		if torn := corrupt[0].Data.(orchestrator.InputCorruptRecord); torn.Offset != 0 || !strings.Contains(torn.Excerpt, "mess") {
			t.Errorf("corrupt lines: %+v", corrupt)
		}
		if len(status) != 1 || status[0].Data.(orchestrator.AgentStatusRecord).Message != "whole" {
			t.Errorf("applied: %+v", status)
		}
	})
}

// The rows of the reader hold for the commands of people, too.
func TestProtocolJ3LinesOfPeople(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		w.start(engine.Options{})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		w.pass(3 * time.Second)
		read, length := len(w.events("")), int64(0)
		for _, r := range []row{
			{"bad JSON", `{"tool":`, "input_corrupt", "file", "commands.jsonl"},
			{"a name of another form", `{"tool":"command","payload":{"name":["stop"]}}`, "input_corrupt", "reason", "payload: name: found array"},
			{"a tool of agents", `{"tool":"submit_plan","payload":{}}`, "input_unknown", "tool", "submit_plan"},
			{"another session", `{"tool":"command","session":"other","payload":{"name":"stop"}}`, "input_ignored", "reason", "foreign"},
			{"an unknown command", `{"tool":"command","payload":{"name":"explode"}}`, "command_refused", "reason", "unknown command"},
			{"one comment", `{"tool":"command","id":"c1","payload":{"name":"say","args":{"text":"a"},"source_id":"comment/7"}}`, "command_applied", "name", "say"},
			{"the same comment", `{"tool":"command","id":"c2","payload":{"name":"say","args":{"text":"a"},"source_id":"comment/7"}}`, "input_ignored", "reason", "duplicate"},
			{"the same line", `{"tool":"command","id":"c1","payload":{"name":"say","args":{"text":"a"}}}`, "input_ignored", "reason", "duplicate"},
		} {
			w.appendTo(session.Commands, r.line+"\n")
			length += int64(len(r.line)) + 1
			w.pass(3 * time.Second)
			news := decided(w.events("")[read:])
			read = len(w.events(""))
			if len(news) != 1 || news[0].Type != r.kind || !strings.HasPrefix(written(t, news[0], r.key), r.want) {
				t.Errorf("%s: %+v, want %s with %s %q", r.name, news, r.kind, r.key, r.want)
			}
			if at := w.state().CommandCursor.Offset; at != length {
				t.Errorf("%s: the cursor is at %d of %d", r.name, at, length)
			}
		}
	})
}
