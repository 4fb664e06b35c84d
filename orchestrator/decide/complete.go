package decide

import (
	"fmt"
	"path"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

func (r *reducer) enterComplete(phase workflows.Phase) {
	r.endResearch("the work is complete")
	r.clearAnswers(r.now)
	if r.s.Completion.Summary == "" {
		file := path.Join(phase.Dir, "summary.md")
		r.effect(orchestrator.EffMaterialise, file, orchestrator.Args{
			Material: orchestrator.MaterialSummary, Path: file, Sources: r.results(func(orchestrator.ReviewResult) bool { return true }),
		})
	}
	r.s.Completion.Exhausted = r.s.ReviewExhausted
	r.decideCompletion()
}

// decideCompletion opens the gate, or approves by policy.
func (r *reducer) decideCompletion() {
	set := r.s.Settings
	exhausted := r.s.ReviewExhausted
	phase, _ := r.def.Kind(workflows.KindComplete)
	switch {
	case r.s.Interactive && (exhausted || phase.Gate || !set.SkipFinalApproval):
		r.openGate(orchestrator.GateCompletion, r.completionReason())
	case !r.s.Interactive && exhausted && set.OnExhausted == "stop":
		r.park(orchestrator.ReasonReviewExhausted, "the last review failed and no fix round is left", "resume to decide, or say what to change")
	case !r.s.Interactive && !exhausted && (phase.Gate || set.ApproveCompletion):
		r.openGate(orchestrator.GateCompletion, r.completionReason())
	case !r.s.Interactive && exhausted:
		r.beginCommit(orchestrator.Approval{})
	default:
		r.writeApproval(orchestrator.Approval{By: "policy"})
		r.beginCommit(orchestrator.Approval{})
	}
}

// completionReason is why the result waits for a person.
func (r *reducer) completionReason() orchestrator.GateReason {
	if r.s.ReviewExhausted {
		return orchestrator.GateExhausted
	}
	return orchestrator.GatePassed
}

// beginCommit starts the last steps.
func (r *reducer) beginCommit(a orchestrator.Approval) {
	c := &r.s.Completion
	c.Exclude, c.Message, c.Next = a.ExcludeFiles, a.CommitMessage, orchestrator.StepCommit
	if c.AuthorDate.IsZero() {
		c.AuthorDate = r.now
	}
	r.nextStep()
}

// nextStep issues the step of the completion that is to be taken, unless it is on
// its way.
func (r *reducer) nextStep() {
	if r.s.Paused || r.s.Ended() || len(r.pending(func(e orchestrator.Effect) bool { return completionStep[e.Type] })) > 0 {
		return
	}
	switch r.s.Completion.Next {
	case orchestrator.StepCommit:
		r.askCommit()
	case orchestrator.StepPush:
		r.askPush()
	case orchestrator.StepPR:
		r.askPR()
	case orchestrator.StepEnd:
		r.askLastCompletion()
	}
}

var completionStep = map[string]bool{orchestrator.EffCommit: true, orchestrator.EffPush: true, orchestrator.EffPR: true, orchestrator.EffLastCompletion: true}

// goOn notes the next step of the completion and takes it.
func (r *reducer) goOn(step string) {
	r.s.Completion.Next = step
	r.nextStep()
}

func (r *reducer) round() string { return fmt.Sprint(r.s.ChangeRound) }

func (r *reducer) askCommit() {
	c := r.s.Completion
	r.effect(orchestrator.EffCommit, "commit@"+r.round(), orchestrator.Args{
		Commit: r.s.Integrated.Commit, Tree: r.s.Integrated.Tree, Base: r.s.BaseSHA, Exclude: c.Exclude,
		Message: r.commitMessage(), Allowed: c.Approved && c.Shown && (r.s.Interactive || c.Attended), Date: c.AuthorDate, Round: r.s.ChangeRound,
		Branch: r.s.FeatureBranch,
	}, r.fsPending()...)
}

// commitMessage picks the person's message, else the first reviewer's.
func (r *reducer) commitMessage() string {
	if m := r.s.Completion.Message; m != "" {
		return m
	}
	for _, role := range reviewRoles(r.def, r.s) {
		if m := r.s.ReviewResults[role].CommitMessage; m != "" {
			return m
		}
	}
	return ""
}

func (r *reducer) committed(_ orchestrator.Effect, res orchestrator.Result) {
	c := &r.s.Completion
	switch {
	case res.Empty:
		r.event(orchestrator.NothingToCommitRecord{})
		if c.Nothing && c.Approved {
			r.goOn(orchestrator.StepEnd)
			return
		}
		c.Nothing, c.Approved = true, false
		r.park(orchestrator.ReasonNothingToCommit, "the work changed nothing", "say what to change; at a terminal, resume opens the gate, and approve ends it without a pull request")
	case len(res.Findings) > 0:
		r.blocked(res.Findings)
	case res.Refused != "":
		r.park(orchestrator.ReasonCommitRefused, res.Refused, "resume to try again")
	default:
		c.Commit, c.Tree, c.Parent, c.Subject, c.Held, c.Findings = res.Commit, res.Tree, res.Parent, res.Subject, res.Held, nil
		r.event(orchestrator.CommitCreatedRecord{SHA: res.Commit, Branch: r.s.FeatureBranch, Subject: res.Subject, Files: res.Files})
		c.Rescan = false
		r.goOn(orchestrator.StepPush)
	}
}

// blocked decides about findings of the output gate. The first time a person is
// asked; when they let it look again, the findings are what is to be changed, or,
// with the person at hand, what is shown at the gate. What was approved before it
// was shown is not approved.
func (r *reducer) blocked(findings []string) {
	c := &r.s.Completion
	again := c.Rescan
	c.Findings, c.Rescan, c.Shown, c.Approved = findings, false, false, false
	text := "the output gate found: " + strings.Join(findings, "; ")
	switch {
	case !again:
		r.park(orchestrator.ReasonOutputGate, text, "resume to scan again, or say what to change")
	case r.s.Paused:
		c.Rescan = true // the step is taken again when the pause is over
	case r.s.Interactive, c.Attended:
		c.Shown, c.Next = true, ""
		r.openGate(orchestrator.GateCompletion, orchestrator.GateBlocked)
	default:
		r.requestChanges("The work cannot be published as it is. Remove what the output gate found:\n\n- "+
			strings.Join(findings, "\n- "), origin{actor: systemAddress, source: orchestrator.SourceOutputGate})
	}
}

func (r *reducer) askPush() {
	c := r.s.Completion
	r.effect(orchestrator.EffPush, "push@"+r.round(), orchestrator.Args{Commit: c.Commit, Base: c.Parent, Branch: r.s.FeatureBranch, Round: r.s.ChangeRound})
}

func (r *reducer) pushed(_ orchestrator.Effect, res orchestrator.Result) {
	c := &r.s.Completion
	if len(res.Findings) > 0 { // the server looks for secrets, too
		r.blocked(res.Findings)
		return
	}
	if res.Refused != "" {
		r.park(orchestrator.ReasonPushRejected, res.Refused, "resume to push again")
		return
	}
	if res.Branch != "" {
		r.s.FeatureBranch = res.Branch
	}
	if res.Commit != "" { // commits of people were merged in
		c.Commit, c.Tree = res.Commit, res.Tree
	}
	r.event(orchestrator.BranchPushedRecord{Branch: r.s.FeatureBranch, SHA: c.Commit, Skipped: res.Skipped, Withheld: res.Withheld})
	c.Pushed, c.Rescan = res.Skipped == "", false
	if !c.Pushed || r.s.GHAvailable == nil || !*r.s.GHAvailable {
		r.goOn(orchestrator.StepEnd)
		return
	}
	r.goOn(orchestrator.StepPR)
}

func (r *reducer) askPR() {
	c := r.s.Completion
	r.effect(orchestrator.EffPR, "pr@"+r.round(), orchestrator.Args{
		Commit: c.Commit, Tree: c.Tree, Branch: r.s.FeatureBranch, Round: r.s.ChangeRound,
		Draft: !r.ready(), Exhausted: c.Exhausted, Held: c.Held,
	})
}

// ready reports whether nothing is left for a person to decide before the pull
// request can be looked at: every last verdict is a pass for exactly this tree.
func (r *reducer) ready() bool {
	c := r.s.Completion
	if r.s.Settings.Ready == "never" || c.Exhausted || len(c.Held) > 0 {
		return false
	}
	for _, role := range reviewRoles(r.def, r.s) {
		res := r.s.ReviewResults[role]
		if res.Verdict != verdictPass || res.Tree != c.Tree {
			return false
		}
	}
	return true
}

func (r *reducer) opened(_ orchestrator.Effect, res orchestrator.Result) {
	if res.Refused != "" {
		r.park(orchestrator.ReasonPRRefused, res.Refused, "resume to try again")
		return
	}
	if res.Skipped == "" {
		c := &r.s.Completion
		c.PRNumber, c.PRURL, c.Draft = res.Number, res.URL, res.Draft
		r.event(orchestrator.PROpenedRecord{Number: res.Number, URL: res.URL, Draft: res.Draft, Adopted: res.Adopted})
	}
	r.goOn(orchestrator.StepEnd)
}

func (r *reducer) askLastCompletion() {
	c := r.s.Completion
	r.effect(orchestrator.EffLastCompletion, "last@"+r.round(), orchestrator.Args{Commit: c.Commit, Branch: r.s.FeatureBranch, Round: r.s.ChangeRound})
}

// completed ends the run; while it is paused, its end waits.
func (r *reducer) completed(orchestrator.Effect, orchestrator.Result) {
	switch {
	case r.s.Ended():
		return
	case r.s.Paused:
		r.s.Completion.Next = orchestrator.StepEnd
		return
	}
	if r.s.Completion.Exhausted && !r.s.Completion.Approved {
		r.finishPhase(orchestrator.OutcomeNeedsHuman, orchestrator.ReasonReviewExhausted)
		return
	}
	r.finishPhase(orchestrator.OutcomeDone, "")
}

func (r *reducer) finishPhase(outcome, reason string) {
	seconds := int(r.now.Sub(r.s.PhaseEnteredAt.Time).Seconds())
	r.event(orchestrator.PhaseLeftRecord{Phase: r.s.Phase, Next: orchestrator.PhaseDone, Seconds: seconds})
	r.finishRun(outcome, reason)
}
