package decide

import (
	"path"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/workflows"
)

// completion takes the last steps, one after the other: commit, push, pull request, end.
type completion struct {
	*queue
	gate     *gate
	outcome  *outcome
	research *research
	reviews  *reviews
}

func (p *completion) enter(phase workflows.Phase) {
	p.research.end("the work is complete")
	p.gate.clearAnswers(p.now)
	if p.s.Completion.Summary == "" {
		file := path.Join(phase.Dir, "summary.md")
		p.effect(orchestrator.EffMaterialise, file, orchestrator.Args{
			Material: orchestrator.MaterialSummary, Path: file, Sources: p.reviews.results(func(orchestrator.ReviewResult) bool { return true }),
		})
	}
	p.s.Completion.Exhausted = p.s.ReviewExhausted
	p.decide()
}

// decide has the gate opened, or approves by policy.
func (p *completion) decide() {
	set := p.s.Settings
	exhausted := p.s.ReviewExhausted
	phase, _ := p.def.Kind(workflows.KindComplete)
	switch {
	case p.s.Interactive && (exhausted || phase.Gate || !set.SkipFinalApproval):
		p.advance(orchestrator.StepGate)
	case !p.s.Interactive && exhausted && set.OnExhausted == "stop":
		p.outcome.park(orchestrator.ReasonReviewExhausted, "the last review failed and no fix round is left", "resume to decide, or say what to change")
	case !p.s.Interactive && !exhausted && (phase.Gate || set.ApproveCompletion):
		p.advance(orchestrator.StepGate)
	case !p.s.Interactive && exhausted:
		p.begin(orchestrator.Approval{})
	default:
		p.gate.writeApproval(orchestrator.Approval{By: "policy"})
		p.begin(orchestrator.Approval{})
	}
}

// reason is why the result waits for a person.
func (p *completion) reason() orchestrator.GateReason {
	switch {
	case p.s.Completion.Nothing:
		return orchestrator.GateNothing
	case p.s.ReviewExhausted:
		return orchestrator.GateExhausted
	}
	return orchestrator.GatePassed
}

// inspected opens the gate with what the output gate names of the work: that is what a person
// approves. What was decided meanwhile comes first.
func (p *completion) inspected(tree string, res orchestrator.Result) {
	c := &p.s.Completion
	if phase, _ := p.phase(); phase.Kind != workflows.KindComplete || c.Next != orchestrator.StepGate || p.s.Paused || p.s.Ended() {
		return
	}
	if tree != p.s.Integrated.Tree {
		p.nextStep()
		return
	}
	of, counts := c.Compare, duty.Counts(*c, res)
	c.Compare, c.Next, c.Asked, c.Findings, c.Shown = "", "", res.Held, res.Findings, len(res.Findings) > 0
	if counts {
		p.approved(orchestrator.Approval{By: "user", ExcludeFiles: c.Exclude, CommitMessage: c.Message, Of: of})
		return
	}
	p.gate.open(orchestrator.GateCompletion, p.reason())
}

// approved starts the last steps with what a person approved.
func (p *completion) approved(a orchestrator.Approval) {
	p.gate.writeApproval(a)
	p.s.Completion = duty.Approved(p.s.Completion)
	p.begin(a)
}

// begin starts the last steps.
func (p *completion) begin(a orchestrator.Approval) {
	c := &p.s.Completion
	c.Exclude, c.Message, c.Next = a.ExcludeFiles, a.CommitMessage, orchestrator.StepCommit
	if c.AuthorDate.IsZero() {
		c.AuthorDate = p.now
	}
	p.nextStep()
}

// nextStep issues the step of the completion that is to be taken, unless it is on
// its way.
func (p *completion) nextStep() {
	if p.s.Paused || p.s.Ended() || len(p.pending(func(e orchestrator.Effect) bool { return completionStep[e.Type] })) > 0 {
		return
	}
	switch p.s.Completion.Next {
	case orchestrator.StepGate:
		p.effect(orchestrator.EffInspect, "inspect@"+p.round(), orchestrator.Args{Tree: p.s.Integrated.Tree, Round: p.s.ChangeRound})
	case orchestrator.StepCommit:
		p.askCommit()
	case orchestrator.StepPush:
		p.askPush()
	case orchestrator.StepPR:
		p.askPR()
	case orchestrator.StepEnd:
		p.askLastCompletion()
	}
}

var completionStep = map[string]bool{
	orchestrator.EffInspect: true, orchestrator.EffCommit: true, orchestrator.EffPush: true, orchestrator.EffPR: true, orchestrator.EffLastCompletion: true,
}

// advance notes the next step of the completion and takes it.
func (p *completion) advance(step string) {
	p.s.Completion.Next = step
	p.nextStep()
}

func (p *completion) askCommit() {
	c := p.s.Completion
	seen := c.Approved && c.Shown
	p.effect(orchestrator.EffCommit, "commit@"+p.round(), orchestrator.Args{
		Commit: p.s.Integrated.Commit, Tree: p.s.Integrated.Tree, Base: p.s.BaseSHA, Exclude: c.Exclude,
		Message: duty.CommitMessage(p.def, p.s), Allowed: seen && (p.s.Interactive || c.Attended), Matches: seen, Date: c.AuthorDate, Round: p.s.ChangeRound,
		Branch: p.s.FeatureBranch,
	}, p.fsPending()...)
}

func (p *completion) askPush() {
	c := p.s.Completion
	p.effect(orchestrator.EffPush, "push@"+p.round(), orchestrator.Args{Commit: c.Commit, Base: c.Parent, Branch: p.s.FeatureBranch, Round: p.s.ChangeRound})
}

