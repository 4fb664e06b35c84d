package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// approval is an approval.json with everything in it that a careful person writes.
func (m *sim) approval() orchestrator.Observation {
	return orchestrator.Observation{
		What: orchestrator.ObserveApproval, Evidence: m.now.String(), Origin: "approval.json",
		Approval: &orchestrator.Approval{Of: m.s.GateDigest()}, Written: orchestrator.At(m.now),
	}
}

// blockedAt brings an attended session to the gate at which it is shown what the output gate found.
func blockedAt(t *testing.T, change func(*orchestrator.State)) (m *sim, first orchestrator.Observation) {
	t.Helper()
	m = newSim(t, "quick", change)
	m.result = func(e orchestrator.Effect) orchestrator.Result {
		if e.Type == orchestrator.EffCommit && !e.Args.Allowed {
			return orchestrator.Result{Findings: []string{"secret in a.go:3"}}
		}
		return orchestrator.Result{}
	}
	m.toEnd()
	if m.s.Gate != nil {
		first = m.approval()
		m.see(first)
	}
	m.parked(orchestrator.ReasonOutputGate)
	return m, first
}

func (m *sim) open(why orchestrator.GateReason) {
	m.t.Helper()
	if m.s.Gate == nil || m.s.Gate.Reason != why || m.s.GateDigest() == "" {
		m.t.Fatalf("gate %+v, want one because of %s", m.s.Gate, why)
	}
}

// What was approved before the output gate found something is not approved, whatever file of
// the first answer is seen again.
func TestSecurity19AnApprovalCountsForTheGateItWasGivenTo(t *testing.T) {
	m, first := blockedAt(t, interactive)
	m.resume("")
	m.open(orchestrator.GateBlocked)
	if first.Approval.Of == m.s.GateDigest() {
		t.Fatal("both gates have one digest")
	}
	now := orchestrator.At(m.now)
	old := func(change func(*orchestrator.Observation)) orchestrator.Observation {
		o := m.approval()
		change(&o)
		return o
	}
	for name, o := range map[string]orchestrator.Observation{
		"the first answer":                first,
		"the first answer, written again": old(func(o *orchestrator.Observation) { o.Approval.Of, o.Written = first.Approval.Of, now }),
		"of the program":                  old(func(o *orchestrator.Observation) { o.Approval.Of, o.Approval.By = "", "policy" }),
		"without a digest":                old(func(o *orchestrator.Observation) { o.Approval.Of = "" }),
		"too few digits":                  old(func(o *orchestrator.Observation) { o.Approval.Of = o.Approval.Of[:6] }),
		"another digest":                  old(func(o *orchestrator.Observation) { o.Approval.Of = strings.Repeat("0", 12) }),
		"older than the gate":             old(func(o *orchestrator.Observation) { o.Written = m.s.Gate.OpenedAt.Later(-time.Minute) }),
	} {
		before := m.count(orchestrator.EvInputRejected)
		o.Evidence = name
		m.see(o)
		if m.s.Gate == nil || m.count(orchestrator.EvInputRejected) != before+1 {
			t.Errorf("%s: gate %v, %d records", name, m.s.Gate, m.count(orchestrator.EvInputRejected)-before)
		}
	}
	m.see(m.approval())
	m.phase(orchestrator.PhaseDone)
	if got := m.last(orchestrator.EvGateClosed).Data.(orchestrator.GateClosedRecord); got.Source != "file" || got.Origin != "approval.json" {
		t.Errorf("closed by %v", got)
	}
}

