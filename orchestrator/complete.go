package orchestrator

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/agentmux/agentmux/workflows"
)

func (r *reducer) enterComplete(phase workflows.Phase) {
	r.moveAside(path.Join(phase.Dir, "approval.json"), path.Join(phase.Dir, "changes.md"))
	if r.s.Completion.Summary == "" {
		file := path.Join(phase.Dir, "summary.md")
		r.effect(EffMaterialise, file, Args{
			Material: MaterialSummary, Path: file, Sources: r.results(func(ReviewResult) bool { return true }),
		})
	}
	r.s.Completion.Exhausted = r.s.ReviewExhausted
	r.decideCompletion()
}

// decideCompletion opens the gate, or approves by policy.
func (r *reducer) decideCompletion() {
	set := r.s.Settings
	exhausted := r.s.ReviewExhausted
	switch {
	case r.s.Interactive && (exhausted || !set.SkipFinalApproval):
		r.openGate(GateCompletion)
	case !r.s.Interactive && exhausted && set.OnExhausted == "stop":
		r.park(ReasonReviewExhausted, "the last review failed and no fix round is left", "resume to decide, or say what to change")
	case !r.s.Interactive && !exhausted && set.ApproveCompletion:
		r.openGate(GateCompletion)
	case !r.s.Interactive && exhausted:
		r.beginCommit(Approval{By: "policy"}, false)
	default:
		r.beginCommit(Approval{By: "policy"}, true)
	}
}

func (r *reducer) openGate(name string) {
	r.s.Gate = &Gate{Name: name, OpenedAt: r.now}
	r.event(EvGateOpened, map[string]any{"gate": name})
	if !r.s.Interactive {
		r.deadline("gate", r.s.Settings.LimitHumanWait)
	}
}

// closeGate closes an open gate; the time it was open does not count.
func (r *reducer) closeGate(action, actor, source string) {
	g := r.s.Gate
	if g == nil {
		return
	}
	r.s.Gate = nil
	r.disarm("gate")
	r.event(EvGateClosed, map[string]any{"gate": g.Name, "action": action, "actor": actor, "source": source})
	r.shiftDeadlines(r.now.Sub(g.OpenedAt.Time))
}

// approve answers an open gate.
func (r *reducer) approve(a Approval, actor, source string) {
	gate := r.s.Gate.Name
	r.closeGate("approve", actor, source)
	if gate == GatePlan {
		r.leavePlan()
		return
	}
	if a.By == "" {
		a.By = "user"
	}
	r.beginCommit(a, true)
}

// beginCommit writes the approval down and starts the last steps.
func (r *reducer) beginCommit(a Approval, record bool) {
	if record {
		r.writeApproval(a)
	}
	c := &r.s.Completion
	c.Exclude, c.Message, c.Approved = a.ExcludeFiles, a.CommitMessage, a.By != "policy"
	if c.AuthorDate.IsZero() {
		c.AuthorDate = r.now
	}
	r.askCommit()
}

func (r *reducer) writeApproval(a Approval) {
	body, err := json.Marshal(struct {
		Action        string   `json:"action"`
		ExcludeFiles  []string `json:"exclude_files"`
		CommitMessage string   `json:"commit_message,omitempty"`
		By            string   `json:"by"`
	}{"approve", append([]string{}, a.ExcludeFiles...), a.CommitMessage, a.By})
	if err != nil {
		panic("orchestrator: an approval always marshals: " + err.Error())
	}
	file := path.Join(dirOf(r.def, workflows.KindComplete), "approval.json")
	r.effect(EffWriteFile, file, Args{Path: file, SHA256: r.blob(string(body) + "\n")}, r.fsPending()...)
}

func (r *reducer) round() string { return fmt.Sprint(r.s.ChangeRound) }