func (p *completion) askPR() {
	c := p.s.Completion
	p.effect(orchestrator.EffPR, "pr@"+p.round(), orchestrator.Args{
		Commit: c.Commit, Tree: c.Tree, Branch: p.s.FeatureBranch, Round: p.s.ChangeRound,
		Draft: !duty.Ready(p.def, p.s), Exhausted: c.Exhausted, Held: c.Held,
	})
}

func (p *completion) opened(res orchestrator.Result) {
	if res.Refused != "" {
		p.outcome.park(orchestrator.ReasonPRRefused, res.Refused, "resume to try again")
		return
	}
	if res.Skipped == "" {
		c := &p.s.Completion
		c.PRNumber, c.PRURL, c.Draft = res.Number, res.URL, res.Draft
		p.event(orchestrator.PROpenedRecord{Number: res.Number, URL: res.URL, Draft: res.Draft, Adopted: res.Adopted})
	}
	p.advance(orchestrator.StepEnd)
}

func (p *completion) askLastCompletion() {
	c := p.s.Completion
	p.effect(orchestrator.EffLastCompletion, "last@"+p.round(), orchestrator.Args{Commit: c.Commit, Branch: p.s.FeatureBranch, Round: p.s.ChangeRound})
}

// completed ends the run; while it is paused, its end waits.
func (p *completion) completed() {
	switch {
	case p.s.Ended():
		return
	case p.s.Paused:
		p.s.Completion.Next = orchestrator.StepEnd
		return
	}
	if p.s.Completion.Exhausted && !p.s.Completion.Approved {
		p.outcome.finishPhase(orchestrator.OutcomeNeedsHuman, orchestrator.ReasonReviewExhausted)
		return
	}
	p.outcome.finishPhase(orchestrator.OutcomeDone, "")
}

func (p *completion) reissue(reason string) {
	c := &p.s.Completion
	attended := p.s.Interactive || p.in.Start != nil && p.in.Start.Attended
	if p.s.Gate == nil {
		c.Attended = attended
	}
	switch {
	case p.s.Gate != nil:
	case reason == orchestrator.ReasonReviewExhausted:
		p.advance(orchestrator.StepGate)
	case reason == orchestrator.ReasonNothingToCommit && attended:
		p.advance(orchestrator.StepGate)
	case c.Next == "": // nothing was decided yet
		p.decide()
	default:
		c.Rescan = c.Rescan || reason == orchestrator.ReasonOutputGate
		p.nextStep()
	}
}

func (r *reducer) committed(_ orchestrator.Effect, res orchestrator.Result) {
	c := &r.s.Completion
	switch {
	case res.Empty:
		r.event(orchestrator.NothingToCommitRecord{})
		if c.Nothing && c.Approved {
			r.completion.advance(orchestrator.StepEnd)
			return
		}
		c.Nothing, c.Approved = true, false
		ends := "without a pull request"
		if c.PRNumber != 0 {
			ends = "with the pull request as it is"
		}
		r.outcome.park(orchestrator.ReasonNothingToCommit, "the work changed nothing", "say what to change; at a terminal, resume opens the gate, and approve ends it "+ends)
	case len(res.Findings) > 0:
		r.blocked(res.Findings)
	case res.Refused != "":
		r.outcome.park(orchestrator.ReasonCommitRefused, res.Refused, "resume to try again")
	default:
		c.Commit, c.Tree, c.Parent, c.Subject, c.Held, c.Findings = res.Commit, res.Tree, res.Parent, res.Subject, res.Held, nil
		c.Open = duty.Unapproved(*c, res.Held)
		r.event(orchestrator.CommitCreatedRecord{SHA: res.Commit, Branch: r.s.FeatureBranch, Subject: res.Subject, Files: res.Files})
		c.Rescan = false
		r.completion.advance(orchestrator.StepPush)
	}
}

// blocked decides about findings of the output gate. The first time a person is
// asked; when they let it look again, the findings are what is to be changed, or,
// with the person at hand, what is shown at the gate. What was approved before it
// was shown is not approved.
func (r *reducer) blocked(findings []string) {
	c := &r.s.Completion
	rescanned := c.Rescan
	c.Findings, c.Rescan, c.Shown, c.Approved = findings, false, false, false
	text := "the output gate found: " + strings.Join(findings, "; ")
	switch {
	case !rescanned:
		r.outcome.park(orchestrator.ReasonOutputGate, text, "resume to scan again, or say what to change")
	case r.s.Paused:
		c.Rescan = true // the step is taken again when the pause is over
	case r.s.Interactive, c.Attended:
		c.Shown, c.Next = true, ""
		r.gate.open(orchestrator.GateCompletion, orchestrator.GateBlocked)
	default:
		r.requestChanges("The work cannot be published as it is. Remove what the output gate found:\n\n- "+
			strings.Join(findings, "\n- "), origin{actor: post.System, source: orchestrator.SourceOutputGate})
	}
}

func (r *reducer) pushed(_ orchestrator.Effect, res orchestrator.Result) {
	c := &r.s.Completion
	if len(res.Findings) > 0 { // the server looks for secrets, too
		r.blocked(res.Findings)
		return
	}
	if res.Refused != "" {
		r.outcome.park(orchestrator.ReasonPushRejected, res.Refused, "resume to push again")
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
		r.completion.advance(orchestrator.StepEnd)
		return
	}
	r.completion.advance(orchestrator.StepPR)
}
