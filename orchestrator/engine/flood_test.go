package engine_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// An agent that floods its file keeps no command waiting: many lines share a commit, what a
// person says is read between two, and equal faults in a row are one record.
func TestAFloodOfLinesKeepsNobodyWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		commits, from := 0, 0
		h := w.start(engine.Options{OnCommit: func(s *orchestrator.State) {
			if s.ToolCursor.Offset == 0 {
				return
			}
			if commits++; from == 0 {
				from = s.Seq
				w.command(`{"name":"stop","actor":"mia","source_id":"cli/1"}`)
			}
		}})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		const bad, unknown = "{\"tool\":\n", `{"tool":"submit_everything"}` + "\n"
		each := 3000
		if testing.Short() {
			each = 1500 // half of it is more than one commit takes
		}
		flood := strings.Repeat(bad, each) + strings.Repeat(unknown, each)
		w.append(flood)
		st := h.wait()
		if st.Outcome != orchestrator.OutcomeCanceled {
			t.Fatalf("outcome %s, cause %s", st.Outcome, st.Cause)
		}
		if st.ToolCursor.Offset >= int64(len(flood))/2 {
			t.Errorf("stop waited for %d of %d bytes", st.ToolCursor.Offset, len(flood))
		}
		if commits > 5 {
			t.Errorf("%d commits for the lines before it", commits)
		}
		found := w.events(orchestrator.EvInputCorrupt)
		if first := found[0].Data.(orchestrator.InputCorruptRecord); len(found) != 1 || first.Count < 100 || first.Offset != 0 {
			t.Errorf("%d records of the faults, the first %+v", len(found), found[0])
		}
	})
}

// Nor does a flood of messages.
func TestAFloodOfMessagesKeepsNobodyWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = idle
		said := false
		h := w.start(engine.Options{OnCommit: func(s *orchestrator.State) {
			if s.MessageCursor.Offset > 0 && !said {
				said = true
				w.command(`{"name":"stop","actor":"mia","source_id":"cli/1"}`)
			}
		}})
		w.until("at work", func(*orchestrator.State) bool { return len(w.launches()) == 1 })
		lines := 6000
		if testing.Short() {
			lines = 3000
		}
		flood := strings.Repeat("{\"tool\":\n", lines)
		w.appendTo(session.MessageIndex, flood)
		if st := h.wait(); st.MessageCursor.Offset == 0 || st.MessageCursor.Offset >= int64(len(flood))/2 {
			t.Errorf("stop waited for %d of %d bytes", st.MessageCursor.Offset, len(flood))
		}
	})
}

// Lines that do something are taken in their order, each in a commit of its own, also in
// the middle of a flood.
func TestASubmissionInTheMiddleOfAFloodCounts(t *testing.T) {
	flood := 1500
	if testing.Short() {
		flood = 200
	}
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = func(w *world, e orchestrator.Effect) {
			w.append(strings.Repeat("{\"tool\":\n", flood))
			honest(w, e)
			w.append(strings.Repeat(`{"tool":"submit_everything"}`+"\n", flood))
		}
		st := w.start(engine.Options{}).wait()
		if st.Outcome != orchestrator.OutcomeDone {
			t.Fatalf("outcome %s %s, cause %s", st.Outcome, st.OutcomeReason, st.Cause)
		}
		total := 0
		for _, e := range w.events("") {
			switch d := e.Data.(type) {
			case orchestrator.InputCorruptRecord:
				total += max(d.Count, 1)
			case orchestrator.InputUnknownRecord:
				total += max(d.Count, 1)
			}
		}
		if launches := len(w.launches()); total%flood != 0 || total < flood*launches {
			t.Errorf("%d faults are told for %d launches", total, launches)
		}
		if n := len(w.events("")); n > 200 {
			t.Errorf("%d records", n)
		}
	})
}
