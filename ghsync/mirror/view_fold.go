package mirror

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// fold takes in one record. Records it does not know change nothing but seq.
func (v *view) fold(e orchestrator.Event) {
	v.seq = e.Seq
	v.counted.Fold(e)
	v.strays.Fold(e)
	v.commands.Fold(e)
	v.asks.Fold(e)
	if f := folds()[e.Type]; f != nil {
		f(v, e)
	}
}

type foldFunc func(*view, orchestrator.Event)

// on folds what a record of one type says.
func on[T orchestrator.Record](fold func(*view, orchestrator.Event, T)) foldFunc {
	return func(v *view, e orchestrator.Event) {
		d, _ := e.Data.(T)
		fold(v, e, d)
	}
}

func folds() map[string]foldFunc {
	return map[string]foldFunc{
		orchestrator.EvSessionCreated:   on((*view).created),
		orchestrator.EvResumed:          on((*view).resumed),
		orchestrator.EvEvent:            on((*view).lastEvent),
		orchestrator.EvPhaseEntered:     on((*view).entered),
		orchestrator.EvPhaseLeft:        on((*view).left),
		orchestrator.EvAgentStarted:     on((*view).agentStarted),
		orchestrator.EvArtifactAccepted: on((*view).accepted),
		orchestrator.EvSchedule:         on((*view).scheduled),
		orchestrator.EvSubplanDone:      on((*view).subplanDone),
		orchestrator.EvReviewStarted:    on((*view).reviewStarted),
		orchestrator.EvVerdict:          on((*view).verdictGiven),
		orchestrator.EvFixRound:         on((*view).fixRound),
		orchestrator.EvReviewExhausted:  on((*view).reviewExhausted),
		orchestrator.EvGateOpened:       on((*view).gateOpened),
		orchestrator.EvGateClosed:       on((*view).gateClosed),
		orchestrator.EvPaused:           func(v *view, _ orchestrator.Event) { v.paused = true },
		orchestrator.EvUnpaused:         func(v *view, _ orchestrator.Event) { v.paused = false },
		orchestrator.EvCommitCreated:    on(func(v *view, _ orchestrator.Event, d orchestrator.CommitCreatedRecord) { v.commit = d.SHA }),
		orchestrator.EvBranchPushed:     on((*view).branchPushed),
		orchestrator.EvPROpened:         on((*view).prOpened),
		orchestrator.EvNeedsHuman:       on((*view).needsHuman),
		orchestrator.EvDone:             on((*view).finished),
		orchestrator.EvFailed:           on((*view).failed),
		orchestrator.EvCanceled:         on((*view).canceled),
	}
}

func (v *view) created(e orchestrator.Event, d orchestrator.SessionCreatedRecord) {
	v.session, v.work = d.SessionID, d.Workflow
	v.mark = orchestrator.PublicID(v.session, d.Identity)
	v.repo, v.issue, v.branch = string(d.Repo), d.Issue, d.Branch
	v.config, v.started = d.ConfigSource, e.TS.Time
}

func (v *view) resumed(_ orchestrator.Event, d orchestrator.ResumedRecord) {
	v.restart()
	v.current = d.To
	if row := v.row(); row != nil && row.phase == v.current {
		row.left = false
	}
}

// restart forgets the last end.
func (v *view) restart() {
	v.outcome, v.reason, v.next, v.actor, v.byPerson = "", "", "", "", false
	v.ended, v.paused = time.Time{}, false
}

func (v *view) entered(e orchestrator.Event, d orchestrator.PhaseEnteredRecord) {
	v.restart()
	v.current = d.Phase
	row := visit{number: e.Visit, phase: v.current, kind: d.Kind, began: e.TS.Time}
	switch row.kind {
	case "review":
		row.round = v.counted.Of(v.fixes)
	case "fix":
		row.round = v.fixes
	case "implement":
		v.done = map[string]bool{}
	}
	if n := len(v.visits); n > 0 {
		v.visits[n-1].left = true
		if v.visits[n-1].number == e.Visit { // begun again, not entered again
			row.began = v.visits[n-1].began
			v.visits = v.visits[:n-1]
		}
	}
	v.visits = append(v.visits, row)
}

func (v *view) left(_ orchestrator.Event, _ orchestrator.PhaseLeftRecord) {
	if row := v.row(); row != nil {
		row.left = true
		row.plans = v.plansOf(row)
	}
}

// agentStarted notes who works in a phase of one agent. The record of one that was quicker
// than its start belongs to an earlier phase.
func (v *view) agentStarted(e orchestrator.Event, d orchestrator.AgentStartedRecord) {
	row := v.row()
	if row == nil || row.number != e.Visit || row.kind == "review" || row.left {
		return
	}
	if visit, _, _, _, known := orchestrator.LaunchParts(d.Launch); known && visit != e.Visit {
		return
	}
	row.agents = d.Role
	if p := d.Provider; p != "" {
		row.agents += " (" + p + ")"
	}
}

func (v *view) accepted(_ orchestrator.Event, d orchestrator.ArtifactAcceptedRecord) {
	if d.Artifact == "plan.yaml" {
		v.plan = d.SHA256
	}
	v.shas[d.Role] = d.SHA256
}

