// Package upgrade makes the state of a session of the earlier tool one of ours, from what its
// directory shows. It decides nothing about what comes next; [Classic] names the files that have
// to go before.
package upgrade

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// Infer returns the phase in which a session of the earlier tool was interrupted: its
// state does not say so. It is an id of the shipped feature workflow.
func Infer(s *orchestrator.State, c *orchestrator.ClassicDir) string {
	all := c.Schedule != nil
	if all {
		for i := 1; i <= c.Schedule.Subplans(); i++ {
			all = all && slices.Contains(c.Markers, strconv.Itoa(i))
		}
	}
	switch {
	case s.ProductManager && !slices.Contains(c.Applied, workflows.ToolSubmitPMDone) && !c.PMDone && !c.Architecture:
		return "product_management"
	case !slices.Contains(c.Applied, workflows.ToolSubmitArchitecture) && !c.ExecutionAny:
		return "architecting"
	case !c.Execution:
		return "planning"
	case c.Schedule != nil && c.Schedule.NeedsDesign && !c.Design:
		return "designing"
	case s.ReviewIteration == 0 && !all:
		return "implementing"
	case s.ReviewIteration > 0 && c.FixRequest && !slices.Contains(c.Markers, "1"):
		return "fixing"
	case !c.Passed && !reviewPassedIn(s, c):
		return "reviewing"
	}
	return "completing"
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
		if res.Verdict != artifact.VerdictPass {
			return false
		}
	}
	return true
}

// Upgraded tells what became of a state.
type Upgraded struct {
	Inferred bool     // the phase is not the one that the state named
	Markers  []string // subplans whose markers would end the fix: to be removed
	Reviews  []string // files of an earlier round: to be moved aside
}

// classic is the upgrade of one state.
type classic struct {
	def   *workflows.Definition
	s     *orchestrator.State
	roles []string
	Upgraded
}

// Classic makes s one of ours. roles are those that review it.
func Classic(def *workflows.Definition, s *orchestrator.State, c *orchestrator.ClassicDir, roles []string, now orchestrator.Time) Upgraded {
	u := &classic{def: def, s: s, roles: roles}
	s.SchemaVersion, s.SessionID, s.Identity, s.Workflow = orchestrator.SchemaVersion, c.SessionID, c.Identity, def.Name
	s.BaseSHA, s.Integrated, s.FeatureBranch = c.Base, c.Integrated, c.Branch
	s.CreatedAt, s.PhaseEnteredAt = now, now
	if s.Visit == 0 {
		s.Visit = 1
	}
	u.Inferred = u.phase(c)
	return u.Upgraded
}

// phase finds the phase to go on in, and reports whether the state named another one.
func (u *classic) phase(c *orchestrator.ClassicDir) (inferred bool) {
	s := u.s
	if s.Phase == orchestrator.PhaseDone {
		s.Outcome = orchestrator.OutcomeDone
		return false
	}
	if s.Phase == orchestrator.PhaseFailed {
		inferred = s.InterruptedPhase == ""
		if inferred {
			s.InterruptedPhase = orchestrator.Optional(Infer(s, c))
		}
		s.Phase = string(s.InterruptedPhase)
	}
	if c.Schedule != nil {
		u.adoptSchedule(c)
	}
	if phase, ok := u.def.Phase(s.Phase); !ok || s.Schedule == nil && afterPlan[phase.Kind] {
		plan, _ := u.def.Kind(workflows.KindPlan)
		s.Phase, inferred = plan.ID, true
	}
	u.adoptPhase(c)
	return inferred
}

var afterPlan = map[string]bool{
	workflows.KindImplement: true, workflows.KindReview: true, workflows.KindFix: true, workflows.KindComplete: true,
}

// adoptSchedule takes a plan over, with what of it is done.
func (u *classic) adoptSchedule(c *orchestrator.ClassicDir) {
	s := u.s
	s.PlanSHA256 = c.PlanSHA256
	s.Schedule = &orchestrator.Schedule{NeedsDesign: c.Schedule.NeedsDesign, Owned: c.Schedule.Owned, Titles: map[string]string{}, Inferred: true}
	completed := s.CompletedSubplans
	s.SubplanStatus, s.CompletedSubplans, s.CompletedGroups = map[string]string{}, []string{}, []string{}
	s.SubplanCount, s.GroupTotal, s.GroupIndex, s.GroupMode = 0, len(c.Schedule.Groups), 0, ""
	for _, g := range c.Schedule.Groups {
		s.Schedule.Groups = append(s.Schedule.Groups, orchestrator.Group{ID: g.GroupID, Mode: g.Mode, Plans: g.Plans})
		done := true
		for _, id := range g.Plans {
			s.SubplanCount++
			s.SubplanStatus[id] = orchestrator.SubplanPending
			if slices.Contains(completed, id) || slices.Contains(c.Markers, id) {
				s.SubplanStatus[id] = orchestrator.SubplanDone
				s.CompletedSubplans = append(s.CompletedSubplans, id)
			}
			done = done && s.SubplanStatus[id] == orchestrator.SubplanDone
		}
		if done {
			s.CompletedGroups = append(s.CompletedGroups, g.GroupID)
		}
	}
	u.adoptActive()
}

