package decide

import (
	"maps"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// start handles a host that took the session. One of the earlier tool is always
// taken as a resume: its host is gone for good.
func (r *reducer) start() {
	switch {
	case r.s.IsClassic():
		r.startClassic()
	case r.s.PhaseEnteredAt.IsZero() && !r.s.Ended():
		r.begin("start")
	case r.in.Start.Mode == orchestrator.StartResume:
		r.resume()
	}
}

func (r *reducer) startClassic() {
	from := r.s.Phase
	c := r.in.Start.Classic
	if c == nil {
		c = &orchestrator.ClassicDir{SessionID: r.s.SessionID}
	}
	inferred := r.upgrade(c)
	if set := r.in.Start.Settings; set != nil {
		r.s.Settings = *set
	}
	if r.s.Phase != orchestrator.PhaseDone {
		r.resumeRun(from, inferred)
	}
}

// resume goes on with a session that was interrupted, parked or left by its host.
func (r *reducer) resume() {
	if set := r.in.Start.Settings; set != nil && (r.s.Phase != orchestrator.PhaseDone || r.in.Start.Changes != "") {
		r.s.Settings = *set
		r.changed = true
	}
	if base := r.in.Start.Base; base != "" && base != r.s.BaseBranch {
		r.s.BaseBranch, r.changed = base, true
	}
	switch changes := r.in.Start.Changes; {
	case changes != "" && (r.s.Parked() || r.pullOpen() || r.s.Gate != nil && !r.s.Ended()):
		r.recordResumed(r.s.Phase, false)
		r.loseWorkspaces(r.in.Start.Lost)
		r.requestChanges(changes, origin{actor: "user", source: "cli", from: "agentmux resume --changes"})
	case r.s.Phase == orchestrator.PhaseDone: // nothing is owed but what is pending
	default:
		r.resumeRun(r.s.Phase, false)
		if changes != "" {
			r.requestChanges(changes, origin{actor: "user", source: "cli", from: "agentmux resume --changes"})
		}
	}
}

// pullOpen reports whether a finished session has a pull request that changes can go to.
func (r *reducer) pullOpen() bool {
	return r.s.Phase == orchestrator.PhaseDone && (r.s.Completion.PRNumber > 0 || r.in.Start.PROpen)
}

// resumeRun clears what interrupted the session and issues again what the phase
// owes, but for agents: unread lines come first.
func (r *reducer) resumeRun(from string, inferred bool) {
	reason := string(r.s.OutcomeReason)
	if r.s.Phase == orchestrator.PhaseFailed {
		r.s.Phase = string(r.s.InterruptedPhase)
	}
	r.recordResumed(from, inferred)
	r.s.Category, r.s.Cause, r.s.ResumeCommand, r.s.LogPath = "", "", "", ""
	r.s.Outcome, r.s.OutcomeReason, r.s.Paused = "", "", false
	r.s.Counters = map[string]orchestrator.Counter{}
	r.s.Seen = map[string]string{}
	for key, a := range r.s.Agents {
		a.Retries = 0
		r.s.Agents[key] = a
	}
	if start := r.in.Start; start != nil {
		r.loseWorkspaces(start.Lost)
	}
	r.rearm()
	r.reissue(reason)
}

func (r *reducer) recordResumed(from string, inferred bool) {
	r.s.ResumeCount++
	r.s.LastEvent = orchestrator.LastResumed
	r.event(orchestrator.ResumedRecord{From: from, To: r.s.Phase, Count: r.s.ResumeCount, Inferred: inferred})
}

// rearm starts every deadline anew.
func (r *reducer) rearm() {
	phase, ok := r.phase()
	if !ok {
		return
	}
	r.s.Deadlines, r.s.StillSince = map[string]orchestrator.Time{}, orchestrator.Time{}
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
	for _, m := range r.s.Messages {
		switch {
		case m.State == orchestrator.MessageDelivered:
			r.deadline(ackTimer(m.Seq), r.s.Settings.AckTimeout)
		case m.State == orchestrator.MessageQueued && !m.Deadline.IsZero():
			r.s.Deadlines[expiryTimer(m.Seq)] = m.Deadline
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
	case workflows.KindPlan:
		visit, _, _, _, _ := orchestrator.LaunchParts(string(r.s.Agents[phase.Role].LastLaunch))
		if r.s.Completion.Pushed && visit != r.s.Visit && !r.adopting() && r.s.Gate == nil {
			r.enterPlan(phase)
		}
	case workflows.KindImplement:
		r.reissueIntegrate(phase)
	case workflows.KindFix:
		if r.s.SubplanStatus[orchestrator.FixTask] == orchestrator.SubplanSubmitted {
			r.integrateAgain(OwedAgent{Role: phase.Role, Workspace: orchestrator.WorkspaceSession}, orchestrator.FixTask)
		}
		r.proceed()
	case workflows.KindReview:
		r.againReviewersSilently()
	case workflows.KindComplete:
		r.reissueCompletion(reason)
	}
}

func (r *reducer) reissueIntegrate(phase workflows.Phase) {
	for _, id := range slices.Sorted(maps.Keys(r.s.SubplanStatus)) {
		if r.s.SubplanStatus[id] == orchestrator.SubplanSubmitted {
			r.integrateAgain(r.submittedCoder(phase, id), id)
		}
	}
}

// submittedCoder returns the agent that submitted a subplan.
func (r *reducer) submittedCoder(phase workflows.Phase, id string) OwedAgent {
	o := OwedAgent{Role: phase.Role, Task: id, Workspace: orchestrator.WorkspaceSession}
	if r.s.GroupMode == "parallel" {
		o.Workspace = id
	}
	if len(r.s.Conflicts[id]) > 0 {
		o.Task, o.Workspace = resolveTask(id), resolveTask(id)
	}
	return o
}

func (r *reducer) integrateAgain(o OwedAgent, id string) {
	open := r.pending(func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffIntegrate && e.Args.Task == id })
	if len(open) == 0 {
		r.integrate(o, id)
	}
}

// againReviewersSilently gives reviewers that timed out another chance.
func (r *reducer) againReviewersSilently() {
	for role, status := range r.s.ActiveReviews {
		if status != orchestrator.ReviewCompleted {
			r.s.ActiveReviews[role] = orchestrator.ReviewPending
		}
	}
}

func (r *reducer) reissueCompletion(reason string) {
	c := &r.s.Completion
	attended := r.s.Interactive || r.in.Start != nil && r.in.Start.Attended
	if r.s.Gate == nil {
		c.Attended = attended
	}
	switch {
	case r.s.Gate != nil:
	case reason == orchestrator.ReasonReviewExhausted:
		r.openGate(orchestrator.GateCompletion, orchestrator.GateExhausted)
	case reason == orchestrator.ReasonNothingToCommit && attended:
		r.openGate(orchestrator.GateCompletion, orchestrator.GateNothing)
	case c.Next == "": // nothing was decided yet
		r.decideCompletion()
	default:
		c.Rescan = c.Rescan || reason == orchestrator.ReasonOutputGate
		r.nextStep()
	}
}

// owed is the second half of a resume: agents that owe a submission and have no
// live launch are started, which is no retry, and messages go out again.
func (r *reducer) owed() {
	live := []string{}
	if r.in.Start != nil {
		live = append(live, r.in.Start.Live...)
		r.keepWaiting(r.in.Start.Exited)
	}
	r.goOnWith(live, true)
}

// keepWaiting marks the agents that ended, while nobody hosted the session, because they
// could not go on without an answer: starting them now would not give them one.
func (r *reducer) keepWaiting(exited []orchestrator.AgentReport) {
	for _, rep := range exited {
		current := rep.Launch != "" && r.s.Agents[rep.Key].Launch == rep.Launch
		if current && cleanExit(&rep) && r.waitsFor(rep.Key) != "" && !r.s.Ended() {
			r.agentGone(&rep)
		}
	}
}

// goOnSoon has the work taken up when unread lines are applied: deadlines come last. A
// session that ended again at once has none.
func (r *reducer) goOnSoon() {
	if !r.s.Ended() {
		r.s.Deadlines["owed"] = r.now
	}
}

// goOnWith takes up the work of a session that runs again. live lists the launches
// that are alive; nil means that every current launch counts as such. A person who
// resumed the session has answered what was to become of a lost agent.
func (r *reducer) goOnWith(live []string, resumed bool) {
	if r.s.Ended() || r.s.Paused {
		return
	}
	visit := r.s.Visit
	r.proceed()
	if r.s.Visit != visit {
		return
	}
	for _, o := range Owed(r.def, r.s) {
		key := o.Key()
		r.noLongerWaits(key)
		a := r.s.Agents[key]
		switch {
		case a.Waiting != "", !resumed && hostQuestion(r.s, key) != nil:
		case a.Launch == "" && !r.comesBack(key), live != nil && a.Launch != "" && !slices.Contains(live, a.Launch) && !r.starting(a.Launch):
			r.launch(o, true)
		default:
			r.deliverQueued(key)
		}
	}
}

// noLongerWaits clears the mark of an agent for which all has come that it waited for: while
// the session was paused nobody was woken. A mark that stayed would keep its limits still.
func (r *reducer) noLongerWaits(key string) {
	a := r.s.Agents[key]
	if a.Waiting == "" || r.waitsFor(key) != "" {
		return
	}
	a.Waiting, a.Heard = "", r.now
	r.s.Agents[key] = a
	r.changed = true
}

// comesBack reports whether a lost agent is to be started again after a pause.
func (r *reducer) comesBack(key string) bool {
	_, armed := r.s.Deadlines["relaunch/"+key]
	return armed
}

func (r *reducer) starting(launch string) bool {
	return len(r.pending(func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffStartAgent && e.Args.Launch == launch
	})) > 0
}
