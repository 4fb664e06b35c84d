package duty_test

import (
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

func TestWhoWaitsForTheAnswerToALine(t *testing.T) {
	read := time.Date(2026, 1, 15, 10, 0, 30, 0, time.UTC)
	for name, c := range map[string]struct {
		change func(*orchestrator.Line)
		waits  bool
	}{
		"a tool":               {func(*orchestrator.Line) {}, true},
		"for the last second":  {func(l *orchestrator.Line) { l.At = orchestrator.At(read.Add(-duty.AnswerTime)) }, true},
		"no longer":            {func(l *orchestrator.Line) { l.At = orchestrator.At(read.Add(-duty.AnswerTime - time.Second)) }, false},
		"its clock is ahead":   {func(l *orchestrator.Line) { l.At = orchestrator.At(read.Add(time.Second)) }, true},
		"a person's tool":      {func(l *orchestrator.Line) { l.Launch = "" }, false},
		"made by hand":         {func(l *orchestrator.Line) { l.Same = "sha" }, false},
		"without an id":        {func(l *orchestrator.Line) { l.ID = "" }, false},
		"without a time of it": {func(l *orchestrator.Line) { l.At = orchestrator.Time{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := orchestrator.Line{Launch: "2.coder.1.1", ID: "x", At: orchestrator.At(read)}
			c.change(&l)
			if got := duty.Awaited(&l, read); got != c.waits {
				t.Errorf("awaited: %v", got)
			}
		})
	}
}
