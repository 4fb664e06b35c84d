package decide

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows"
)

// gate is where the session waits for a person's decision, and the files that may answer it.
type gate struct {
	*queue
	clock *clock
	crew  *crew
}

// open waits for a person. No agent runs meanwhile; research that was asked for
// continues when the gate is closed. Files of an earlier gate answer nothing.
func (g *gate) open(name string, why orchestrator.GateReason) {
	for _, key := range slices.Sorted(maps.Keys(g.s.Agents)) {
		g.crew.stop(key)
	}
	gate := &orchestrator.Gate{Name: name, OpenedAt: g.now, Reason: why}
	gate.Digest = duty.GateDigest(gate, g.s)
	g.s.Gate = gate
	g.clearAnswers(gate.OpenedAt)
	opened := orchestrator.GateOpenedRecord{Gate: name, Digest: gate.Digest, Reason: why}
	if name == orchestrator.GateCompletion {
		tree := g.s.Integrated.Tree // the state's own may change before this is written
		opened.Tree, opened.Held, opened.Findings = &tree, g.s.Completion.Asked, g.s.Completion.Findings
	}
	g.event(opened)
	if !g.s.Interactive {
		g.clock.arm("gate", g.s.Settings.LimitHumanWait)
	}
}

// clearAnswers moves the files aside that may answer a gate: those written before a time, or
// with the zero time whatever is there. What writes such a file goes first.
func (g *gate) clearAnswers(before orchestrator.Time) {
	files := []string{g.file(orchestrator.ApprovalFile), g.file(orchestrator.ChangesFile)}
	g.effect(orchestrator.EffMoveAside, files[0]+"@"+strconv.Itoa(g.s.Visit), orchestrator.Args{Paths: files, Visit: g.s.Visit, Before: before}, g.fsPending()...)
}

func (g *gate) file(name string) string {
	return path.Join(g.def.DirOf(workflows.KindComplete), name)
}

// close closes an open gate. Its answer goes with it: none counts for the next one.
func (g *gate) close(action string, by origin) {
	open := g.s.Gate
	if open == nil {
		return
	}
	g.s.Gate = nil
	g.clock.disarm("gate")
	g.clearAnswers(orchestrator.Time{})
	g.event(orchestrator.GateClosedRecord{
		Gate: open.Name, Digest: open.Digest, Action: action, Actor: by.actor, Source: by.source, Origin: by.from, PID: by.pid,
	})
}

func (g *gate) writeApproval(a orchestrator.Approval) {
	file := g.file(orchestrator.ApprovalFile)
	g.effect(orchestrator.EffWriteFile, file, orchestrator.Args{Path: file, SHA256: g.blob(duty.ApprovalText(a))}, g.fsPending()...)
}

// refuseAnswer records why a file answers nothing, and moves it out of the way of a better one.
func (g *gate) refuseAnswer(name string, problems []string) {
	g.event(orchestrator.InputRejectedRecord{Tool: name, Role: "", Errors: problems})
	file := g.file(name)
	g.effect(orchestrator.EffMoveAside, file+"@"+strconv.Itoa(g.s.Visit), orchestrator.Args{Paths: []string{file}, Visit: g.s.Visit}, g.fsPending()...)
}

// approveFault tells why an approval is not about the open gate. One that names no digest
// means the gate that was open when it was said; a line tells the second of that, and one that
// does not tell is older than any gate.
func (g *gate) approveFault(p orchestrator.Payload) string {
	if of := strings.TrimSpace(p.Args.Of); of != "" {
		return duty.ShownFault(g.s, of)
	}
	if l := g.in.Line; l == nil || l.At.Add(time.Second).Before(g.s.Gate.OpenedAt.Time) {
		return "it was said before the gate opened: look at what waits now, " + orchestrator.ShortDigest(g.s.GateDigest())
	}
	return ""
}

// origin tells where a word of a person came from.
type origin struct {
	actor  string
	source string // cli, monitor, issue, file, or what of the program decided
	from   string // the process or the file it came from, in words
	pid    int    // of that process, 0 if there was none
}

// originOf tells where a line of a person came from.
func originOf(p orchestrator.Payload) origin { return origin{p.Actor, p.Source, p.Origin, p.PID} }

// approve answers an open gate.
func (r *reducer) approve(a orchestrator.Approval, by origin, seen bool) {
	gate := *r.s.Gate
	a.By, a.Of = cmp.Or(a.By, "user"), r.s.GateDigest()
	r.gate.close("approve", by)
	switch {
	case gate.Name == orchestrator.GatePlan:
		r.leavePlan()
	case gate.Brought != 0:
		r.s.Completion = duty.Compared(r.s.Completion, a, seen)
		r.completion.nextStep()
	default:
		r.completion.approved(a)
	}
}

func (r *reducer) takeApproval(_ workflows.Phase, o *orchestrator.Observation) {
	problems := o.Problems
	if o.Approval == nil && len(problems) == 0 {
		problems = []string{"it could not be read"}
	}
	if len(problems) == 0 {
		problems = duty.AnswerFaults(r.s, o.Approval.Of, true, o.Written)
	}
	if len(problems) > 0 {
		r.gate.refuseAnswer(orchestrator.ApprovalFile, problems)
		return
	}
	by := cmp.Or(o.Approval.By, "user")
	r.approve(*o.Approval, origin{actor: by, source: orchestrator.SourceFile, from: o.Origin}, false) // the file may have come along
}

func (r *reducer) takeChanges(_ workflows.Phase, o *orchestrator.Observation) {
	problems := o.Problems
	if len(problems) == 0 {
		if o.Approval == nil || strings.TrimSpace(o.Approval.Text) == "" {
			return
		}
		problems = duty.AnswerFaults(r.s, o.Approval.Of, false, o.Written)
	}
	if len(problems) > 0 {
		r.gate.refuseAnswer(orchestrator.ChangesFile, problems)
		return
	}
	file := r.gate.file(orchestrator.ChangesFile)
	r.effect(orchestrator.EffRemoveFiles, file, orchestrator.Args{Paths: []string{file}, Visit: r.s.Visit})
	r.requestChanges(o.Approval.Text, origin{actor: "user", source: orchestrator.SourceFile, from: o.Origin})
}

// requestChanges returns to planning with what a person wants changed.
func (r *reducer) requestChanges(text string, by origin) {
	r.gate.close("changes", by)
	wanted := text
	if r.s.ChangeRequest != "" {
		text = string(r.s.ChangeRequest) + "\n\n" + text
	}
	r.s.ChangeRequest = orchestrator.Optional(text)
	r.s.ChangeRound++
	r.s.Outcome, r.s.OutcomeReason, r.s.Paused = "", "", false
	asked := lastRecord(orchestrator.LastChanges)
	asked.Text, asked.Actor = wanted, &by.actor
	r.s.LastEvent = asked.Event
	r.event(asked)
	plan, _ := r.def.Kind(workflows.KindPlan)
	r.leaveVisit()
	r.plan.drop()
	r.enter(plan.ID, orchestrator.LastChanges)
}
