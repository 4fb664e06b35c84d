package session

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/upgrade"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// classicReviews keeps the valid verdict files of a session of the earlier tool, by role.
func (s *Session) classicReviews() (map[string]orchestrator.ClassicReview, error) {
	entries, err := os.ReadDir(s.Path(classicReviewDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	made := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			made[e.Name()] = info.ModTime()
		}
	}
	found := map[string]orchestrator.ClassicReview{}
	for _, role := range workflows.ReviewRoles() {
		written, ok := made[artifact.ReviewArtifact(role)]
		if !ok {
			continue
		}
		kept, err := s.ReadArtifact(artifact.ReviewFile(classicReviewDir, role), duty.ArtifactReview)
		if err != nil {
			return nil, err
		}
		if kept.Review == nil || len(kept.Problems) > 0 {
			continue
		}
		review := orchestrator.ClassicReview{
			Verdict: kept.Review.Verdict, SHA256: kept.SHA256, Findings: len(kept.Review.Findings), CommitMessage: kept.Review.CommitMessage,
		}
		if n := upgrade.LastRound(made, role, written); n >= 0 {
			review.Archive, review.Iteration = artifact.ReviewArchive(classicReviewDir, role, n), n
		}
		found[role] = review
	}
	return found, nil
}
