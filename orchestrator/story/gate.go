package story

import (
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

// gateReasons say why a gate is open.
var gateReasons = map[orchestrator.GateReason]string{
	orchestrator.GatePlanned:   "the planner has handed it in",
	orchestrator.GatePassed:    "the review passed",
	orchestrator.GateExhausted: "the last review failed and no fix round is left",
	orchestrator.GateNothing:   "the work changed nothing; approve ends the session as it is",
	orchestrator.GateBlocked:   "the output gate found what should not leave the machine; approve lets it pass, but for known secrets",
}

// GateWhy says why the gate is open; "" of a gate that an earlier version opened.
func GateWhy(reason orchestrator.GateReason) string { return gateReasons[reason] }

// Gate is the gate at which the session waits. The zero value: it waits at none.
type Gate struct {
	Name     string
	Digest   string                  // of what it shows
	Reason   orchestrator.GateReason // why it is open
	Findings []string                // of the output gate
	Held     []string                // paths that the output gate holds
}

func (g *Gate) fold(e orchestrator.Event) {
	switch d := e.Data.(type) {
	case orchestrator.GateOpenedRecord:
		*g = Gate{Name: d.Gate, Digest: d.Digest, Reason: d.Reason, Findings: d.Findings, Held: d.Held}
	case orchestrator.GateClosedRecord, orchestrator.DoneRecord:
		*g = Gate{}
	}
}

// Decision is how a gate was closed, and by what.
type Decision struct {
	Gate   string            `json:"gate"`
	Action string            `json:"action"`
	Actor  string            `json:"actor"`
	Source string            `json:"source"`           // cli, monitor, issue, file
	Origin string            `json:"origin,omitempty"` // the process or the file it came from
	PID    int               `json:"pid,omitempty"`    // of that process
	Digest string            `json:"digest,omitempty"` // of what was shown
	At     orchestrator.Time `json:"at"`
}

// Decided reads the record of a gate that was closed at a time.
func Decided(d orchestrator.GateClosedRecord, at orchestrator.Time) Decision {
	return Decision{
		Gate: d.Gate, Action: d.Action, Actor: d.Actor, Source: d.Source, Origin: d.Origin, PID: d.PID, Digest: d.Digest, At: at,
	}
}

var actionWords = map[string]string{"approve": "approved", "changes": "changes asked for"}

// String says who decided what, and how.
func (d Decision) String() string {
	word, ok := actionWords[d.Action]
	if !ok {
		word = d.Action
	}
	return fmt.Sprintf("%s: %s by %s, %s", GateNoun(d.Gate), word, d.Actor, d.Way())
}

// Way says how the decision was given, with the number of the process that gave it.
func (d Decision) Way() string {
	way := By(d.Source)
	if d.PID > 0 {
		way += fmt.Sprintf(", pid %d", d.PID)
	}
	return way
}

// By says how a decision of a person was given.
func By(source string) string {
	switch source {
	case "cli":
		return "by command"
	case "monitor":
		return "in the monitor"
	case "issue":
		return "by comment"
	case orchestrator.SourceFile:
		return "by file"
	case "":
		return "by the program"
	}
	return "by the " + strings.ReplaceAll(source, "_", " ")
}
