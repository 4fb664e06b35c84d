package story

import (
	"fmt"
	"path"
	"strings"
	"time"

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
	orchestrator.EvSessionCreated: func(orchestrator.Event) string { return "session created" },
	orchestrator.EvResumed:        say(func(d orchestrator.ResumedRecord) string { return "resumed in " + d.To }),
	orchestrator.EvMoved:          say(sayMoved),
	orchestrator.EvEvent:          say(func(d orchestrator.EventRecord) string { return d.Label }),
	orchestrator.EvPhaseEntered:   say(func(d orchestrator.PhaseEnteredRecord) string { return "→ " + d.Phase }),
	orchestrator.EvAgentStarted: say(func(d orchestrator.AgentStartedRecord) string {
		text := string(orchestrator.KeyOf(d.Role, d.Task)) + " started"
		if d.FallbackFor != "" {
			text += " with " + d.Provider + ", which takes over from " + d.FallbackFor
		}
		return text
	}),
	orchestrator.EvAgentExited: say(sayExited),
	orchestrator.EvAgentFailed: say(sayAgentFailed),
	orchestrator.EvAgentStalled: say(func(d orchestrator.AgentStalledRecord) string {
		return string(orchestrator.KeyOf(d.Role, d.Task)) + " is silent"
	}),
	orchestrator.EvAgentBlocked: say(func(d orchestrator.AgentBlockedRecord) string {
		return d.Agent + " is blocked by " + d.Dependency
	}),
	orchestrator.EvAgentMarked: say(sayMarked),
	orchestrator.EvAgentStatus: say(func(d orchestrator.AgentStatusRecord) string {
		return string(orchestrator.KeyOf(d.Role, d.Task)) + ": " + d.Message
	}),
	orchestrator.EvAgentWaiting: say(sayWaits),
	orchestrator.EvPersonTyped: say(func(d orchestrator.PersonTypedRecord) string {
		return "a person typed to " + string(orchestrator.KeyOf(d.Role, d.Task))
	}),
	orchestrator.EvLateChanges: say(func(d orchestrator.LateChangesRecord) string {
		return string(orchestrator.KeyOf(d.Role, d.Task)) + " wrote after its submission, kept as " + d.Ref
	}),
	orchestrator.EvArtifactAccepted:   say(func(d orchestrator.ArtifactAcceptedRecord) string { return "accepted " + d.Artifact }),
	orchestrator.EvResearchDispatched: say(func(d orchestrator.ResearchDispatchedRecord) string { return "research " + d.Topic + " begun" }),
	orchestrator.EvResearchDone:       say(func(d orchestrator.ResearchDoneRecord) string { return "research " + d.Topic + " done" }),
	orchestrator.EvResearchFailed:     say(func(d orchestrator.ResearchFailedRecord) string { return "research " + d.Topic + " failed" }),
	orchestrator.EvGroupStarted:       say(func(d orchestrator.GroupStartedRecord) string { return "group " + d.GroupID + " begun" }),
	orchestrator.EvSubplanDone:        say(func(d orchestrator.SubplanDoneRecord) string { return "subplan " + d.ID + " integrated" }),
	orchestrator.EvMergeConflict:      say(func(d orchestrator.MergeConflictRecord) string { return "subplan " + d.ID + " conflicts" }),
	orchestrator.EvWorkspaceLost: say(func(d orchestrator.WorkspaceLostRecord) string {
		return "the workspace " + d.Workspace + " is gone with what was not handed in; it is made again"
	}),
	orchestrator.EvScopeViolation:  say(sayStrayed),
	orchestrator.EvReviewStarted:   say(func(d orchestrator.ReviewStartedRecord) string { return "review by " + strings.Join(d.Roles, ", ") }),
	orchestrator.EvVerdict:         say(func(d orchestrator.VerdictRecord) string { return d.Role + ": " + d.Verdict }),
	orchestrator.EvFixRound:        say(func(d orchestrator.FixRoundRecord) string { return fmt.Sprintf("fix round %d", d.Iteration) }),
	orchestrator.EvReviewExhausted: func(orchestrator.Event) string { return "no fix round is left" },
	orchestrator.EvGateOpened:      say(func(d orchestrator.GateOpenedRecord) string { return "the " + GateNoun(d.Gate) + " waits for approval" }),
	orchestrator.EvGateClosed:      say(func(d orchestrator.GateClosedRecord) string { return d.Action + " by " + d.Actor }),
	orchestrator.EvQuestionAsked: say(func(d orchestrator.QuestionAskedRecord) string {
		return "question " + d.ID + " from " + string(orchestrator.KeyOf(d.Role, d.Task))
	}),
	orchestrator.EvQuestionAnswered: say(func(d orchestrator.QuestionAnsweredRecord) string { return "question " + d.ID + " answered" }),
	orchestrator.EvCommandApplied:   say(func(d orchestrator.CommandAppliedRecord) string { return d.Name + " by " + d.Actor }),
	orchestrator.EvCommandRefused:   say(func(d orchestrator.CommandRefusedRecord) string { return d.Name + " refused: " + d.Reason }),
	orchestrator.EvMsgFailed:        say(sayMsgFailed),
	orchestrator.EvCommitCreated:    say(func(d orchestrator.CommitCreatedRecord) string { return "commit " + d.Subject }),
	orchestrator.EvBranchPushed:     say(sayPushed),
	orchestrator.EvPROpened:         say(sayPulled),
	orchestrator.EvNothingToCommit:  func(orchestrator.Event) string { return "nothing to commit" },
	orchestrator.EvLimitReached:     say(func(d orchestrator.LimitReachedRecord) string { return "limit reached: " + d.Limit }),
	orchestrator.EvEffectFailed:     say(sayFailed),
	orchestrator.EvInputRejected:    say(sayRejected),
	orchestrator.EvInputIgnored:     say(sayIgnored),
	orchestrator.EvNeedsHuman:       say(func(d orchestrator.NeedsHumanRecord) string { return "needs a human: " + d.Text }),
	orchestrator.EvDone:             func(orchestrator.Event) string { return "done" },
	orchestrator.EvFailed:           say(func(d orchestrator.FailedRecord) string { return "failed: " + d.Cause }),
	orchestrator.EvCanceled:         say(canceled),
}