func (v *view) scheduled(_ orchestrator.Event, d orchestrator.ScheduleRecord) {
	v.subplans, v.done, v.fixes, v.exhausted = d.Subplans, map[string]bool{}, 0, false
}

func (v *view) subplanDone(_ orchestrator.Event, d orchestrator.SubplanDoneRecord) {
	v.done[d.ID] = true
}

func (v *view) reviewStarted(_ orchestrator.Event, d orchestrator.ReviewStartedRecord) {
	v.tree = d.Tree
	iteration := d.Iteration
	r := v.round()
	if r == nil || r.decided || r.iteration != iteration {
		r = &round{iteration: iteration, number: v.counted.Of(iteration), verdicts: map[string]verdict{}}
		v.rounds = append(v.rounds, r)
	}
	r.tree = v.tree
	for _, role := range d.Roles {
		if !slices.Contains(r.roles, role) {
			r.roles = append(r.roles, role)
		}
		delete(r.verdicts, role)
	}
}

// round is the review round that began last.
func (v *view) round() *round {
	if len(v.rounds) == 0 {
		return nil
	}
	return v.rounds[len(v.rounds)-1]
}

func (v *view) verdictGiven(_ orchestrator.Event, d orchestrator.VerdictRecord) {
	r := v.round()
	if r == nil {
		return
	}
	role := d.Role
	r.verdicts[role] = verdict{
		role: role, verdict: d.Verdict, sha: v.shas[role], path: d.Path, findings: d.Findings,
	}
}

func (v *view) lastEvent(e orchestrator.Event, d orchestrator.EventRecord) {
	r := v.round()
	switch d.Event {
	case orchestrator.LastChanges:
		if text := d.Text; text != "" {
			by := ""
			if d.Actor != nil {
				by = *d.Actor
			}
			v.changes = append(v.changes, changeRequest{e.TS.Time, by, text})
		}
		v.fixes = 0 // the next review begins a count of its own
	case orchestrator.LastReviewPassed:
		if r != nil {
			r.decided, r.passed = true, true
		}
	case orchestrator.LastReviewFailed:
		if r != nil {
			r.decided = true
		}
	}
}

func (v *view) fixRound(_ orchestrator.Event, d orchestrator.FixRoundRecord) {
	v.fixes, v.cap = d.Iteration, d.Cap
}

func (v *view) reviewExhausted(_ orchestrator.Event, d orchestrator.ReviewExhaustedRecord) {
	v.exhausted, v.cap = true, d.Cap
}

func (v *view) gateOpened(_ orchestrator.Event, d orchestrator.GateOpenedRecord) {
	v.gate, v.digest, v.opened = d.Gate, d.Digest, d.Reason
	v.findings = d.Findings
}

func (v *view) gateClosed(e orchestrator.Event, d orchestrator.GateClosedRecord) {
	v.gate, v.digest, v.opened, v.findings = "", "", "", nil
	v.decisions = append(v.decisions, story.Decided(d, e.TS))
}

func (v *view) branchPushed(_ orchestrator.Event, d orchestrator.BranchPushedRecord) {
	v.branch = cmp.Or(d.Branch, v.branch)
	v.commit, v.pushed = cmp.Or(d.SHA, v.commit), d.Skipped == ""
	if v.pushed {
		v.head = v.commit
	}
}

func (v *view) prOpened(_ orchestrator.Event, d orchestrator.PROpenedRecord) {
	v.prNumber, v.prURL, v.prDraft = d.Number, d.URL, d.Draft
}

func (v *view) end(e orchestrator.Event, outcome string) {
	v.outcome, v.ended = outcome, e.TS.Time
	v.seconds = int(e.TS.Sub(v.started).Seconds())
}

func (v *view) needsHuman(e orchestrator.Event, d orchestrator.NeedsHumanRecord) {
	v.end(e, orchestrator.OutcomeNeedsHuman)
	v.reason, v.next = d.Text, d.Next
	v.reason = cmp.Or(v.reason, d.Reason)
}

func (v *view) finished(e orchestrator.Event, d orchestrator.DoneRecord) {
	v.end(e, cmp.Or(d.Outcome, orchestrator.OutcomeDone))
	v.commit, v.prURL = cmp.Or(d.Commit, v.commit), cmp.Or(d.PRURL, v.prURL)
	v.seconds = d.Seconds
	v.current, v.gate = orchestrator.PhaseDone, ""
	if row := v.row(); row != nil {
		row.left = true
	}
	if v.outcome == orchestrator.OutcomeNeedsHuman {
		v.reason = "the last review failed and no fix round was left"
		v.next = "look at the open findings in the pull request; comment `/agentmux changes TEXT` to go on"
		if v.deaf {
			v.next = "look at the open findings in the pull request; `agentmux resume " + v.session + " --changes TEXT` goes on"
		}
	}
}

func (v *view) failed(e orchestrator.Event, d orchestrator.FailedRecord) {
	v.end(e, orchestrator.OutcomeFailed)
	v.reason, v.next, v.current = d.Cause, d.Next, orchestrator.PhaseFailed
}

func (v *view) canceled(e orchestrator.Event, d orchestrator.CanceledRecord) {
	v.end(e, orchestrator.OutcomeCanceled)
	v.reason, v.actor, v.next, v.current = d.Cause, d.Actor, d.Next, orchestrator.PhaseFailed
	v.byPerson = v.actor != "signal"
}
