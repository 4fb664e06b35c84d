package engine_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// What an agent says may hold a secret; records and state do not, wherever in a line it
// stands, and the line counts all the same.
func TestSecurity7WhatAgentsSayIsRecordedWithoutSecrets(t *testing.T) {
	const secret = "correct-horse-battery"
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "quick", nil)
		w.play = only(isPlanner)
		w.start(engine.Options{Redact: func(text string) string { return strings.ReplaceAll(text, secret, "[redacted:key]") }})
		w.until("at work", func(st *orchestrator.State) bool { return len(w.launches()) == 1 && len(st.Pending) == 0 })
		const planner = "1.planner.1"
		w.submit(planner, "report_status", fmt.Sprintf(`{"message":"with %s","percent":50}`, secret))
		w.submit(planner, "no tool "+secret, `{}`)
		w.submit(planner, "ask_human", fmt.Sprintf(`{"id":"q1","question":"Is it %[1]s?","options":["%[1]s","no"]}`, secret))
		w.append("no JSON " + secret + strings.Repeat(".", 85) + secret + "\n") // also across the cut of what is shown
		w.pass(time.Minute)
		if q := w.state().Questions; len(q) != 1 || q[0].Text != "Is it [redacted:key]?" {
			t.Errorf("questions %+v", q)
		}
		for _, name := range []string{session.EventsFile, session.StateFile} {
			text, err := os.ReadFile(w.s.Path(name))
			if err != nil || strings.Contains(string(text), secret[:5]) || !strings.Contains(string(text), "[redacted:key]") {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
			if name == session.EventsFile && strings.Count(string(text), "[redacted:key]") < 4 {
				t.Errorf("a line is not recorded:\n%s", text)
			}
		}
	})
}
