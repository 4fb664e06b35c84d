package artifact_test

import "testing"

func TestProtocol(t *testing.T) {
	t.Run("K1 each rule of a plan", testPlanRules)
	t.Run("K1 all errors of a plan at once", testPlanAllAtOnce)
	t.Run("K2 files owned twice in a parallel group", testPlanOverlap)
	t.Run("K3 a plan with fewer subplans derives fewer files", testPlanFewerSubplans)
	t.Run("K4 each rule of a review", testReviewRules)
	t.Run("K5 review.yaml belongs to the role reviewer", testReviewArtifact)
	t.Run("K6 approval", testApproval)
}
