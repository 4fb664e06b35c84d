package story

import (
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

// Line is what a record says to a person in one line; "" if it is of no interest. Texts of
// agents and issues are in it as they are.
func Line(e orchestrator.Event) string {
	if say, ok := lines[e.Type]; ok {
		return say(e)
	}
	return ""
}

// lines are the records worth a line.
var lines = map[string]func(orchestrator.Event) string{
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
	orchestrator.EvWorkspaceLost: func(e orchestrator.Event) string {
		return "the workspace " + text(e, "workspace") + " is gone with what was not handed in; it is made again"
	},
	orchestrator.EvScopeViolation:   sayStrayed,
	orchestrator.EvReviewStarted:    func(e orchestrator.Event) string { return "review by " + strings.Join(texts(e, "roles"), ", ") },
	orchestrator.EvVerdict:          func(e orchestrator.Event) string { return text(e, "role") + ": " + text(e, "verdict") },
	orchestrator.EvFixRound:         func(e orchestrator.Event) string { return fmt.Sprintf("fix round %d", number(e, "iteration")) },
	orchestrator.EvReviewExhausted:  func(orchestrator.Event) string { return "no fix round is left" },
	orchestrator.EvGateOpened:       func(e orchestrator.Event) string { return "the " + GateNoun(text(e, "gate")) + " waits for approval" },
	orchestrator.EvGateClosed:       func(e orchestrator.Event) string { return text(e, "action") + " by " + text(e, "actor") },
	orchestrator.EvQuestionAsked:    func(e orchestrator.Event) string { return "question " + text(e, "id") + " from " + text(e, "role") },
	orchestrator.EvQuestionAnswered: func(e orchestrator.Event) string { return "question " + text(e, "id") + " answered" },
	orchestrator.EvCommandApplied:   func(e orchestrator.Event) string { return text(e, "name") + " by " + text(e, "actor") },
	orchestrator.EvCommandRefused:   func(e orchestrator.Event) string { return text(e, "name") + " refused: " + text(e, "reason") },
	orchestrator.EvMsgFailed:        func(e orchestrator.Event) string { return "message to " + text(e, "to") + " failed" },
	orchestrator.EvCommitCreated:    func(e orchestrator.Event) string { return "commit " + text(e, "subject") },
	orchestrator.EvBranchPushed:     sayPushed,
	orchestrator.EvPROpened:         func(e orchestrator.Event) string { return fmt.Sprintf("pull request #%d", number(e, "number")) },
	orchestrator.EvNothingToCommit:  func(orchestrator.Event) string { return "nothing to commit" },
	orchestrator.EvLimitReached:     func(e orchestrator.Event) string { return "limit reached: " + text(e, "limit") },
	orchestrator.EvEffectFailed:     sayFailed,
	orchestrator.EvInputRejected:    sayRejected,
	orchestrator.EvNeedsHuman:       func(e orchestrator.Event) string { return "needs a human: " + text(e, "text") },
	orchestrator.EvDone:             func(orchestrator.Event) string { return "done" },
	orchestrator.EvFailed:           func(e orchestrator.Event) string { return "failed: " + text(e, "cause") },
	orchestrator.EvCanceled:         canceled,
}

func who(e orchestrator.Event) string {
	return orchestrator.AgentKey(text(e, "role"), text(e, "task"))
}

func sayStrayed(e orchestrator.Event) string {
	const most = 5
	var names []string
	paths := scopePaths(e)
	for _, p := range paths[:min(most, len(paths))] {
		names = append(names, p.Path)
	}
	if len(paths) > most {
		names = append(names, fmt.Sprintf("%d more", len(paths)-most))
	}
	return "subplan " + text(e, "id") + " changed what it does not own: " + strings.Join(names, ", ")
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

func sayFailed(e orchestrator.Event) string {
	what := stepName(text(e, "effect"))
	if final, _ := e.Data["final"].(bool); final {
		return what + " failed for good: " + text(e, "error")
	}
	return fmt.Sprintf("%s failed, try %d: %s", what, number(e, "attempt"), text(e, "error"))
}

// GateNoun is what an open gate is about.
func GateNoun(gate string) string {
	if gate == orchestrator.GatePlan {
		return "plan"
	}
	return "result"
}

func texts(e orchestrator.Event, name string) []string {
	var out []string
	switch list := e.Data[name].(type) {
	case []string:
		return list
	case []any:
		for _, item := range list {
			if s, ok := item.(string); ok {
				out = append(out, s)
			}
		}
	}
	return out
}
