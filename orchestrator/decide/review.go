package decide

import (
	"path"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

const (
	verdictPass = "pass"
	verdictFail = "fail"
)

func (r *reducer) enterReview(phase workflows.Phase) {
	roles := reviewRoles(r.def, r.s)
	first := roles
	if r.s.ReviewIteration > 0 && r.s.Settings.ReviewRerun != "all" {
		first = r.rolesWhere(roles, func(role string, res orchestrator.ReviewResult, ok bool) bool {
			return !ok || res.Verdict != verdictPass || r.s.ActiveReviews[role] == orchestrator.ReviewTimeout
		})
	}
	if len(first) == 0 {
		first = roles
	}
	r.startRound(phase, first)
}

func (r *reducer) rolesWhere(roles []string, match func(string, orchestrator.ReviewResult, bool) bool) []string {
	var out []string
	for _, role := range roles {
		res, ok := r.s.ReviewResults[role]
		if match(role, res, ok) {
			out = append(out, role)
		}
	}
	return out
}

// startRound asks reviewers for a verdict on the integrated tree.
func (r *reducer) startRound(phase workflows.Phase, roles []string) {
	r.s.ActiveReviews = map[string]string{}
	var old []string
	for _, role := range roles {
		r.s.ActiveReviews[role] = orchestrator.ReviewPending
		old = append(old, orchestrator.ReviewFile(phase.Dir, role))
		if a, ok := r.s.Agents[role]; ok {
			a.Retries = 0
			r.s.Agents[role] = a
		}
	}
	r.moveAside(old...)
	r.event(orchestrator.ReviewStartedRecord{Iteration: r.s.ReviewIteration, Roles: roles, Tree: r.s.Integrated.Tree})
	r.deadline("review", r.s.Settings.ReviewTimeout)
	r.launchOwed()
}

func (r *reducer) applyReview(c Call) {
	role := c.Role
	if c.Payload.Role != "" {
		role = c.Payload.Role
	}
	r.reviewTaken(role, r.artifact())
}

// reviewTaken records a valid verdict and decides when it was the last one.
func (r *reducer) reviewTaken(role string, a *orchestrator.Artifact) {
	phase, _ := r.phase()
	r.accept(a, role)
	archive := orchestrator.ReviewArchive(phase.Dir, role, r.s.ReviewIteration)
	res := orchestrator.ReviewResult{
		Verdict: a.Review.Verdict, Iteration: r.s.ReviewIteration, Tree: r.s.Integrated.Tree, SHA256: a.SHA256,
		Archive: archive, Findings: len(a.Review.Findings), CommitMessage: a.Review.CommitMessage,
	}
	r.s.ReviewResults[role], r.s.ActiveReviews[role] = res, orchestrator.ReviewCompleted
	r.effect(orchestrator.EffMaterialise, archive, orchestrator.Args{Material: orchestrator.MaterialReview, Path: archive, Role: role, Sources: map[string]string{role: a.SHA256}})
	r.event(orchestrator.VerdictRecord{
		Role: role, Iteration: res.Iteration, Verdict: res.Verdict, Tree: res.Tree, Findings: res.Findings, Path: archive,
	})
	r.stop(role)
	r.forget(role)
	r.decideReview(phase)
}

// decideReview ends a round once nobody is pending.
func (r *reducer) decideReview(phase workflows.Phase) {
	if len(pendingReviews(r.s)) > 0 {
		return
	}
	roles := reviewRoles(r.def, r.s)
	failed := r.rolesWhere(roles, func(_ string, res orchestrator.ReviewResult, ok bool) bool {
		return ok && res.Verdict == verdictFail
	})
	older := r.rolesWhere(roles, func(_ string, res orchestrator.ReviewResult, ok bool) bool {
		return ok && res.Verdict == verdictPass && res.Tree != r.s.Integrated.Tree
	})
	switch {
	case len(failed) > 0:
		r.reviewFailed(phase, roles)
	case slices.ContainsFunc(roles, func(role string) bool { return r.s.ActiveReviews[role] == orchestrator.ReviewTimeout }):
		r.reviewTimedOut()
	case len(older) > 0 && r.s.Settings.ReviewRerun != "trust":
		r.startRound(phase, older)
	default:
		r.reviewPassed(phase, roles)
	}
}

// results maps the roles that have a verdict to the blobs of their reviews. A verdict
// without one was taken over from the earlier tool, before its file was.
func (r *reducer) results(match func(orchestrator.ReviewResult) bool) map[string]string {
	sources := map[string]string{}
	for role, res := range r.s.ReviewResults {
		if res.SHA256 != "" && match(res) {
			sources[role] = res.SHA256
		}
	}
	return sources
}

func (r *reducer) reviewFailed(phase workflows.Phase, roles []string) {
	r.disarm("review")
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
		Sources: r.results(func(res orchestrator.ReviewResult) bool { return res.Iteration == iteration }),
	})
	r.s.ReviewIteration++
	r.event(orchestrator.FixRoundRecord{Iteration: r.s.ReviewIteration, Cap: limit})
	r.last(orchestrator.LastReviewFailed)
	r.follow("failed", orchestrator.LastReviewFailed)
}

