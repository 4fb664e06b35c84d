package decide

import (
	"maps"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// adoptReviews completes the verdicts of the earlier tool with what ours have besides: the
// file, the round, and the tree. A verdict whose file is gone is dropped, and its role asked
// again. Which tree an earlier round was about is not known, so such a pass never counts as
// one for the present tree.
func (r *reducer) adoptReviews(phase workflows.Phase, c *orchestrator.ClassicDir) {
	s := r.s
	current := s.ReviewIteration
	if phase.Kind == workflows.KindFix {
		current-- // the round that asked for this fix
	}
	for _, role := range slices.Sorted(maps.Keys(s.ReviewResults)) {
		old := s.ReviewResults[role]
		if phase.Kind == workflows.KindComplete && old.Verdict == verdictFail {
			s.ReviewExhausted, s.Completion.Exhausted = true, true
		}
		file, ok := c.Reviews[role]
		if !ok || file.Verdict != old.Verdict {
			delete(s.ReviewResults, role)
			continue
		}
		res := orchestrator.ReviewResult{
			Verdict: file.Verdict, Iteration: current, SHA256: file.SHA256, Findings: file.Findings,
			CommitMessage: file.CommitMessage, Archive: file.Archive,
		}
		if file.Archive != "" {
			res.Iteration = file.Iteration
		}
		if phase.Kind != workflows.KindFix && res.Iteration == current {
			res.Tree = s.Integrated.Tree
		}
		s.ReviewResults[role] = res
	}
	if phase.Kind == workflows.KindReview && !s.AwaitingSummary {
		r.adoptRound(phase)
	}
}

// adoptRound has the verdicts of an unfinished round read once more from their files. A file
// of an earlier round is moved aside: it says nothing about this one.
func (r *reducer) adoptRound(phase workflows.Phase) {
	for _, role := range reviewRoles(r.def, r.s) {
		res, known := r.s.ReviewResults[role]
		r.s.ActiveReviews[role] = orchestrator.ReviewPending
		switch {
		case known && res.Iteration == r.s.ReviewIteration:
			delete(r.s.ReviewResults, role)
		case known:
			r.moveAside(orchestrator.ReviewFile(phase.Dir, role))
		}
	}
}

// reviewPassedIn reports whether the earlier tool had every verdict and the summary when it
// was interrupted, which leaves only the completion.
func reviewPassedIn(s *orchestrator.State, c *orchestrator.ClassicDir) bool {
	if len(s.ReviewResults) == 0 || s.AwaitingSummary || !c.Summary {
		return false
	}
	for _, status := range s.ActiveReviews {
		if status != orchestrator.ReviewCompleted {
			return false
		}
	}
	for _, res := range s.ReviewResults {
		if res.Verdict != verdictPass {
			return false
		}
	}
	return true
}