// Whatever closes a gate takes its answers away, and the next one opens without any; what
// writes such a file goes first.
func TestSecurity19AnswersGoWithTheGate(t *testing.T) {
	files := []string{"08_completion/approval.json", "08_completion/changes.md"}
	aside := func(m *sim) (n int) {
		for _, e := range m.done {
			if e.Type == orchestrator.EffMoveAside && slices.Equal(e.Args.Paths, files) {
				n++
			}
		}
		return n
	}
	for name, answer := range map[string]func(*sim){
		"approve":      func(m *sim) { m.command("approve", nil) },
		"changes":      func(m *sim) { m.command("changes", map[string]any{"text": "more"}) },
		"approve.json": func(m *sim) { m.see(m.approval()) },
	} {
		for gate, settings := range map[string]func(*orchestrator.State){
			"plan":       func(s *orchestrator.State) { s.Settings.ApprovePlan = true },
			"completion": interactive,
		} {
			t.Run(name+" at the "+gate+" gate", func(t *testing.T) {
				m := newSim(t, "quick", settings)
				if gate == "plan" {
					m.planned("serial", 1)
				} else {
					m.toEnd()
				}
				before := aside(m)
				answer(m)
				if m.s.Gate != nil || aside(m) <= before {
					t.Errorf("gate %v, taken away %d times", m.s.Gate, aside(m)-before)
				}
			})
		}
	}
	t.Run("the file of the program is written before the next gate looks", func(t *testing.T) {
		m := newSim(t, "quick", interactive)
		m.result = completion(orchestrator.EffCommit, orchestrator.Result{Empty: true})
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffWriteFile }
		m.toEnd()
		m.command("approve", nil)
		commit := slices.IndexFunc(m.s.Pending, func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCommit })
		if commit < 0 || len(m.s.Pending[commit].After) == 0 {
			t.Fatalf("the commit does not wait for the file: %+v", m.s.Pending)
		}
	})
}

// Each way to the gate again, after each end of a completion, asks again.
func TestSecurity19NoEndOfACompletionApprovesItself(t *testing.T) {
	ends := map[string]orchestrator.Result{
		orchestrator.ReasonOutputGate:      {Findings: []string{"x"}},
		orchestrator.ReasonNothingToCommit: {Empty: true},
	}
	ways := map[string]func(*sim){
		"resume":             func(m *sim) { m.resume("") },
		"resume at terminal": (*sim).resumeAtTerminal,
		"retry":              func(m *sim) { m.command("retry", nil) },
		"resume, killed": func(m *sim) {
			m.resume("")
			m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}})
		},
		"resume twice": func(m *sim) { m.resume(""); m.resume("") },
	}
	for reason, res := range ends {
		for name, way := range ways {
			t.Run(reason+"/"+name, func(t *testing.T) {
				m := newSim(t, "quick", interactive)
				m.result = completion(orchestrator.EffCommit, res)
				m.toEnd()
				first := m.approval()
				m.see(first)
				m.parked(reason)
				way(m)
				if m.s.Gate == nil || m.s.Completion.Approved {
					t.Fatalf("gate %v, completion %+v", m.s.Gate, m.s.Completion)
				}
				first.Evidence = "again"
				m.see(first)
				m.see(orchestrator.Observation{What: orchestrator.ObserveApproval, Evidence: "own", Approval: &orchestrator.Approval{By: "policy"}})
				if m.s.Gate == nil || m.s.Completion.Approved || m.s.Phase == orchestrator.PhaseDone {
					t.Errorf("phase %s, gate %v: it approved itself", m.s.Phase, m.s.Gate)
				}
			})
		}
	}
}

// An approval that was said while no gate was open, or at an earlier one, does not wait for
// the gate that opens later.
func TestSecurity19AnApprovalDoesNotWaitForAGate(t *testing.T) {
	m, first := blockedAt(t, interactive)
	said := orchestrator.At(m.now)
	m.resume("")
	m.open(orchestrator.GateBlocked)
	for name, args := range map[string]map[string]any{"of nothing": nil, "of the first": {"of": first.Approval.Of}} {
		in := m.commandInput("approve", args)
		in.Line.At = said.Later(-time.Minute)
		m.do(in)
		if m.s.Gate == nil || m.last(orchestrator.EvCommandRefused).Data.(orchestrator.CommandRefusedRecord).Name != "approve" {
			t.Fatalf("%s: gate %v", name, m.s.Gate)
		}
	}
	untold := m.commandInput("approve", nil)
	untold.Line.At = orchestrator.Time{}
	m.do(untold)
	if m.s.Gate == nil {
		t.Fatal("an approval that tells neither what nor when counted")
	}
	m.do(m.commandInput("approve", nil))
	m.phase(orchestrator.PhaseDone)
}