// adoptActive keeps the subplans at work as such, as far as they are of the first
// group that is not complete: a line of theirs may be unread.
func (u *classic) adoptActive() {
	s := u.s
	active := s.ActivePlanIDs
	s.ActivePlanIDs = []string{}
	for i, g := range s.Schedule.Groups {
		if slices.Contains(s.CompletedGroups, g.ID) {
			continue
		}
		for _, id := range g.Plans {
			if slices.Contains(active, id) && s.SubplanStatus[id] == orchestrator.SubplanPending {
				s.SubplanStatus[id] = orchestrator.SubplanRunning
				s.ActivePlanIDs = append(s.ActivePlanIDs, id)
				s.GroupIndex, s.GroupMode = i+1, orchestrator.Optional(g.Mode)
			}
		}
		return
	}
}

// adoptPhase fills in what our phases keep in the state and the earlier tool kept
// elsewhere.
func (u *classic) adoptPhase(c *orchestrator.ClassicDir) {
	s := u.s
	phase, _ := u.def.Phase(s.Phase)
	if len(s.CompletedGroups) == s.GroupTotal {
		s.GroupIndex = s.GroupTotal
	}
	switch phase.Kind {
	case workflows.KindFix:
		s.SubplanStatus[orchestrator.FixTask] = orchestrator.SubplanRunning
		u.Markers = c.OldMarkers
	case workflows.KindPlan:
		s.ChangeRequest = orchestrator.Optional(c.Changes)
	}
	u.adoptReviews(phase, c)
	if afterPlan[phase.Kind] && phase.Kind != workflows.KindImplement {
		u.allDone()
	}
}

// adoptReviews completes the verdicts of the earlier tool with what ours have besides: the
// file, the round, and the tree. A verdict whose file is gone is dropped, and its role asked
// again. Which tree an earlier round was about is not known, so such a pass never counts as
// one for the present tree.
func (u *classic) adoptReviews(phase workflows.Phase, c *orchestrator.ClassicDir) {
	s := u.s
	current := s.ReviewIteration
	if phase.Kind == workflows.KindFix {
		current-- // the round that asked for this fix
	}
	for _, role := range slices.Sorted(maps.Keys(s.ReviewResults)) {
		old := s.ReviewResults[role]
		if phase.Kind == workflows.KindComplete && old.Verdict == artifact.VerdictFail {
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
		u.adoptRound(phase)
	}
}

// adoptRound has the verdicts of an unfinished round read once more from their files. A file
// of an earlier round is moved aside: it says nothing about this one.
func (u *classic) adoptRound(phase workflows.Phase) {
	for _, role := range u.roles {
		res, known := u.s.ReviewResults[role]
		u.s.ActiveReviews[role] = orchestrator.ReviewPending
		switch {
		case known && res.Iteration == u.s.ReviewIteration:
			delete(u.s.ReviewResults, role)
		case known:
			u.Reviews = append(u.Reviews, artifact.ReviewFile(phase.Dir, role))
		}
	}
}

// allDone notes every subplan as done: a later phase was reached.
func (u *classic) allDone() {
	s := u.s
	s.CompletedSubplans, s.CompletedGroups = []string{}, []string{}
	for _, g := range s.Schedule.Groups {
		s.CompletedGroups = append(s.CompletedGroups, g.ID)
		for _, id := range g.Plans {
			s.SubplanStatus[id] = orchestrator.SubplanDone
			s.CompletedSubplans = append(s.CompletedSubplans, id)
		}
	}
	s.ActivePlanIDs, s.GroupIndex, s.GroupMode = []string{}, s.GroupTotal, ""
}

// LastRound returns the newest round whose archive was made from a verdict file, -1 for none. made
// are the files beside it with their times. The earlier tool wrote the archive when it read the file, so a file that is newer
// than an archive belongs to a later round.
func LastRound(made map[string]time.Time, role string, written time.Time) int {
	last := -1
	for name, at := range made {
		round, ok := strings.CutSuffix(name, "_"+role+".md")
		if !ok {
			continue
		}
		n, err := strconv.Atoi(strings.TrimPrefix(round, "review_"))
		if err == nil && n > last && !written.After(at) {
			last = n
		}
	}
	return last
}
