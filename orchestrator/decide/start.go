package decide

import (
	"cmp"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/ending"
	"github.com/agentmux/agentmux/orchestrator/decide/pause"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/move"
	"github.com/agentmux/agentmux/orchestrator/upgrade"
	"github.com/agentmux/agentmux/workflows"
)

// start handles a host that took the session. One of the earlier tool is always
// taken as a resume: its host is gone for good.
func (r *reducer) start() {
	if base := r.in.Start.Base; base != "" && base != r.s.BaseBranch {
		r.s.BaseBranch, r.changed = base, true
	}
	switch {
	case r.s.IsClassic():
		r.startClassic()
	case r.s.Unbegun():
		r.begin("start")
	case r.in.Start.Mode == orchestrator.StartResume:
		r.resume()
	case r.in.Start.Mode == orchestrator.StartMoved:
		start := *r.in.Start
		for i := range r.s.Questions { // a dialog is on a screen of that machine
			if q := &r.s.Questions[i]; q.Open() && q.Kind == orchestrator.KindDialog {
				r.questions.withdraw(q)
			}
		}
		start.Lost = move.Here(r.s, start.Moved, duty.IsView)
		r.in.Start = &start
		r.dropPending(move.Void)
		r.changed = true
		if !r.s.Ended() || start.Settings != nil { // else it only finishes what its end left to do
			r.resume()
		} else if r.s.Phase != orchestrator.PhaseDone {
			r.plan.loseWorkspaces(start.Lost)
		}
	}
}

func (r *reducer) startClassic() {
	from, c := r.s.Phase, cmp.Or(r.in.Start.Classic, &orchestrator.ClassicDir{SessionID: r.s.SessionID})
	made := upgrade.Classic(r.def, r.s, c, duty.ReviewRoles(r.def, r.s), r.now)
	for _, id := range made.Markers {
		r.effect(orchestrator.EffRemoveFiles, r.marker(id), orchestrator.Args{Paths: []string{r.marker(id)}, Visit: r.s.Visit})
	}
	for _, file := range made.Reviews {
		r.moveAside(file)
	}
	r.changed = true
	r.s.Refresh(r.in.Start.Settings)
	if r.s.Phase != orchestrator.PhaseDone {
		r.resumeRun(from, made.Inferred)
		r.requestStarted()
	}
}

// requestStarted asks for the changes that the start names.
func (r *reducer) requestStarted() {
	if r.in.Start.Changes != "" {
		r.requestChanges(r.in.Start.Changes, origin{actor: "user", source: "cli", from: "agentmux resume --changes"})
	}
}

// resume continues a session that was interrupted, parked or left by its host.
func (r *reducer) resume() {
	if r.s.Phase != orchestrator.PhaseDone || r.in.Start.Changes != "" {
		r.s.Refresh(r.in.Start.Settings)
	}
	switch {
	case r.in.Start.Changes != "" && (r.s.Parked() || r.pullOpen() || r.s.Gate != nil && !r.s.Ended()):
		r.recordResumed(r.s.Phase, false)
		r.plan.loseWorkspaces(r.in.Start.Lost)
		r.requestStarted()
	case r.s.Phase == orchestrator.PhaseDone: // nothing is owed but what is pending
	default:
		r.resumeRun(r.s.Phase, false)
		r.requestStarted()
	}
}

// pullOpen reports whether a finished session has a pull request, which was open when the start was made.
func (r *reducer) pullOpen() bool {
	return r.s.Phase == orchestrator.PhaseDone && r.s.Completion.PRNumber > 0
}