func (r *reducer) writeReview(phase workflows.Phase) {
	file := path.Join(phase.Dir, "review.md")
	r.effect(orchestrator.EffMaterialise, file, orchestrator.Args{
		Material: orchestrator.MaterialReviewAll, Path: file, Sources: r.results(func(orchestrator.ReviewResult) bool { return true }),
	})
}

func (r *reducer) reviewExhausted(phase workflows.Phase, limit int) {
	r.writeReview(phase)
	r.s.ReviewExhausted = true
	r.event(orchestrator.ReviewExhaustedRecord{Iteration: r.s.ReviewIteration, Cap: limit})
	r.last(orchestrator.LastReviewFailed)
	r.follow("exhausted", orchestrator.LastReviewFailed)
}

func (r *reducer) reviewPassed(phase workflows.Phase, roles []string) {
	r.disarm("review")
	r.writeReview(phase)
	r.last(orchestrator.LastReviewPassed)
	r.s.AwaitingSummary = true
	summary := path.Join(dirOf(r.def, workflows.KindComplete), "summary.md")
	r.moveAside(summary)
	r.deadline("summary", r.s.Settings.LimitSummary)
	r.stop(roles[0])
	r.launchOwed()
}

func (r *reducer) applySummary(Call) { r.summaryTaken(r.artifact()) }

func (r *reducer) summaryTaken(a *orchestrator.Artifact) {
	r.accept(a, reviewRoles(r.def, r.s)[0])
	r.s.Completion.Summary = a.SHA256
	r.leaveReview()
}

// leaveReview goes on to completion; without a summary the completion phase
// writes the fallback.
func (r *reducer) leaveReview() {
	r.disarm("summary")
	r.s.AwaitingSummary = false
	r.follow("passed", orchestrator.LastReviewPassed)
}

// reviewDeadline is the timer of a round.
func (r *reducer) reviewDeadline() {
	phase, ok := r.phase()
	if !ok || phase.Kind != workflows.KindReview || r.s.AwaitingSummary {
		return
	}
	for _, role := range pendingReviews(r.s) {
		r.s.ActiveReviews[role] = orchestrator.ReviewTimeout
		r.stop(role)
		r.forget(role)
	}
	r.decideReview(phase)
}

// reviewTimedOut starts silent reviewers once more, then asks a person.
func (r *reducer) reviewTimedOut() {
	if r.count("review timeout") > 1 {
		r.park(orchestrator.ReasonReviewTimeout, "a reviewer did not answer in time", "resume to ask again")
		return
	}
	r.againReviewers()
}

// againReviewers asks the roles that timed out once more.
func (r *reducer) againReviewers() {
	for role, status := range r.s.ActiveReviews {
		if status != orchestrator.ReviewCompleted {
			r.s.ActiveReviews[role] = orchestrator.ReviewPending
		}
	}
	r.deadline("review", r.s.Settings.ReviewTimeout)
	r.launchOwed()
}
