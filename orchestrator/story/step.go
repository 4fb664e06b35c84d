package story

import (
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
)

// StepKind says what a person can do.
type StepKind string

// Kinds of steps.
const (
	StepApprove StepKind = "approve"
	StepChanges StepKind = "changes"
	StepAnswer  StepKind = "answer"
	StepResume  StepKind = "resume"  // continue the session, or what lets it continue
	StepFinish  StepKind = "finish"  // let a host finish what the end owes
	StepPropose StepKind = "propose" // take the branch that is in the clone
	StepReview  StepKind = "review"  // look at the pull request
	StepAttach  StepKind = "attach"  // watch it
)

// Step is one thing a person can do. Command is what to type, empty if it is done elsewhere;
// Text says it in a line that holds the command.
type Step struct {
	Kind    StepKind `json:"kind"`
	Command string   `json:"command,omitempty"`
	Text    string   `json:"text"`
}

func typed(kind StepKind, format string, args ...any) Step {
	command := fmt.Sprintf(format, args...)
	return Step{Kind: kind, Command: command, Text: command}
}

func resume(f Facts) Step { return typed(StepResume, "agentmux resume %s", f.Name) }

func changes(f Facts) Step { return typed(StepChanges, "agentmux changes \"...\" %s", f.Name) }

// steps are what a person can do now; what a session does not take is not among them.
func steps(s *orchestrator.State, st Story, f Facts) []Step {
	open := slices.IndexFunc(s.Questions, orchestrator.Question.Open)
	switch {
	case !f.Running && len(f.Unread) > 0 && s.Phase != orchestrator.PhaseDone:
		step := resume(f)
		step.Text += " applies the recorded " + f.Unread[len(f.Unread)-1]
		return []Step{step}
	case s.Paused && !s.Ended(): // a gate takes no answer now
		return []Step{resume(f)}
	case s.Gate != nil && s.Phase != orchestrator.PhaseFailed:
		return []Step{typed(StepApprove, "agentmux approve %s", f.Name), changes(f)}
	case open >= 0 && s.Phase != orchestrator.PhaseDone && s.Phase != orchestrator.PhaseFailed:
		return []Step{typed(StepAnswer, "agentmux answer %s \"...\" --session %s", s.Questions[open].ID, f.Name)}
	case s.Parked() && changeFirst[string(s.OutcomeReason)]:
		return []Step{resume(f), changes(f)}
	case s.Phase == orchestrator.PhaseFailed && teamEnded(s):
		retry := typed(StepResume, "agentmux retry %s", f.Name)
		retry.Text += ", then " + resume(f).Text
		return []Step{retry}
	case s.Parked(), s.Phase == orchestrator.PhaseFailed:
		return []Step{resume(f)}
	case s.Ended():
		return endSteps(s, st, f)
	case !f.Running:
		step := resume(f)
		step.Text = "no host runs it: " + step.Text
		return []Step{step}
	}
	return []Step{typed(StepAttach, "agentmux attach %s", f.Name)}
}

// teamEnded reports whether every agent of a run of an agents file has a marker: a resume alone
// would end it again at once.
func teamEnded(s *orchestrator.State) bool {
	for _, p := range s.Team {
		if p.Marker == "" {
			return false
		}
	}
	return len(s.Team) > 0
}

// changeFirst are the reasons to park after which a person may want another round.
var changeFirst = map[string]bool{
	orchestrator.ReasonReviewExhausted: true, orchestrator.ReasonOutputGate: true, orchestrator.ReasonNothingToCommit: true,
}

func endSteps(s *orchestrator.State, st Story, f Facts) []Step {
	finish := typed(StepFinish, "agentmux resume %s", f.Name)
	switch {
	case len(st.Owed) > 0 && f.Proposal == "":
		finish.Text += finishText(st.Owed)
		return []Step{finish}
	case f.Proposal != "":
		return []Step{{Kind: StepPropose, Command: f.Proposal, Text: f.Proposal}}
	case f.Running || s.Completion.PRNumber == 0:
		return nil
	}
	review := Step{Kind: StepReview, Text: "review the pull request"}
	if s.Outcome == orchestrator.OutcomeDone && s.Completion.Draft {
		review.Text += ", a draft, and make it ready for review there"
	}
	more := changes(f)
	review.Text += "; " + more.Text + " asks for another round"
	review.Command = more.Command
	return []Step{review}
}

// finishText says what a resume of an ended session does.
func finishText(owed []Debt) string {
	if len(owed) == 1 && owed[0].Kind == DebtGitHub {
		return " shows the rest on GitHub"
	}
	return " finishes what is owed"
}
