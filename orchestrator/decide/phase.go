package decide

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// enterKind starts what a kind of phase does first.
func (r *reducer) enterKind(phase workflows.Phase) {
	switch phase.Kind {
	case workflows.KindAuthor:
		r.enterAuthor(phase)
	case workflows.KindPlan:
		r.enterPlan(phase)
	case workflows.KindImplement:
		r.enterImplement(phase)
	case workflows.KindReview:
		r.enterReview(phase)
	case workflows.KindFix:
		r.enterFix(phase)
	case workflows.KindComplete:
		r.enterComplete(phase)
	}
}

// follow leaves the current phase along one of its outcomes, passing over
// author phases whose condition does not hold.
func (r *reducer) follow(outcome, reason string) {
	phase, ok := r.phase()
	if !ok {
		return
	}
	r.enter(r.def.Entry(phase.Target(outcome, r.conditions()), r.conditions()), reason)
}

// FirstPhase returns the phase a new session starts in.
func FirstPhase(def *workflows.Definition, s *orchestrator.State) string {
	return def.Entry(def.Start, conditions(s))
}

// enter makes a phase the current one. A target of done ends the session.
func (r *reducer) enter(id, reason string) {
	seconds := int(r.now.Sub(r.s.PhaseEnteredAt.Time).Seconds())
	if r.s.PhaseEnteredAt.IsZero() {
		seconds = 0
	}
	from := r.s.Phase
	r.event(orchestrator.PhaseLeftRecord{Phase: from, Next: id, Seconds: seconds})
	if id == orchestrator.PhaseDone {
		r.finishRun(orchestrator.OutcomeDone, "")
		return
	}
	r.leaveVisit()
	r.s.Phase = id
	r.s.Visit++
	r.begin(reason)
}

// leaveVisit ends what belongs to the visit only: its agents, views, deadlines.
func (r *reducer) leaveVisit() {
	for _, key := range slices.Sorted(maps.Keys(r.s.Agents)) {
		if !isResearcher(key) {
			r.stop(key)
			r.forget(key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.s.Workspaces)) {
		if isView(name) && !isResearcher(strings.TrimPrefix(name, orchestrator.WorkspaceView)) {
			r.removeWorkspace(name)
		}
	}
	r.disarm("phase", "review", "summary", "gate")
	r.disarmPrefix("relaunch/")
	r.s.Counters = map[string]orchestrator.Counter{}
	r.s.Seen = map[string]string{}
}

// forget ends what an agent still expected: it has done its part.
func (r *reducer) forget(key string) {
	if a, ok := r.s.Agents[key]; ok && a.Waiting != "" {
		a.Waiting = ""
		r.s.Agents[key] = a
	}
	role, task := orchestrator.SplitKey(key)
	for i := range r.s.Questions {
		if q := &r.s.Questions[i]; q.Open() && q.Role == role && q.Task == task {
			r.withdraw(q)
		}
	}
}

func isResearcher(key string) bool {
	role, _ := orchestrator.SplitKey(key)
	return strings.HasSuffix(role, "-researcher")
}

// begin does what the current phase starts with, under the current visit.
func (r *reducer) begin(reason string) {
	phase, ok := r.phase()
	if !ok {
		r.fail("phase " + r.s.Phase + " is not in the workflow")
		return
	}
	r.s.PhaseEnteredAt = r.now
	if r.s.Integrated.Commit == "" {
		r.s.Integrated.Commit = r.s.BaseSHA
	}
	r.s.InterruptedPhase, r.s.InterruptedEvent = "", ""
	r.event(orchestrator.PhaseEnteredRecord{Phase: phase.ID, Kind: phase.Kind, Reason: reason})
	if _, armed := r.s.Deadlines["total"]; !armed {
		r.deadline("total", r.s.Settings.LimitTotal)
	}
	r.armPhase(phase)
	r.effect(orchestrator.EffEnsureDirs, phase.Dir, orchestrator.Args{Paths: r.phaseDirs(phase)})
	r.enterKind(phase)
	if !r.s.Ended() {
		r.checkpoint(nil, orchestrator.EffStartAgent, checkpointPause)
	}
}

func (r *reducer) armPhase(phase workflows.Phase) { r.deadline("phase", r.phaseLimit(phase)) }

// phaseLimit is the phase's own limit, which may be none, else the configured one.
func (r *reducer) phaseLimit(phase workflows.Phase) orchestrator.Duration {
	if phase.Timeout != nil {
		return orchestrator.Duration(*phase.Timeout)
	}
	return r.s.Settings.LimitPhase
}

// phaseDirs lists the directories a phase writes to.
func (r *reducer) phaseDirs(phase workflows.Phase) []string {
	dirs := []string{phase.Dir}
	switch phase.Kind {
	case workflows.KindReview:
		dirs = append(dirs, dirOf(r.def, workflows.KindComplete))
	case workflows.KindFix:
		dirs = append(dirs, dirOf(r.def, workflows.KindReview))
	case workflows.KindImplement:
		dirs = append(dirs, dirOf(r.def, workflows.KindPlan))
	}
	return dirs
}

func (r *reducer) enterAuthor(phase workflows.Phase) {
	if phase.FileAccepts && phase.Artifact != workflows.RequirementsFile { // every prompt holds the request
		r.moveAside(phase.Artifact)
	}
	r.launchOwed()
}

// enterPlan starts the planner; in a change round after a push, on what people have
// put on the branch since.
func (r *reducer) enterPlan(workflows.Phase) {
	if r.s.Completion.Pushed {
		r.effect(orchestrator.EffAdopt, "adopt@"+r.round(), orchestrator.Args{
			Branch: r.s.FeatureBranch, Commit: r.s.Integrated.Commit, Base: r.s.BaseSHA, Round: r.s.ChangeRound, Date: r.now,
		})
		return
	}
	r.launchOwed()
}

func (r *reducer) adopted(_ orchestrator.Effect, res orchestrator.Result) {
	switch {
	case len(res.Conflicts) > 0:
		r.event(orchestrator.MergeConflictRecord{ID: "", Paths: res.Conflicts, Task: ""})
	case res.Commit != "":
		r.s.Integrated = orchestrator.Integrated{Commit: res.Commit, Tree: res.Tree}
	}
	r.launchOwed()
}

// adopting reports whether the base of a change round is still being made.
func (r *reducer) adopting() bool {
	return len(r.pending(func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffAdopt })) > 0
}

// moveAside renames files that an earlier visit consumed or left.
func (r *reducer) moveAside(paths ...string) {
	r.effect(orchestrator.EffMoveAside, paths[0]+"@"+strconv.Itoa(r.s.Visit), orchestrator.Args{Paths: paths, Visit: r.s.Visit})
}

// accept records an artifact that was taken.
func (r *reducer) accept(a *orchestrator.Artifact, role string) {
	r.event(orchestrator.ArtifactAcceptedRecord{
		Artifact: path.Base(a.Path), Path: a.Path, SHA256: a.SHA256, Role: role,
	})
	if phase, ok := r.phase(); ok {
		r.armPhase(phase)
	}
}
