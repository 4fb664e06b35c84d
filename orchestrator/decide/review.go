package decide

import (
	"path"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

const (
	verdictPass = "pass"
	verdictFail = "fail"
)

// reviews are the verdicts on the integrated tree and the round that asks for them. Which phase
// follows a round is decided by [reducer.decideReview].
type reviews struct {
	*queue
	clock   *clock
	crew    *crew
	outcome *outcome
}

func (v *reviews) enter(phase workflows.Phase) {
	roles := duty.ReviewRoles(v.def, v.s)
	first := roles
	if v.s.ReviewIteration > 0 && v.s.Settings.ReviewRerun != "all" {
		first = v.rolesWhere(roles, func(role string, res orchestrator.ReviewResult, ok bool) bool {
			return !ok || res.Verdict != verdictPass || v.s.ActiveReviews[role] == orchestrator.ReviewTimeout
		})
	}
	if len(first) == 0 {
		first = roles
	}
	v.startRound(phase, first)
}

func (v *reviews) rolesWhere(roles []string, match func(string, orchestrator.ReviewResult, bool) bool) []string {
	var out []string
	for _, role := range roles {
		res, ok := v.s.ReviewResults[role]
		if match(role, res, ok) {
			out = append(out, role)
		}
	}
	return out
}

// startRound asks reviewers for a verdict on the integrated tree.
func (v *reviews) startRound(phase workflows.Phase, roles []string) {
	v.s.ActiveReviews = map[string]string{}
	var old []string
	for _, role := range roles {
		v.s.ActiveReviews[role] = orchestrator.ReviewPending
		old = append(old, artifact.ReviewFile(phase.Dir, role))
		if a, ok := v.s.Agents[orchestrator.AgentKey(role)]; ok {
			a.Retries = 0
			v.s.Agents[orchestrator.AgentKey(role)] = a
		}
	}
	v.moveAside(old...)
	v.event(orchestrator.ReviewStartedRecord{Iteration: v.s.ReviewIteration, Roles: roles, Tree: v.s.Integrated.Tree})
	v.clock.arm("review", v.s.Settings.ReviewTimeout)
	v.crew.launchOwed()
}

func (r *reducer) applyReview(c duty.Call) {
	role := c.Role
	if c.Payload.Role != "" {
		role = c.Payload.Role
	}
	r.reviewTaken(role, r.artifact())
}

// reviewTaken records a valid verdict and decides when it was the last one.
func (r *reducer) reviewTaken(role string, a *orchestrator.Artifact) {
	phase, _ := r.phase()
	r.crew.accept(a, role)
	archive := artifact.ReviewArchive(phase.Dir, role, r.s.ReviewIteration)
	res := orchestrator.ReviewResult{
		Verdict: a.Review.Verdict, Iteration: r.s.ReviewIteration, Tree: r.s.Integrated.Tree, SHA256: a.SHA256,
		Archive: archive, Findings: len(a.Review.Findings), CommitMessage: a.Review.CommitMessage,
	}
	r.s.ReviewResults[role], r.s.ActiveReviews[role] = res, orchestrator.ReviewCompleted
	r.effect(orchestrator.EffMaterialise, archive, orchestrator.Args{Material: orchestrator.MaterialReview, Path: archive, Role: role, Sources: map[string]string{role: a.SHA256}})
	r.event(orchestrator.VerdictRecord{
		Role: role, Iteration: res.Iteration, Verdict: res.Verdict, Tree: res.Tree, Findings: res.Findings, Path: archive,
	})
	r.crew.leave(orchestrator.AgentKey(role), "", nil)
	r.decideReview(phase)
}

// decideReview ends a round once no verdict is pending.
func (r *reducer) decideReview(phase workflows.Phase) {
	if len(duty.PendingReviews(r.s)) > 0 {
		return
	}
	roles := duty.ReviewRoles(r.def, r.s)
	failed := r.reviews.rolesWhere(roles, func(_ string, res orchestrator.ReviewResult, ok bool) bool {
		return ok && res.Verdict == verdictFail
	})
	older := r.reviews.rolesWhere(roles, func(_ string, res orchestrator.ReviewResult, ok bool) bool {
		return ok && res.Verdict == verdictPass && res.Tree != r.s.Integrated.Tree
	})
	switch {
	case len(failed) > 0:
		r.reviewFailed(phase, roles)
	case slices.ContainsFunc(roles, func(role string) bool { return r.s.ActiveReviews[role] == orchestrator.ReviewTimeout }):
		r.reviews.timedOut()
	case len(older) > 0 && r.s.Settings.ReviewRerun != "trust":
		r.reviews.startRound(phase, older)
	default:
		r.reviews.passed(phase, roles)
	}
}

// results maps the roles that have a verdict to the blobs of their reviews. A verdict
// without one was taken over from the earlier tool, before its file was.
func (v *reviews) results(match func(orchestrator.ReviewResult) bool) map[string]string {
	sources := map[string]string{}
	for role, res := range v.s.ReviewResults {
		if res.SHA256 != "" && match(res) {
			sources[role] = res.SHA256
		}
	}
	return sources
}

func (r *reducer) reviewFailed(phase workflows.Phase, roles []string) {
	r.clock.disarm("review")
	limit := r.s.Settings.MaxReviewIterations
	if phase.MaxIterations != nil {
		limit = *phase.MaxIterations
	}
	if r.s.ReviewIteration >= limit {
		r.reviewExhausted(phase, limit)
		return
	}
	iteration := r.s.ReviewIteration
	file := path.Join(phase.Dir, "fix_request.md")
	r.effect(orchestrator.EffMaterialise, file, orchestrator.Args{
		Material: orchestrator.MaterialFix, Path: file, Round: iteration,
		Sources: r.reviews.results(func(res orchestrator.ReviewResult) bool { return res.Iteration == iteration }),
	})
	r.s.ReviewIteration++
	r.event(orchestrator.FixRoundRecord{Iteration: r.s.ReviewIteration, Cap: limit})
	r.lastEvent(orchestrator.LastReviewFailed)
	r.follow("failed", orchestrator.LastReviewFailed)
}

func (v *reviews) write(phase workflows.Phase) {
	file := path.Join(phase.Dir, "review.md")
	v.effect(orchestrator.EffMaterialise, file, orchestrator.Args{
		Material: orchestrator.MaterialReviewAll, Path: file, Sources: v.results(func(orchestrator.ReviewResult) bool { return true }),
	})
}

func (r *reducer) reviewExhausted(phase workflows.Phase, limit int) {
	r.reviews.write(phase)
	r.s.ReviewExhausted = true
	r.event(orchestrator.ReviewExhaustedRecord{Iteration: r.s.ReviewIteration, Cap: limit})
	r.lastEvent(orchestrator.LastReviewFailed)
	r.follow("exhausted", orchestrator.LastReviewFailed)
}

func (v *reviews) passed(phase workflows.Phase, roles []string) {
	v.clock.disarm("review")
	v.write(phase)
	v.lastEvent(orchestrator.LastReviewPassed)
	v.s.AwaitingSummary = true
	summary := path.Join(v.def.DirOf(workflows.KindComplete), "summary.md")
	v.moveAside(summary)
	v.clock.arm("summary", v.s.Settings.LimitSummary)
	v.crew.stop(orchestrator.AgentKey(roles[0]))
	v.crew.launchOwed()
}

func (r *reducer) summaryTaken(a *orchestrator.Artifact) {
	writer := duty.ReviewRoles(r.def, r.s)[0]
	r.crew.accept(a, writer)
	r.s.Completion.Summary = a.SHA256
	r.crew.leave(orchestrator.AgentKey(writer), "", nil)
	r.leaveReview()
}

// leaveReview continues with completion; without a summary the completion phase
// writes the fallback.
func (r *reducer) leaveReview() {
	r.clock.disarm("summary")
	r.s.AwaitingSummary = false
	r.follow("passed", orchestrator.LastReviewPassed)
}

// reviewDeadline is the timer of a round.
func (r *reducer) reviewDeadline() {
	phase, ok := r.phase()
	if !ok || phase.Kind != workflows.KindReview || r.s.AwaitingSummary {
		return
	}
	for _, role := range duty.PendingReviews(r.s) {
		r.s.ActiveReviews[role] = orchestrator.ReviewTimeout
		r.crew.dismiss(orchestrator.AgentKey(role))
	}
	r.decideReview(phase)
}

// timedOut starts silent reviewers once more, then asks a person.
func (v *reviews) timedOut() {
	if v.count("review timeout") > 1 {
		v.outcome.park(orchestrator.ReasonReviewTimeout, "a reviewer did not answer in time", "resume to ask again")
		return
	}
	v.reopen()
	v.clock.arm("review", v.s.Settings.ReviewTimeout)
	v.crew.launchOwed()
}

// reopen gives reviewers that timed out another chance.
func (v *reviews) reopen() {
	for role, status := range v.s.ActiveReviews {
		if status != orchestrator.ReviewCompleted {
			v.s.ActiveReviews[role] = orchestrator.ReviewPending
		}
	}
}