// say makes a line of what a record of one type says.
func say[T orchestrator.Record](line func(T) string) func(orchestrator.Event) string {
	return func(e orchestrator.Event) string {
		d, _ := e.Data.(T)
		return line(d)
	}
}

func sayMoved(d orchestrator.MovedRecord) string {
	text := fmt.Sprintf("continued from a checkpoint of host %s, %s old", d.FromHost, time.Duration(d.Age)*time.Second)
	if len(d.LeftOut) > 0 {
		text += "; left out: " + strings.Join(d.LeftOut, "; ")
	}
	return text
}

func sayStrayed(d orchestrator.ScopeViolationRecord) string {
	const most = 5
	var names []string
	paths := scopePaths(d)
	for _, p := range paths[:min(most, len(paths))] {
		names = append(names, p.Path)
	}
	if len(paths) > most {
		names = append(names, fmt.Sprintf("%d more", len(paths)-most))
	}
	return strayOf(d).Owner() + " changed what it does not own: " + strings.Join(names, ", ")
}

func sayWaits(d orchestrator.AgentWaitingRecord) string {
	text := string(orchestrator.KeyOf(d.Role, d.Task)) + " waits for its "
	switch {
	case !d.OnProvider():
		return text + d.For
	case d.Until.IsZero():
		return text + "provider"
	}
	return text + "provider until " + d.Until.Format("15:04 MST")
}

func sayExited(d orchestrator.AgentExitedRecord) string {
	if d.Expected {
		return ""
	}
	return string(orchestrator.KeyOf(d.Role, d.Task)) + " ended"
}

func sayAgentFailed(d orchestrator.AgentFailedRecord) string {
	line := string(orchestrator.KeyOf(d.Role, d.Task)) + " failed"
	cause, printed := WhyFailed(d)
	if cause, _, _ = strings.Cut(cause, "\n"); cause != "" {
		line += ": " + cause
	}
	if last := strings.TrimSpace(printed[strings.LastIndex(printed, "\n")+1:]); last != "" {
		line += "; it printed last: " + last
	}
	return line
}

// WhyFailed returns why an agent was given up, and the end of what its program printed.
func WhyFailed(d orchestrator.AgentFailedRecord) (cause, printed string) {
	printed = strings.TrimRight(d.Tail, " \n")
	if d.Cause == "" {
		return strings.TrimSpace(printed), "" // of an earlier version
	}
	return d.Cause, printed
}

// sayMsgFailed names the file of a message whose reader could not be read.
func sayMsgFailed(d orchestrator.MsgFailedRecord) string {
	line := "message to " + d.To + " failed"
	if d.To == "" {
		line = "message " + path.Base(d.File) + " failed"
	}
	if d.Reason != "" {
		line += ": " + d.Reason
	}
	return line
}

// sayMarked tells of a marker only that the work is not where the agents file has it.
func sayMarked(d orchestrator.AgentMarkedRecord) string {
	if d.Branch == "" {
		return ""
	}
	return d.Agent + ": " + OnAnother(d.Branch, d.Instead)
}

// OnAnother says why the work of an agent is on another branch than its agents file names.
func OnAnother(branch, named string) string {
	return fmt.Sprintf("the branch %s has moved or is checked out; the work is on %s", named, branch)
}

func sayPulled(d orchestrator.PROpenedRecord) string {
	if d.Agent != "" {
		return fmt.Sprintf("%s: pull request #%d, %s", d.Agent, d.Number, d.URL)
	}
	return fmt.Sprintf("pull request #%d", d.Number)
}

func sayPushed(d orchestrator.BranchPushedRecord) string {
	if d.Skipped != "" {
		return "not pushed: " + d.Skipped
	}
	return "pushed " + d.Branch
}

func sayRejected(d orchestrator.InputRejectedRecord) string {
	line := d.Tool + " rejected"
	if len(d.Errors) > 0 {
		line += ": " + d.Errors[0]
	}
	return line
}

// sayIgnored tells of an answer of a person that was not carried out; what agents call in vain is of no interest.
func sayIgnored(d orchestrator.InputIgnoredRecord) string {
	if d.Tool == orchestrator.EffAnswerDialog {
		return d.Reason
	}
	return ""
}

func sayFailed(d orchestrator.EffectFailedRecord) string {
	what := stepName(d.Effect)
	if d.Final {
		return what + " failed for good: " + d.Error
	}
	return fmt.Sprintf("%s failed, try %d: %s", what, d.Attempt, d.Error)
}

// GateNoun is what an open gate is about.
func GateNoun(gate string) string {
	if gate == orchestrator.GatePlan {
		return "plan"
	}
	return "result"
}
