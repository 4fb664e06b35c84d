package comment

import (
	"time"

	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/orchestrator"
)

// confined is why what a session made ends with the runner of its job: no checkpoint of it may leave. Empty: it does not.
type confined string

// confinement goes by the last checkpoint, or by what an open gate or the end shows: no later one leaves with that, either.
func confinement(v *View) confined {
	why := v.Stays
	if why == "" && len(v.Gate.Findings) > 0 {
		why = v.Gate.Findings[0]
	}
	if why == "" && v.End.Reason == orchestrator.ReasonOutputGate {
		why = v.End.Cause()
	}
	if !v.Fleeting || why == "" {
		return ""
	}
	return confined(v.n.Inline(markdown.Shorten(markdown.Raw(why), 500)))
}

// onceMore is what a person can do once a confined session has ended.
const onceMore = "`/agentmux retry` begins once more, from the last checkpoint on the server if there is one"

// waits says that the job waits for a person, until a time if that is not zero.
func (c confined) waits(what string, until time.Time) string {
	line := "The job keeps its runner for it, as what was made must not leave that: " + string(c) + "."
	if !until.IsZero() {
		line += " Without " + what + " by " + deadline(until) + " it ends, and what was made is lost; " + onceMore + " then."
	}
	return line
}

// lost says what the end of the session means.
func (c confined) lost() string {
	return "What was made is on the runner of this job alone, and is lost with it: " + string(c) + ".\nAnother try: comment " + onceMore + "."
}
