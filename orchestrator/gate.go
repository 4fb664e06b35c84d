package orchestrator

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/workflows"
)

// openGate waits for a person. No agent runs meanwhile; research that was asked for
// goes on when the gate is closed. Files of an earlier gate answer nothing.
func (r *reducer) openGate(name string) {
	for _, key := range slices.Sorted(maps.Keys(r.s.Agents)) {
		r.stop(key)
	}
	if name == GatePlan {
		r.moveAside(r.gateFiles()...)
	}
	r.s.Gate = &Gate{Name: name, OpenedAt: r.now}
	r.event(EvGateOpened, map[string]any{"gate": name})
	if !r.s.Interactive {
		r.deadline("gate", r.s.Settings.LimitHumanWait)
	}
}

// gateDigest names what the open gate is about: the plan, or the tree of the result.
func (r *reducer) gateDigest() string {
	if r.s.Gate.Name == GatePlan {
		return r.s.PlanSHA256
	}
	return r.s.Integrated.Tree
}

// shown reports whether a person who saw the digest of, or its beginning, saw what the gate
// is about now. One who names none means whatever is open.
func (r *reducer) shown(of string) bool {
	now := r.gateDigest()
	return of == "" || of == now || len(of) >= 7 && strings.HasPrefix(now, strings.ToLower(of))
}

func (r *reducer) gateFiles() []string {
	dir := dirOf(r.def, workflows.KindComplete)
	return []string{path.Join(dir, "approval.json"), path.Join(dir, "changes.md")}
}

// closeGate closes an open gate.
func (r *reducer) closeGate(action, actor, source string) {
	g := r.s.Gate
	if g == nil {
		return
	}
	r.s.Gate = nil
	r.disarm("gate")
	r.event(EvGateClosed, map[string]any{"gate": g.Name, "action": action, "actor": actor, "source": source})
}

// approve answers an open gate.
func (r *reducer) approve(a Approval, actor, source string) {
	gate := r.s.Gate.Name
	r.closeGate("approve", actor, source)
	if gate == GatePlan {
		r.leavePlan()
		return
	}
	if a.By == "" {
		a.By = "user"
	}
	r.writeApproval(a)
	r.s.Completion.Approved = true
	r.beginCommit(a)
}

func (r *reducer) writeApproval(a Approval) {
	body, err := json.Marshal(struct {
		Action        string   `json:"action"`
		ExcludeFiles  []string `json:"exclude_files"`
		CommitMessage string   `json:"commit_message,omitempty"`
		By            string   `json:"by"`
	}{"approve", append([]string{}, a.ExcludeFiles...), a.CommitMessage, a.By})
	if err != nil {
		panic("orchestrator: an approval always marshals: " + err.Error())
	}
	file := path.Join(dirOf(r.def, workflows.KindComplete), "approval.json")
	r.effect(EffWriteFile, file, Args{Path: file, SHA256: r.blob(string(body) + "\n")}, r.fsPending()...)
}

func (r *reducer) takeApproval(_ workflows.Phase, o *Observation) {
	if o.Approval == nil || len(o.Problems) > 0 {
		r.event(EvInputRejected, map[string]any{"tool": "approval.json", "role": "", "errors": o.Problems})
		r.moveAside(path.Join(dirOf(r.def, workflows.KindComplete), "approval.json"))
		return
	}
	r.approve(*o.Approval, o.Approval.By, "file")
}

func (r *reducer) takeChanges(_ workflows.Phase, o *Observation) {
	if o.Approval == nil || strings.TrimSpace(o.Approval.Text) == "" {
		return
	}
	file := path.Join(dirOf(r.def, workflows.KindComplete), "changes.md")
	r.effect(EffRemoveFiles, file, Args{Paths: []string{file}, Visit: r.s.Visit})
	r.requestChanges(o.Approval.Text, "user", "file")
}

// requestChanges goes back to planning with what a person wants changed.
func (r *reducer) requestChanges(text, actor, source string) {
	r.closeGate("changes", actor, source)
	if r.s.ChangeRequest != "" {
		text = string(r.s.ChangeRequest) + "\n\n" + text
	}
	r.s.ChangeRequest = Optional(text)
	r.s.ChangeRound++
	r.s.Outcome, r.s.OutcomeReason, r.s.Paused = "", "", false
	r.last(LastChanges)
	plan, _ := r.def.Kind(workflows.KindPlan)
	r.leaveVisit()
	r.dropPlan()
	r.enter(plan.ID, LastChanges)
}
