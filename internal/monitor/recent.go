package monitor

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// maxRecent bounds how many records a View carries.
const maxRecent = 100

// say turns a record into a line; types without an entry are not shown.
var say = map[string]func(orchestrator.Event) string{
	orchestrator.EvSessionCreated:     func(orchestrator.Event) string { return "session created" },
	orchestrator.EvResumed:            func(e orchestrator.Event) string { return "resumed in " + text(e, "to") },
	orchestrator.EvEvent:              func(e orchestrator.Event) string { return text(e, "label") },
	orchestrator.EvPhaseEntered:       func(e orchestrator.Event) string { return "→ " + text(e, "phase") },
	orchestrator.EvAgentStarted:       func(e orchestrator.Event) string { return who(e) + " started" },
	orchestrator.EvAgentExited:        sayExited,
	orchestrator.EvAgentFailed:        func(e orchestrator.Event) string { return who(e) + " failed" },
	orchestrator.EvAgentStalled:       func(e orchestrator.Event) string { return who(e) + " is silent" },
	orchestrator.EvAgentBlocked:       func(e orchestrator.Event) string { return text(e, "agent") + " waits for " + text(e, "dependency") },
	orchestrator.EvAgentStatus:        func(e orchestrator.Event) string { return who(e) + ": " + text(e, "message") },
	orchestrator.EvAgentWaiting:       func(e orchestrator.Event) string { return who(e) + " waits for its " + text(e, "for") },
	orchestrator.EvArtifactAccepted:   func(e orchestrator.Event) string { return "accepted " + text(e, "artifact") },
	orchestrator.EvResearchDispatched: func(e orchestrator.Event) string { return "research " + text(e, "topic") + " begun" },
	orchestrator.EvResearchDone:       func(e orchestrator.Event) string { return "research " + text(e, "topic") + " done" },
	orchestrator.EvResearchFailed:     func(e orchestrator.Event) string { return "research " + text(e, "topic") + " failed" },
	orchestrator.EvGroupStarted:       func(e orchestrator.Event) string { return "group " + text(e, "group_id") + " begun" },
	orchestrator.EvSubplanDone:        func(e orchestrator.Event) string { return "subplan " + text(e, "id") + " integrated" },
	orchestrator.EvMergeConflict:      func(e orchestrator.Event) string { return "subplan " + text(e, "id") + " conflicts" },
	orchestrator.EvScopeViolation:     func(e orchestrator.Event) string { return "subplan " + text(e, "id") + " left its files" },
	orchestrator.EvReviewStarted:      func(e orchestrator.Event) string { return "review by " + strings.Join(texts(e, "roles"), ", ") },
	orchestrator.EvVerdict:            func(e orchestrator.Event) string { return text(e, "role") + ": " + text(e, "verdict") },
	orchestrator.EvFixRound:           func(e orchestrator.Event) string { return fmt.Sprintf("fix round %d", number(e, "iteration")) },
	orchestrator.EvReviewExhausted:    func(orchestrator.Event) string { return "no fix round is left" },
	orchestrator.EvGateOpened:         func(e orchestrator.Event) string { return "the " + gateNoun(text(e, "gate")) + " waits for approval" },
	orchestrator.EvGateClosed:         func(e orchestrator.Event) string { return text(e, "action") + " by " + text(e, "actor") },
	orchestrator.EvQuestionAsked:      func(e orchestrator.Event) string { return "question " + text(e, "id") + " from " + text(e, "role") },
	orchestrator.EvQuestionAnswered:   func(e orchestrator.Event) string { return "question " + text(e, "id") + " answered" },
	orchestrator.EvCommandApplied:     func(e orchestrator.Event) string { return text(e, "name") + " by " + text(e, "actor") },
	orchestrator.EvCommandRefused:     func(e orchestrator.Event) string { return text(e, "name") + " refused: " + text(e, "reason") },
	orchestrator.EvMsgFailed:          func(e orchestrator.Event) string { return "message to " + text(e, "to") + " failed" },
	orchestrator.EvCommitCreated:      func(e orchestrator.Event) string { return "commit " + text(e, "subject") },
	orchestrator.EvBranchPushed:       sayPushed,
	orchestrator.EvPROpened:           func(e orchestrator.Event) string { return fmt.Sprintf("pull request #%d", number(e, "number")) },
	orchestrator.EvNothingToCommit:    func(orchestrator.Event) string { return "nothing to commit" },
	orchestrator.EvLimitReached:       func(e orchestrator.Event) string { return "limit reached: " + text(e, "limit") },
	orchestrator.EvEffectFailed:       func(e orchestrator.Event) string { return text(e, "effect") + " failed: " + text(e, "error") },
	orchestrator.EvInputRejected:      sayRejected,
	orchestrator.EvNeedsHuman:         func(e orchestrator.Event) string { return "needs a human: " + text(e, "text") },
	orchestrator.EvDone:               func(orchestrator.Event) string { return "done" },
	orchestrator.EvFailed:             func(e orchestrator.Event) string { return "failed: " + text(e, "cause") },
	orchestrator.EvCanceled:           func(e orchestrator.Event) string { return "stopped by " + text(e, "actor") },
}

func who(e orchestrator.Event) string {
	return orchestrator.AgentKey(text(e, "role"), text(e, "task"))
}

func sayExited(e orchestrator.Event) string {
	if expected, _ := e.Data["expected"].(bool); expected {
		return ""
	}
	return who(e) + " ended"
}

func sayPushed(e orchestrator.Event) string {
	if why := text(e, "skipped"); why != "" {
		return "not pushed: " + why
	}
	return "pushed " + text(e, "branch")
}

func sayRejected(e orchestrator.Event) string {
	line := text(e, "tool") + " rejected"
	if errs := texts(e, "errors"); len(errs) > 0 {
		line += ": " + errs[0]
	}
	return line
}

func recent(records []orchestrator.Event, loc *time.Location) []Recent {
	var out []Recent
	for _, e := range records {
		tell, ok := say[e.Type]
		if !ok {
			continue
		}
		if line := plain(tell(e)); line != "" {
			out = append(out, Recent{At: e.TS.In(loc), Text: line})
		}
	}
	return out[max(0, len(out)-maxRecent):]
}