// A run that changed nothing ends only by a person's word.
func TestProtocolG2NothingIsNotDone(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.result = completion(orchestrator.EffCommit, orchestrator.Result{Empty: true})
	m.toEnd()
	for range 3 {
		m.parked(orchestrator.ReasonNothingToCommit)
		m.resume("")
		m.command("retry", nil)
	}
	m.result = nil // the tree differs
	m.resume("")
	m.phase(orchestrator.PhaseDone)
}

// Who ends a session that changed nothing is told what becomes of its pull request.
func TestNothingToCommitSaysWhatAnEndLeaves(t *testing.T) {
	m := newSim(t, "quick", nil)
	ends := func(how string) {
		t.Helper()
		m.parked(orchestrator.ReasonNothingToCommit)
		if got := m.last(orchestrator.EvNeedsHuman).Data.(orchestrator.NeedsHumanRecord).Next; !strings.HasSuffix(got, "approve ends it "+how) {
			t.Errorf("next: %s", got)
		}
	}
	nothing := completion(orchestrator.EffCommit, orchestrator.Result{Empty: true})
	m.result = nothing
	m.toEnd()
	ends("without a pull request")
	m.result = nil
	m.resume("")
	m.phase(orchestrator.PhaseDone)
	m.result = nothing
	m.resume("also the empty list")
	m.toEnd()
	ends("with the pull request as it is")
}

// A person at a terminal is shown what the output gate found, also where the session began
// with nobody there; without one the findings are what is to be changed.
func TestProtocolG4ResumeAtATerminalShowsWhatWasFound(t *testing.T) {
	m, _ := blockedAt(t, nil)
	m.resumeAtTerminal()
	m.open(orchestrator.GateBlocked)
	if got := m.last(orchestrator.EvGateOpened).Data.(orchestrator.GateOpenedRecord).Findings; !slices.Equal(got, []string{"secret in a.go:3"}) {
		t.Errorf("findings %v", got)
	}
	m.timer("gate")
	m.parked(orchestrator.ReasonGateTimeout)
	m.resume("")
	m.open(orchestrator.GateBlocked)
	m.command("approve", nil)
	m.phase(orchestrator.PhaseDone)

	m, _ = blockedAt(t, nil)
	m.resume("")
	m.phase("planning")
}

// A no needs no digest, but one that it names must be the gate's.
func TestProtocolK6ChangesOfAnotherGate(t *testing.T) {
	m := newSim(t, "quick", interactive)
	m.toEnd()
	wanted := func(change func(*orchestrator.Observation)) {
		o := m.approval()
		o.What, o.Approval = orchestrator.ObserveChanges, &orchestrator.Approval{Text: "more"}
		o.Evidence = m.now.String()
		change(&o)
		m.see(o)
	}
	wanted(func(o *orchestrator.Observation) { o.Approval.Of = strings.Repeat("0", 12) })
	wanted(func(o *orchestrator.Observation) { o.Written = m.s.Gate.OpenedAt.Later(-time.Hour) })
	wanted(func(o *orchestrator.Observation) { o.Problems = []string{"not UTF-8"} })
	if m.s.Gate == nil || m.count(orchestrator.EvInputRejected) != 3 {
		t.Fatalf("gate %v, %d records", m.s.Gate, m.count(orchestrator.EvInputRejected))
	}
	wanted(func(o *orchestrator.Observation) { o.Approval.Of = m.s.GateDigest()[:12] })
	m.phase("planning")
}
