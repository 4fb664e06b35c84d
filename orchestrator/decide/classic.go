package decide

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// Infer returns the phase in which a session of the earlier tool was interrupted: its
// state does not say so. It is an id of the shipped feature workflow.
func Infer(s *orchestrator.State, c *orchestrator.ClassicDir) string {
	all := c.Schedule != nil
	if all {
		for i := 1; i <= c.Schedule.Subplans(); i++ {
			all = all && slices.Contains(c.Markers, subplanID(i))
		}
	}
	switch {
	case s.ProductManager && !slices.Contains(c.Applied, "submit_pm_done") && !c.PMDone && !c.Architecture:
		return "product_management"
	case !slices.Contains(c.Applied, "submit_architecture") && !c.ExecutionAny:
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

// upgrade makes a state of the earlier tool one of ours and reports whether its phase
// was inferred.
func (r *reducer) upgrade(c *orchestrator.ClassicDir) (inferred bool) {
	s := r.s
	s.SchemaVersion, s.SessionID, s.Identity, s.Workflow = orchestrator.SchemaVersion, c.SessionID, c.Identity, r.def.Name
	s.BaseSHA, s.Integrated, s.FeatureBranch = c.Base, c.Integrated, c.Branch
	s.CreatedAt, s.PhaseEnteredAt = r.now, r.now
	if s.Visit == 0 {
		s.Visit = 1
	}
	r.changed = true
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
		r.adoptSchedule(c)
	}
	if phase, ok := r.phase(); !ok || s.Schedule == nil && afterPlan[phase.Kind] {
		plan, _ := r.def.Kind(workflows.KindPlan)
		s.Phase, inferred = plan.ID, true
	}
	r.adoptPhase(c)
	return inferred
}

var afterPlan = map[string]bool{
	workflows.KindImplement: true, workflows.KindReview: true, workflows.KindFix: true, workflows.KindComplete: true,
}

func subplanID(i int) string { return strconv.Itoa(i) }

// adoptSchedule takes a plan over, with what of it is done.
func (r *reducer) adoptSchedule(c *orchestrator.ClassicDir) {
	s := r.s
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
	r.adoptActive()
}

// adoptActive keeps the subplans at work as such, as far as they are of the first
// group that is not complete: a line of theirs may be unread.
func (r *reducer) adoptActive() {
	s := r.s
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
func (r *reducer) adoptPhase(c *orchestrator.ClassicDir) {
	s := r.s
	phase, _ := r.phase()
	if len(s.CompletedGroups) == s.GroupTotal {
		s.GroupIndex = s.GroupTotal
	}
	switch phase.Kind {
	case workflows.KindFix:
		s.SubplanStatus[orchestrator.FixTask] = orchestrator.SubplanRunning
		for _, id := range c.OldMarkers { // else they would end the fix
			r.effect(orchestrator.EffRemoveFiles, r.marker(id), orchestrator.Args{Paths: []string{r.marker(id)}, Visit: s.Visit})
		}
	case workflows.KindPlan:
		s.ChangeRequest = orchestrator.Optional(c.Changes)
	}
	r.adoptReviews(phase, c)
	if afterPlan[phase.Kind] && phase.Kind != workflows.KindImplement {
		r.allDone()
	}
}

// allDone notes every subplan as done: a later phase was reached.
func (r *reducer) allDone() {
	s := r.s
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

// DoneMarkers returns the files that end an agent's task in a session of the earlier tool
// when a person makes them, by agent key: that of the product manager and those of the
// running research. A session of ours has none.
func DoneMarkers(def *workflows.Definition, s *orchestrator.State) map[string]string {
	files := map[string]string{}
	if !fromEarlierTool(s) {
		return files
	}
	phase, _ := def.Phase(s.Phase)
	for _, o := range Owed(def, s) {
		switch {
		case isResearcher(o.Role):
			files[o.Key()] = researchMarker(strings.TrimSuffix(o.Role, "-researcher"), o.Task)
		case phase.Tool == workflows.ToolSubmitPMDone && o.Role == phase.Role:
			files[o.Key()] = path.Join(phase.Dir, "done")
		}
	}
	return files
}

// fromEarlierTool reports whether the session began with the earlier tool, which froze no
// definition.
func fromEarlierTool(s *orchestrator.State) bool {
	return s.Kind == orchestrator.KindPipeline && s.DefinitionSHA256 == ""
}

func researchMarker(kind, topic string) string {
	return path.Join(orchestrator.ResearchDir(kind, topic), "done")
}

func (r *reducer) doneMatters(_ workflows.Phase, o *orchestrator.Observation) bool {
	_, counts := DoneMarkers(r.def, r.s)[o.Name]
	return counts
}

// takeDone takes the marker for the call it stands for.
func (r *reducer) takeDone(phase workflows.Phase, o *orchestrator.Observation) {
	if !r.usable(o) {
		return
	}
	role, topic := orchestrator.SplitKey(o.Name)
	if !isResearcher(role) {
		r.acceptAuthor(phase, role, nil)
		return
	}
	kind := strings.TrimSuffix(role, "-researcher")
	r.applyResearchDone(Call{Tool: "submit_research_done", Role: role, Task: topic, Payload: orchestrator.Payload{Type: kind, Topic: topic}})
}