// resumeRun clears what interrupted the session and issues again what the phase
// owes, but for agents: unread lines come first.
func (r *reducer) resumeRun(from string, inferred bool) {
	reason := string(r.s.OutcomeReason)
	if r.s.Phase == orchestrator.PhaseFailed {
		r.s.Phase = string(r.s.InterruptedPhase)
	}
	r.s.Refresh(r.in.Settings)
	r.recordResumed(from, inferred)
	r.s.Category, r.s.Cause, r.s.ResumeCommand, r.s.LogPath = "", "", "", ""
	r.s.Outcome, r.s.OutcomeReason = "", ""
	pause.Restart(r.s, r.in.Start, r.now)
	r.s.Seen = map[string]string{}
	for key, a := range r.s.Agents {
		a.Retries, a.Provider, a.LimitedSince = 0, "", orchestrator.Time{}
		r.s.Agents[key] = a
	}
	if start := r.in.Start; start != nil {
		r.plan.loseWorkspaces(start.Lost)
	}
	r.clock.rearm()
	r.mail.Rearm()
	r.reissue(reason)
}

func (r *reducer) recordResumed(from string, inferred bool) {
	r.s.ResumeCount++
	r.s.LastEvent = orchestrator.LastResumed
	if start := r.in.Start; start != nil && start.Moved != nil {
		m := start.Moved
		r.event(orchestrator.MovedRecord{FromHost: m.Host, Checkpoint: m.Checkpoint, Age: int(m.Age.D().Seconds()), LeftOut: m.LeftOut, Paused: r.s.Paused})
		return
	}
	r.event(orchestrator.ResumedRecord{From: from, To: r.s.Phase, Count: r.s.ResumeCount, Inferred: inferred})
}

// reissue asks again for what the end of the session dropped.
func (r *reducer) reissue(reason string) {
	phase, ok := r.phase()
	if !ok {
		return
	}
	switch phase.Kind {
	case workflows.KindPlan:
		newest := r.s.Agents[orchestrator.AgentKey(phase.Role)].LastLaunch
		if r.s.Completion.Pushed && !newest.Of(r.s.Visit) && !r.adopting() && r.s.Gate == nil {
			r.plan.enter(phase)
		}
	case workflows.KindImplement:
		r.plan.reissueIntegrate(phase)
	case workflows.KindFix:
		if r.s.SubplanStatus[orchestrator.FixTask] == orchestrator.SubplanSubmitted {
			r.plan.integrateAgain(r.plan.submitter(phase, orchestrator.FixTask), orchestrator.FixTask)
		}
		r.proceed()
	case workflows.KindReview:
		r.reviews.reopen()
	case workflows.KindComplete:
		r.completion.reissue(reason)
	}
}

// owed is the second half of a resume: agents that owe a submission and have no
// live launch are started, which does not count as a retry, and messages go out again.
func (r *reducer) owed() {
	live := []orchestrator.Launch{}
	if r.in.Start != nil {
		live = append(live, r.in.Start.Live...)
		r.keepWaiting(r.in.Start.Exited)
	}
	r.goOnWith(live, true)
}

// keepWaiting marks the agents that ended, while the session had no host, because they
// could not go on without an answer: starting them now would not give them one.
func (r *reducer) keepWaiting(exited []orchestrator.AgentReport) {
	for _, rep := range exited {
		current := rep.Launch != "" && r.s.Agents[rep.Key].Launch == rep.Launch
		if current && ending.Clean(&rep) && r.crew.waitsFor(rep.Key) != "" && !r.s.Ended() {
			r.agentGone(&rep)
		}
	}
}

// goOnWith takes up the work of a session that runs again. live lists the launches
// that are alive; nil means that every current launch counts as alive. A person who
// resumed the session has answered what was to become of a lost agent.
func (r *reducer) goOnWith(live []orchestrator.Launch, resumed bool) {
	if r.s.Ended() || r.s.Paused {
		return
	}
	visit := r.s.Visit
	r.proceed()
	if r.s.Visit != visit {
		return
	}
	for _, o := range duty.Owed(r.def, r.s) {
		key := o.Key()
		r.crew.noLongerWaits(key)
		a := r.s.Agents[key]
		switch {
		case a.Waiting != "", !resumed && duty.HostQuestion(r.s, key) != nil:
		case a.Launch == "" && !r.clock.comesBack(key), live != nil && a.Launch != "" && !slices.Contains(live, a.Launch) && !r.starting(a.Launch):
			r.crew.launch(o, true)
		default:
			r.mail.DeliverQueued(key)
		}
	}
}
