package duty

import (
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// AnswerTime is how long the tool of a submission waits for the session's answer.
const AnswerTime = 10 * time.Second

// Awaited reports whether the tool that wrote a line may still wait for its answer at a time.
func Awaited(l *orchestrator.Line, at time.Time) bool {
	return l.Launch != "" && l.ID != "" && l.Same == "" && !l.At.IsZero() && at.Sub(l.At.Time) <= AnswerTime
}

// ResearchDir returns the directory of a topic, relative to the session.
func ResearchDir(kind, topic string) string { return "03_research/" + kind + "-" + topic }
