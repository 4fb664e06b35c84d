package decide

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// openGate waits for a person. No agent runs meanwhile; research that was asked for
// continues when the gate is closed. Files of an earlier gate answer nothing.
func (r *reducer) openGate(name string, why orchestrator.GateReason) {
	for _, key := range slices.Sorted(maps.Keys(r.s.Agents)) {
		r.stop(key)
	}
	gate := &orchestrator.Gate{Name: name, OpenedAt: r.now, Reason: why}
	gate.Digest = gate.DigestIn(r.s)
	r.s.Gate = gate
	r.clearAnswers(gate.OpenedAt)
	opened := orchestrator.GateOpenedRecord{Gate: name, Digest: gate.Digest, Reason: why}
	if name == orchestrator.GateCompletion {
		tree := r.s.Integrated.Tree // the state's own may change before this is written
		opened.Tree = &tree
	}
	if why == orchestrator.GateBlocked {
		opened.Findings = r.s.Completion.Findings
	}
	r.event(opened)
	if !r.s.Interactive {
		r.deadline("gate", r.s.Settings.LimitHumanWait)
	}
}

// clearAnswers moves the files aside that may answer a gate: those written before a time, or
// with the zero time whatever is there. What writes such a file goes first.
func (r *reducer) clearAnswers(before orchestrator.Time) {
	files := r.gateFiles()
	r.effect(orchestrator.EffMoveAside, files[0]+"@"+strconv.Itoa(r.s.Visit), orchestrator.Args{Paths: files, Visit: r.s.Visit, Before: before}, r.fsPending()...)
}

func (r *reducer) gateFiles() []string {
	return []string{r.approvalFile(), path.Join(dirOf(r.def, workflows.KindComplete), ChangesFile)}
}

// The files that answer a gate, in the directory of the completion.
const (
	ApprovalFile = "approval.json"
	ChangesFile  = "changes.md"
)

func (r *reducer) approvalFile() string {
	return path.Join(dirOf(r.def, workflows.KindComplete), ApprovalFile)
}

// closeGate closes an open gate. Its answer goes with it: none counts for the next one.
func (r *reducer) closeGate(action string, by origin) {
	g := r.s.Gate
	if g == nil {
		return
	}
	r.s.Gate = nil
	r.disarm("gate")
	r.clearAnswers(orchestrator.Time{})
	r.event(orchestrator.GateClosedRecord{
		Gate: g.Name, Digest: g.Digest, Action: action, Actor: by.actor, Source: by.source, Origin: by.from, PID: by.pid,
	})
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
func (r *reducer) approve(a orchestrator.Approval, by origin) {
	gate, digest := r.s.Gate.Name, r.s.GateDigest()
	r.closeGate("approve", by)
	if gate == orchestrator.GatePlan {
		r.leavePlan()
		return
	}
	if a.By == "" {
		a.By = "user"
	}
	a.Of = digest
	r.writeApproval(a)
	r.s.Completion.Approved = true
	r.beginCommit(a)
}

func (r *reducer) writeApproval(a orchestrator.Approval) {
	body, err := json.Marshal(struct {
		Action        string   `json:"action"`
		ExcludeFiles  []string `json:"exclude_files"`
		CommitMessage string   `json:"commit_message,omitempty"`
		By            string   `json:"by"`
		Of            string   `json:"of,omitempty"`
	}{"approve", append([]string{}, a.ExcludeFiles...), a.CommitMessage, a.By, a.Of})
	if err != nil {
		panic("orchestrator: an approval always marshals: " + err.Error())
	}
	file := r.approvalFile()
	r.effect(orchestrator.EffWriteFile, file, orchestrator.Args{Path: file, SHA256: r.blob(string(body) + "\n")}, r.fsPending()...)
}

func (r *reducer) takeApproval(_ workflows.Phase, o *orchestrator.Observation) {
	problems := o.Problems
	if o.Approval == nil && len(problems) == 0 {
		problems = []string{"it could not be read"}
	}
	if len(problems) == 0 {
		problems = r.s.AnswerFaults(o.Approval.Of, true, o.Written)
	}
	if len(problems) > 0 {
		r.refuseAnswer(ApprovalFile, problems)
		return
	}
	by := o.Approval.By
	if by == "" {
		by = "user"
	}
	r.approve(*o.Approval, origin{actor: by, source: orchestrator.SourceFile, from: o.Origin})
}

// refuseAnswer records why a file answers nothing, and moves it out of the way of a better one.
func (r *reducer) refuseAnswer(name string, problems []string) {
	r.event(orchestrator.InputRejectedRecord{Tool: name, Role: "", Errors: problems})
	file := path.Join(dirOf(r.def, workflows.KindComplete), name)
	r.effect(orchestrator.EffMoveAside, file+"@"+strconv.Itoa(r.s.Visit), orchestrator.Args{Paths: []string{file}, Visit: r.s.Visit}, r.fsPending()...)
}

func (r *reducer) takeChanges(_ workflows.Phase, o *orchestrator.Observation) {
	problems := o.Problems
	if len(problems) == 0 {
		if o.Approval == nil || strings.TrimSpace(o.Approval.Text) == "" {
			return
		}
		problems = r.s.AnswerFaults(o.Approval.Of, false, o.Written)
	}
	if len(problems) > 0 {
		r.refuseAnswer(ChangesFile, problems)
		return
	}
	file := path.Join(dirOf(r.def, workflows.KindComplete), ChangesFile)
	r.effect(orchestrator.EffRemoveFiles, file, orchestrator.Args{Paths: []string{file}, Visit: r.s.Visit})
	r.requestChanges(o.Approval.Text, origin{actor: "user", source: orchestrator.SourceFile, from: o.Origin})
}

// requestChanges returns to planning with what a person wants changed.
func (r *reducer) requestChanges(text string, by origin) {
	r.closeGate("changes", by)
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
	r.dropPlan()
	r.enter(plan.ID, orchestrator.LastChanges)
}
