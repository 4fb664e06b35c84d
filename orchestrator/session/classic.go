package session

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// Files of the earlier tool.
const (
	classicPMDone    = "01_product_management/done"
	classicExecution = "04_planning/execution_plan.yaml"
	classicPlan      = "04_planning/plan.yaml"
	classicDesign    = "05_design/design.md"
	classicMarkers   = "06_implementation"
	classicReview    = "07_review/review.md"
	classicFix       = "07_review/fix_request.md"
	classicReviewDir = "07_review"
	classicSummary   = "08_completion/summary.md"
	classicChanges   = "08_completion/changes.md"
	architectureFile = "02_architecting/architecture.md"
)

// Classic collects what the directory of a session of the earlier tool shows, for the
// upgrade of its state. The git side (Base, Integrated) and the branch are left to the
// caller.
func (s *Session) Classic(st *orchestrator.State) (*orchestrator.ClassicDir, error) {
	c, at := &orchestrator.ClassicDir{SessionID: s.Name()}, orchestrator.Cursor{}
	err := s.classicSchedule(c)
	for more := true; more && err == nil; {
		var lines []orchestrator.Line
		lines, more, err = s.Lines(ToolEvents, at, 0)
		for _, l := range lines {
			if at = l.Cursor; l.Tool != "" && l.Cursor.Offset <= st.ToolCursor.Offset {
				c.Applied = append(c.Applied, l.Tool)
			}
		}
	}
	if err = errors.Join(err, s.classicDone(c, st.ReviewIteration > 0)); err != nil {
		return nil, err
	}
	c.PMDone, c.ExecutionAny = s.exists(classicPMDone), s.exists(classicExecution)
	for rel, there := range map[string]*bool{
		architectureFile: &c.Architecture, classicDesign: &c.Design, classicFix: &c.FixRequest, classicSummary: &c.Summary,
	} {
		checked, err := s.CheckArtifact(rel, duty.ArtifactText)
		if err != nil {
			return nil, err
		}
		*there = len(checked.Artifact.Problems) == 0
	}
	review, err := s.CheckArtifact(classicReview, duty.ArtifactText)
	if err != nil {
		return nil, err
	}
	c.Passed = strings.HasPrefix(string(review.Data), "verdict: pass")
	changes, err := s.CheckArtifact(classicChanges, duty.ArtifactText)
	if err != nil {
		return nil, err
	}
	if len(changes.Artifact.Problems) == 0 {
		c.Changes = strings.TrimSpace(string(changes.Data))
	}
	c.Reviews, err = s.classicReviews()
	return c, err
}

// classicDone finds the markers of finished subplans. In a fix round one that is not newer
// than what asked for the fix is left from the round before.
func (s *Session) classicDone(c *orchestrator.ClassicDir, fixes bool) error {
	entries, err := os.ReadDir(s.Path(classicMarkers))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	asked, err := os.Lstat(s.Path(classicFix))
	fixes = fixes && err == nil
	for _, e := range entries {
		id, ok := strings.CutPrefix(e.Name(), "done_")
		if !ok || !e.Type().IsRegular() {
			continue
		}
		if made, err := e.Info(); fixes && err == nil && !made.ModTime().After(asked.ModTime()) {
			c.OldMarkers = append(c.OldMarkers, id)
			continue
		}
		c.Markers = append(c.Markers, id)
	}
	return nil
}

func (s *Session) exists(rel string) bool {
	_, err := os.Lstat(s.Path(rel))
	return err == nil
}

// classicSchedule reads the plan in either form; to have neither is not an error.
func (s *Session) classicSchedule(c *orchestrator.ClassicDir) error {
	execution, err := s.CheckArtifact(classicExecution, duty.ArtifactText)
	if err != nil {
		return err
	}
	if execution.Data != nil {
		schedule, _ := artifact.ParseExecutionPlan(execution.Data, func(file string) bool {
			return s.exists(path.Join(path.Dir(classicExecution), file))
		})
		c.Schedule, c.Execution = schedule, schedule != nil
	}
	plan, err := s.CheckArtifact(classicPlan, duty.ArtifactPlan)
	if err != nil || plan.Artifact.Plan == nil || len(plan.Artifact.Problems) > 0 {
		return err
	}
	kept, err := s.ReadArtifact(classicPlan, duty.ArtifactPlan)
	if err != nil {
		return err
	}
	schedule := kept.Plan.Schedule()
	c.Schedule, c.PlanSHA256 = &schedule, kept.SHA256
	return nil
}
