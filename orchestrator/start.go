package orchestrator

import (
	"maps"
	"slices"

	"github.com/agentmux/agentmux/workflows"
)

// start handles a host that took the session.
func (r *reducer) start() {
	switch {
	case r.s.PhaseEnteredAt.IsZero() && !r.s.Ended():
		r.begin("start")
	case r.in.Start.Mode == StartResume:
		r.resume()
	}
}

// resume goes on with a session that was interrupted, parked or left by its host.
func (r *reducer) resume() {
	if set := r.in.Start.Settings; set != nil {
		r.s.Settings = *set
		r.changed = true
	}
	from := r.s.Phase
	if r.in.Start.Changes != "" && (r.s.Parked() || r.s.Phase == PhaseDone) {
		r.recordResumed(from, false)
		r.requestChanges(r.in.Start.Changes, "user", "cli")
		return
	}
	if r.s.Phase == PhaseDone {
		return
	}
	r.resumeRun(from)
	if r.in.Start.Changes != "" {
		r.requestChanges(r.in.Start.Changes, "user", "cli")
	}
}

// resumeRun clears what interrupted the session and issues again what the phase
// owes, but for agents: unread lines come first.
func (r *reducer) resumeRun(from string) {
	if from == "" {
		from = r.s.Phase
	}
	reason := string(r.s.OutcomeReason)
	if r.s.Phase == PhaseFailed {
		r.s.Phase = string(r.s.InterruptedPhase)
	}
	r.recordResumed(from, false)
	r.s.Category, r.s.Cause, r.s.ResumeCommand, r.s.LogPath = "", "", "", ""
	r.s.Outcome, r.s.OutcomeReason, r.s.Paused = "", "", false
	r.s.Counters = map[string]Counter{}
	r.s.Seen = map[string]string{}
	for key, a := range r.s.Agents {
		a.Retries = 0
		r.s.Agents[key] = a
	}
	r.rearm()
	r.reissue(reason)
}

func (r *reducer) recordResumed(from string, inferred bool) {
	r.s.ResumeCount++
	r.s.LastEvent = LastResumed
	r.event(EvResumed, map[string]any{"from": from, "to": r.s.Phase, "count": r.s.ResumeCount, "inferred": inferred})
}

// rearm starts every deadline anew.
func (r *reducer) rearm() {
	phase, ok := r.phase()
	if !ok {
		return
	}
	r.s.Deadlines = map[string]Time{}
	r.deadline("total", r.s.Settings.LimitTotal)
	r.armPhase(phase)
	if r.s.Gate != nil && !r.s.Interactive {
		r.deadline("gate", r.s.Settings.LimitHumanWait)
	}
	for _, q := range r.s.Questions {
		if q.Open() && !r.s.Interactive {
			r.deadline(questionTimer(q.ID), r.s.Settings.LimitHumanWait)
		}
	}
	switch {
	case r.s.AwaitingSummary:
		r.deadline("summary", r.s.Settings.LimitSummary)
	case phase.Kind == workflows.KindReview:
		r.deadline("review", r.s.Settings.ReviewTimeout)
	}
}

// reissue asks again for what the end of the session dropped.
func (r *reducer) reissue(reason string) {
	phase, ok := r.phase()
	if !ok {
		return
	}
	switch phase.Kind {
	case workflows.KindImplement:
		r.reissueIntegrate(phase)
	case workflows.KindFix:
		if r.s.SubplanStatus[FixTask] == SubplanSubmitted {
			r.integrateAgain(OwedAgent{Role: phase.Role, Workspace: WorkspaceSession}, FixTask)
		}
	case workflows.KindReview:
		r.againReviewersSilently()
	case workflows.KindComplete:
		r.reissueCompletion(reason)
	}
}

func (r *reducer) reissueIntegrate(phase workflows.Phase) {
	for _, id := range slices.Sorted(maps.Keys(r.s.SubplanStatus)) {
		switch r.s.SubplanStatus[id] {
		case SubplanSubmitted:
			r.integrateAgain(r.submittedCoder(phase, id), id)
		case SubplanRunning:
			r.effect(EffRemoveFiles, r.marker(id), Args{Paths: []string{r.marker(id)}, Visit: r.s.Visit})
		}
	}
	if len(r.s.ActivePlanIDs) == 0 && r.s.GroupIndex > 0 {
		r.dispatch()
	}
}

// submittedCoder returns the agent that submitted a subplan.
func (r *reducer) submittedCoder(phase workflows.Phase, id string) OwedAgent {
	o := OwedAgent{Role: phase.Role, Task: id, Workspace: WorkspaceSession}
	if r.s.GroupMode == "parallel" {
		o.Workspace = id
	}
	if len(r.s.Conflicts[id]) > 0 {
		o.Task, o.Workspace = resolveTask(id), resolveTask(id)
	}
	return o
}

func (r *reducer) integrateAgain(o OwedAgent, id string) {
	open := r.pending(func(e Effect) bool { return e.Type == EffIntegrate && e.Args.Task == id })
	if len(open) == 0 {
		r.integrate(o, id)
	}
}

// againReviewersSilently gives reviewers that timed out another chance.
func (r *reducer) againReviewersSilently() {
	for role, status := range r.s.ActiveReviews {
		if status != ReviewCompleted {
			r.s.ActiveReviews[role] = ReviewPending
		}
	}
}

func (r *reducer) reissueCompletion(reason string) {
	switch {
	case r.s.Gate != nil:
	case reason == ReasonReviewExhausted:
		r.openGate(GateCompletion)
	case reason == ReasonNothingToCommit:
		r.count("nothing approved")
		r.openGate(GateCompletion)
	default:
		r.owedStep()
	}
}

// owed is the second half of a resume: agents that owe a submission and have no
// live launch are started. That is no retry.
func (r *reducer) owed() {
	var live []string
	if r.in.Start != nil {
		live = r.in.Start.Live
	}
	r.launchMissing(append([]string{}, live...))
}

// launchMissing starts every owed agent without a launch; with a list of live
// launches also those whose launch is not in it.
func (r *reducer) launchMissing(live []string) {
	if r.s.Ended() || r.s.Paused {
		return
	}
	for _, o := range Owed(r.def, r.s) {
		key := o.Key()
		a := r.s.Agents[key]
		if a.Waiting != "" && r.waitsFor(key) != "" {
			continue
		}
		starting := r.pending(func(e Effect) bool { return e.Type == EffStartAgent && e.Args.Launch == a.Launch })
		if a.Launch == "" || live != nil && !slices.Contains(live, a.Launch) && len(starting) == 0 {
			r.launch(o, true)
		}
	}
}