func (r *reducer) askCommit() {
	c := r.s.Completion
	r.effect(EffCommit, "commit@"+r.round(), Args{
		Commit: r.s.Integrated.Commit, Tree: r.s.Integrated.Tree, Base: r.s.BaseSHA, Exclude: c.Exclude,
		Message: r.commitMessage(), Allowed: c.Approved && r.s.Interactive, Date: c.AuthorDate, Round: r.s.ChangeRound,
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

func (r *reducer) committed(_ Effect, res Result) {
	c := &r.s.Completion
	switch {
	case res.Empty:
		r.event(EvNothingToCommit, nil)
		if c.Approved && r.s.Counters["nothing approved"].N > 0 {
			r.askLastCompletion()
			return
		}
		r.park(ReasonNothingToCommit, "the work changed nothing", "resume to end without a pull request, or say what to change")
	case len(res.Findings) > 0:
		c.Findings = res.Findings
		r.park(ReasonOutputGate, "the output gate found: "+strings.Join(res.Findings, "; "), "resume to scan again, or say what to change")
	case res.Refused != "":
		r.park(ReasonCommitRefused, res.Refused, "resume to try again")
	default:
		c.Commit, c.Tree, c.Parent, c.Subject, c.Held, c.Findings = res.Commit, res.Tree, res.Parent, res.Subject, res.Held, nil
		r.event(EvCommitCreated, map[string]any{"sha": res.Commit, "branch": r.s.FeatureBranch, "subject": res.Subject, "files": res.Files})
		r.askPush()
	}
}

func (r *reducer) askPush() {
	c := r.s.Completion
	r.effect(EffPush, "push@"+r.round(), Args{Commit: c.Commit, Base: c.Parent, Branch: r.s.FeatureBranch, Round: r.s.ChangeRound})
}

func (r *reducer) pushed(_ Effect, res Result) {
	c := &r.s.Completion
	if res.Refused != "" {
		r.park(ReasonPushRejected, res.Refused, "resume to push again")
		return
	}
	if res.Branch != "" {
		r.s.FeatureBranch = res.Branch
	}
	if res.Commit != "" { // commits of people were merged in
		c.Commit, c.Tree = res.Commit, res.Tree
	}
	r.event(EvBranchPushed, map[string]any{"branch": r.s.FeatureBranch, "sha": c.Commit, "skipped": res.Skipped})
	if res.Skipped != "" {
		r.askLastCompletion()
		return
	}
	c.Pushed = true
	r.askPR()
}

func (r *reducer) askPR() {
	if r.s.GHAvailable == nil || !*r.s.GHAvailable {
		r.askLastCompletion()
		return
	}
	c := r.s.Completion
	r.effect(EffPR, "pr@"+r.round(), Args{
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

func (r *reducer) opened(_ Effect, res Result) {
	if res.Refused != "" {
		r.park(ReasonPRRefused, res.Refused, "resume to try again")
		return
	}
	if res.Skipped == "" {
		c := &r.s.Completion
		c.PRNumber, c.PRURL, c.Draft = res.Number, res.URL, res.Draft
		r.event(EvPROpened, map[string]any{"number": res.Number, "url": res.URL, "draft": res.Draft, "adopted": res.Adopted})
	}
	r.askLastCompletion()
}

func (r *reducer) askLastCompletion() {
	c := r.s.Completion
	r.effect(EffLastCompletion, "last@"+r.round(), Args{Commit: c.Commit, Branch: r.s.FeatureBranch, Round: r.s.ChangeRound})
}

// completed ends the run.
func (r *reducer) completed(Effect, Result) {
	if r.s.Ended() {
		return
	}
	if r.s.Completion.Exhausted && !r.s.Completion.Approved {
		r.finishPhase(OutcomeNeedsHuman, ReasonReviewExhausted)
		return
	}
	r.finishPhase(OutcomeDone, "")
}

func (r *reducer) finishPhase(outcome, reason string) {
	seconds := int(r.now.Sub(r.s.PhaseEnteredAt.Time).Seconds())
	r.event(EvPhaseLeft, map[string]any{"phase": r.s.Phase, "next": PhaseDone, "seconds": seconds})
	r.finishRun(outcome, reason)
}

// owedStep issues the first completion step that is not done.
func (r *reducer) owedStep() {
	c := r.s.Completion
	switch {
	case len(r.pending(func(e Effect) bool {
		return e.Type == EffCommit || e.Type == EffPush || e.Type == EffPR || e.Type == EffLastCompletion
	})) > 0:
	case c.Commit == "":
		r.askCommit()
	case !c.Pushed:
		r.askPush()
	default:
		r.askPR()
	}
}

func (r *reducer) observeApproval(o *Observation) {
	if r.s.Gate == nil {
		return
	}
	if o.Approval == nil || len(o.Problems) > 0 {
		r.event(EvInputRejected, map[string]any{"tool": "approval.json", "role": "", "errors": o.Problems})
		r.moveAside(path.Join(dirOf(r.def, workflows.KindComplete), "approval.json"))
		return
	}
	r.approve(*o.Approval, o.Approval.By, "file")
}

func (r *reducer) observeChanges(o *Observation) {
	if r.s.Gate == nil || o.Approval == nil || strings.TrimSpace(o.Approval.Text) == "" {
		return
	}
	file := path.Join(dirOf(r.def, workflows.KindComplete), "changes.md")
	r.effect(EffRemoveFiles, file, Args{Paths: []string{file}, Visit: r.s.Visit})
	r.requestChanges(o.Approval.Text, "user", "file")
}

// requestChanges goes back to planning with what a person wants changed.
func (r *reducer) requestChanges(text, actor, source string) {
	r.closeGate("changes", actor, source)
	if r.s.ChangeRequest != "" {
		text = string(r.s.ChangeRequest) + "\n\n" + text
	}
	r.s.ChangeRequest = Optional(text)
	r.s.ChangeRound++
	r.s.Outcome, r.s.OutcomeReason = "", ""
	r.last(LastChanges)
	plan, _ := r.def.Kind(workflows.KindPlan)
	r.enter(plan.ID, LastChanges)
}
