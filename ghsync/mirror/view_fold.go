package mirror

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// data reads the loosely typed data of a record. What is missing or of another type is zero.
type data map[string]any

func (d data) text(key string) string { s, _ := d[key].(string); return s }

func (d data) number(key string) int {
	switch n := d[key].(type) {
	case float64:
		return int(n)
	case int:
		return n
	}
	return 0
}

func (d data) flag(key string) bool { b, _ := d[key].(bool); return b }

func (d data) list(key string) []string {
	switch l := d[key].(type) {
	case []string:
		return l
	case []any:
		var out []string
		for _, v := range l {
			if s, ok := v.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// fold takes in one record. Records it does not know change nothing but seq.
func (v *view) fold(e orchestrator.Event) {
	v.seq = e.Seq
	v.counted.Fold(e)
	v.strays.Fold(e)
	if f := folds()[e.Type]; f != nil {
		f(v, e, data(e.Data))
	}
}

type foldFunc func(*view, orchestrator.Event, data)

func folds() map[string]foldFunc {
	return map[string]foldFunc{
		orchestrator.EvSessionCreated:   (*view).created,
		orchestrator.EvResumed:          (*view).resumed,
		orchestrator.EvEvent:            (*view).lastEvent,
		orchestrator.EvPhaseEntered:     (*view).entered,
		orchestrator.EvPhaseLeft:        (*view).left,
		orchestrator.EvAgentStarted:     (*view).agentStarted,
		orchestrator.EvArtifactAccepted: (*view).accepted,
		orchestrator.EvSchedule:         (*view).scheduled,
		orchestrator.EvSubplanDone:      (*view).subplanDone,
		orchestrator.EvReviewStarted:    (*view).reviewStarted,
		orchestrator.EvVerdict:          (*view).verdictGiven,
		orchestrator.EvFixRound:         (*view).fixRound,
		orchestrator.EvReviewExhausted:  (*view).reviewExhausted,
		orchestrator.EvGateOpened:       (*view).gateOpened,
		orchestrator.EvGateClosed:       (*view).gateClosed,
		orchestrator.EvQuestionAsked:    (*view).questionAsked,
		orchestrator.EvQuestionAnswered: (*view).questionAnswered,
		orchestrator.EvCommandApplied:   (*view).commandApplied,
		orchestrator.EvCommandRefused:   (*view).commandRefused,
		orchestrator.EvMsgQueued:        (*view).messageQueued,
		orchestrator.EvMsgDelivered:     (*view).messageDelivered,
		orchestrator.EvMsgFailed:        (*view).messageLost,
		orchestrator.EvMsgOrphaned:      (*view).messageLost,
		orchestrator.EvPaused:           func(v *view, _ orchestrator.Event, _ data) { v.paused = true },
		orchestrator.EvUnpaused:         func(v *view, _ orchestrator.Event, _ data) { v.paused = false },
		orchestrator.EvCommitCreated:    func(v *view, _ orchestrator.Event, d data) { v.commit = d.text("sha") },
		orchestrator.EvBranchPushed:     (*view).branchPushed,
		orchestrator.EvPROpened:         (*view).prOpened,
		orchestrator.EvNeedsHuman:       (*view).needsHuman,
		orchestrator.EvDone:             (*view).finished,
		orchestrator.EvFailed:           (*view).failed,
		orchestrator.EvCanceled:         (*view).canceled,
	}
}

func (v *view) created(e orchestrator.Event, d data) {
	v.session, v.work = d.text("session_id"), d.text("workflow")
	v.mark = orchestrator.PublicID(v.session, d.text("identity"))
	v.repo, v.issue, v.branch = d.text("repo"), d.number("issue"), d.text("branch")
	v.config, v.started = d.text("config_source"), e.TS.Time
}

func (v *view) resumed(_ orchestrator.Event, d data) {
	v.restart()
	v.current = d.text("to")
	if row := v.row(); row != nil && row.phase == v.current {
		row.left = false
	}
}

// restart forgets the last end.
func (v *view) restart() {
	v.outcome, v.reason, v.next, v.actor, v.byPerson = "", "", "", "", false
	v.ended, v.paused = time.Time{}, false
}

func (v *view) entered(e orchestrator.Event, d data) {
	v.restart()
	v.current = d.text("phase")
	row := visit{number: e.Visit, phase: v.current, kind: d.text("kind"), began: e.TS.Time}
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

func (v *view) left(_ orchestrator.Event, _ data) {
	if row := v.row(); row != nil {
		row.left = true
		row.plans = v.plansOf(row)
	}
}

// agentStarted notes who works in a phase of one agent. The record of one that was quicker
// than its start belongs to an earlier phase.
func (v *view) agentStarted(e orchestrator.Event, d data) {
	row := v.row()
	if row == nil || row.number != e.Visit || row.kind == "review" || row.left {
		return
	}
	if visit, _, _, _, known := orchestrator.LaunchParts(d.text("launch")); known && visit != e.Visit {
		return
	}
	row.agents = d.text("role")
	if p := d.text("provider"); p != "" {
		row.agents += " (" + p + ")"
	}
}

func (v *view) accepted(_ orchestrator.Event, d data) {
	if d.text("artifact") == "plan.yaml" {
		v.plan = d.text("sha256")
	}
	v.shas[d.text("role")] = d.text("sha256")
}

func (v *view) scheduled(_ orchestrator.Event, d data) {
	v.subplans, v.done, v.fixes, v.exhausted = d.number("subplans"), map[string]bool{}, 0, false
}

func (v *view) subplanDone(_ orchestrator.Event, d data) { v.done[d.text("id")] = true }

func (v *view) reviewStarted(_ orchestrator.Event, d data) {
	v.tree = d.text("tree")
	iteration := d.number("iteration")
	r := v.round()
	if r == nil || r.decided || r.iteration != iteration {
		r = &round{iteration: iteration, number: v.counted.Of(iteration), verdicts: map[string]verdict{}}
		v.rounds = append(v.rounds, r)
	}
	r.tree = v.tree
	for _, role := range d.list("roles") {
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

func (v *view) verdictGiven(_ orchestrator.Event, d data) {
	r := v.round()
	if r == nil {
		return
	}
	role := d.text("role")
	r.verdicts[role] = verdict{
		role: role, verdict: d.text("verdict"), sha: v.shas[role], path: d.text("path"), findings: d.number("findings"),
	}
}

func (v *view) lastEvent(e orchestrator.Event, d data) {
	r := v.round()
	switch d.text("event") {
	case orchestrator.LastChanges:
		if text := d.text("text"); text != "" {
			v.changes = append(v.changes, changeRequest{e.TS.Time, d.text("actor"), text})
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

func (v *view) fixRound(_ orchestrator.Event, d data) {
	v.fixes, v.cap = d.number("iteration"), d.number("cap")
}

func (v *view) reviewExhausted(_ orchestrator.Event, d data) {
	v.exhausted, v.cap = true, d.number("cap")
}

func (v *view) gateOpened(e orchestrator.Event, d data) {
	v.gateSeq = e.Seq
	v.gate, v.digest, v.opened = d.text("gate"), d.text("digest"), orchestrator.GateReason(d.text("reason"))
	v.findings = d.list("findings")
}

func (v *view) gateClosed(e orchestrator.Event, _ data) {
	v.gate, v.digest, v.opened, v.findings = "", "", "", nil
	decided := story.Decided(e)
	v.decisions = append(v.decisions, decided)
	if v.gateSeq > 0 {
		v.closed = append(v.closed, closedAsk{seq: v.gateSeq, gate: &decided, at: e.TS.Time})
	}
}

func (v *view) questionAsked(e orchestrator.Event, d data) {
	v.questions = append(v.questions, question{
		seq: e.Seq, id: d.text("id"), role: orchestrator.AgentKey(d.text("role"), d.text("task")), text: d.text("text"), options: d.list("options"), open: true,
	})
}

func (v *view) questionAnswered(e orchestrator.Event, d data) {
	for i := range v.questions {
		if v.questions[i].id == d.text("id") && v.questions[i].open {
			v.questions[i].open = false
			v.closed = append(v.closed, closedAsk{
				seq: v.questions[i].seq, question: v.questions[i], at: e.TS.Time, who: d.text("actor"), late: d.flag("timeout"),
				withdrawn: d.text("source") == decide.SourceWithdrawn,
			})
		}
	}
}

func (v *view) commandApplied(e orchestrator.Event, d data) {
	name := d.text("name")
	v.commands = append(v.commands, command{
		at: e.TS.Time, who: d.text("actor"), text: name, result: "✅ applied", expectsMessage: name == "say",
	})
}

func (v *view) commandRefused(e orchestrator.Event, d data) {
	v.commands = append(v.commands, command{at: e.TS.Time, who: d.text("actor"), text: d.text("name"), result: "❌ " + d.text("reason")})
}

// messageQueued belongs to the say of the same commit.
func (v *view) messageQueued(_ orchestrator.Event, d data) {
	n := len(v.commands)
	if n == 0 || !v.commands[n-1].expectsMessage {
		return
	}
	c := &v.commands[n-1]
	c.expectsMessage, c.message = false, d.number("seq")
	c.text += " " + strings.TrimPrefix(d.text("to"), "pipeline/")
	c.result = "queued"
}

func (v *view) messageDelivered(e orchestrator.Event, d data) {
	if c := v.commandOf(d.number("seq")); c != nil {
		c.result = "✅ delivered " + clock(e.TS.Time, v.started)
	}
}

func (v *view) messageLost(_ orchestrator.Event, d data) {
	if c := v.commandOf(d.number("seq")); c != nil {
		c.result = "❌ not delivered: " + d.text("reason")
	}
}

func (v *view) commandOf(message int) *command {
	for i := range v.commands {
		if message != 0 && v.commands[i].message == message {
			return &v.commands[i]
		}
	}
	return nil
}

func (v *view) branchPushed(_ orchestrator.Event, d data) {
	v.branch = cmp.Or(d.text("branch"), v.branch)
	v.commit, v.pushed = cmp.Or(d.text("sha"), v.commit), d.text("skipped") == ""
	if v.pushed {
		v.head = v.commit
	}
}

func (v *view) prOpened(_ orchestrator.Event, d data) {
	v.prNumber, v.prURL, v.prDraft = d.number("number"), d.text("url"), d.flag("draft")
}

func (v *view) end(e orchestrator.Event, outcome string) {
	v.outcome, v.ended = outcome, e.TS.Time
	v.seconds = int(e.TS.Sub(v.started).Seconds())
}

func (v *view) needsHuman(e orchestrator.Event, d data) {
	v.end(e, orchestrator.OutcomeNeedsHuman)
	v.reason, v.next = d.text("text"), d.text("next")
	v.reason = cmp.Or(v.reason, d.text("reason"))
}

func (v *view) finished(e orchestrator.Event, d data) {
	v.end(e, cmp.Or(d.text("outcome"), orchestrator.OutcomeDone))
	v.commit, v.prURL = cmp.Or(d.text("commit"), v.commit), cmp.Or(d.text("pr_url"), v.prURL)
	v.seconds = d.number("seconds")
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

func (v *view) failed(e orchestrator.Event, d data) {
	v.end(e, orchestrator.OutcomeFailed)
	v.reason, v.next, v.current = d.text("cause"), d.text("next"), orchestrator.PhaseFailed
}

func (v *view) canceled(e orchestrator.Event, d data) {
	v.end(e, orchestrator.OutcomeCanceled)
	v.reason, v.actor, v.next, v.current = d.text("cause"), d.text("actor"), d.text("next"), orchestrator.PhaseFailed
	v.byPerson = v.actor != "signal"
}
