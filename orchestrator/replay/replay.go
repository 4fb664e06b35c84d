// Package replay tells from the records of a session alone what its state has to be, so that the two check one
// another.
//
// There may be tens of thousands of records, most of which change nothing here: of these [Read] takes the number and the
// type alone. It stores nothing.
package replay

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
)

// Projection is what the records of a session say its state is.
type Projection struct {
	Phase     string
	Visit     int
	LastEvent string
	Outcome   string
	Rounds    int               // fix rounds begun
	Subplans  []string          // done, sorted
	Groups    []string          // done, in order
	Verdicts  map[string]string // role -> verdict, iteration and tree
	Questions []string          // open, sorted
	Gate      string
	PR        int
}

// Of folds records into what they say.
func Of(records []orchestrator.Event) Projection {
	p := Projection{Verdicts: map[string]string{}}
	for _, e := range records {
		if fold, ok := folds[e.Type]; ok {
			fold(&p, e)
		}
	}
	return p
}

// OfState returns the same for a state.
func OfState(st *orchestrator.State) Projection {
	p := Projection{
		Phase: st.Phase, Visit: st.Visit, LastEvent: st.LastEvent, Outcome: string(st.Outcome), Rounds: st.ReviewIteration,
		Subplans: slices.Sorted(slices.Values(st.CompletedSubplans)), Groups: slices.Clone(st.CompletedGroups),
		Verdicts: map[string]string{}, PR: st.Completion.PRNumber,
	}
	for role, res := range st.ReviewResults {
		p.Verdicts[role] = verdict(res.Verdict, res.Iteration, res.Tree)
	}
	for _, q := range st.Questions {
		if q.Open() {
			p.Questions = append(p.Questions, q.ID)
		}
	}
	slices.Sort(p.Questions)
	if st.Gate != nil {
		p.Gate = st.Gate.Name
	}
	return p
}

func verdict(verdict string, iteration int, tree string) string {
	return fmt.Sprintf("%s in round %d of %s", verdict, iteration, tree)
}

// Differences lists where two projections differ, one line each.
func (p Projection) Differences(other Projection) []string {
	var out []string
	differ := func(what string, a, b any) {
		if fmt.Sprint(a) != fmt.Sprint(b) {
			out = append(out, fmt.Sprintf("%s: %v, %v", what, a, b))
		}
	}
	differ("phase", p.Phase, other.Phase)
	differ("visit", p.Visit, other.Visit)
	differ("last_event", p.LastEvent, other.LastEvent)
	differ("outcome", p.Outcome, other.Outcome)
	differ("fix rounds", p.Rounds, other.Rounds)
	differ("subplans", p.Subplans, other.Subplans)
	differ("groups", p.Groups, other.Groups)
	differ("open questions", p.Questions, other.Questions)
	differ("gate", p.Gate, other.Gate)
	differ("pull request", p.PR, other.PR)
	roles := slices.Collect(maps.Keys(p.Verdicts))
	roles = slices.AppendSeq(roles, maps.Keys(other.Verdicts))
	slices.Sort(roles)
	for _, role := range slices.Compact(roles) {
		differ("verdict of "+role, p.Verdicts[role], other.Verdicts[role])
	}
	return out
}

// folds says what each type of record changes.
var folds = map[string]func(*Projection, orchestrator.Event){
	orchestrator.EvSessionCreated: func(p *Projection, e orchestrator.Event) { p.Phase, p.Visit = e.Phase, e.Visit },
	orchestrator.EvEvent:          on(foldEvent),
	orchestrator.EvResumed: on(func(p *Projection, d orchestrator.ResumedRecord) {
		p.Phase, p.Outcome, p.LastEvent = d.To, "", orchestrator.LastResumed
	}),
	orchestrator.EvMoved: func(p *Projection, e orchestrator.Event) {
		p.Phase, p.Outcome, p.LastEvent = e.Phase, "", orchestrator.LastResumed
	},
	orchestrator.EvPhaseEntered: func(p *Projection, e orchestrator.Event) {
		d, _ := e.Data.(orchestrator.PhaseEnteredRecord)
		p.Phase, p.Visit = d.Phase, e.Visit
	},
	orchestrator.EvSchedule: func(p *Projection, _ orchestrator.Event) {
		p.Rounds, p.Subplans, p.Groups, p.Verdicts = 0, nil, nil, map[string]string{}
	},
	orchestrator.EvSubplanDone: on(func(p *Projection, d orchestrator.SubplanDoneRecord) {
		p.Subplans = append(p.Subplans, d.ID)
		slices.Sort(p.Subplans)
	}),
	orchestrator.EvGroupDone: on(func(p *Projection, d orchestrator.GroupDoneRecord) { p.Groups = append(p.Groups, d.GroupID) }),
	orchestrator.EvVerdict: on(func(p *Projection, d orchestrator.VerdictRecord) {
		p.Verdicts[d.Role] = verdict(d.Verdict, d.Iteration, d.Tree)
	}),
	orchestrator.EvFixRound:   on(func(p *Projection, d orchestrator.FixRoundRecord) { p.Rounds = d.Iteration }),
	orchestrator.EvGateOpened: on(func(p *Projection, d orchestrator.GateOpenedRecord) { p.Gate = d.Gate }),
	orchestrator.EvGateClosed: func(p *Projection, _ orchestrator.Event) { p.Gate = "" },
	orchestrator.EvQuestionAsked: on(func(p *Projection, d orchestrator.QuestionAskedRecord) {
		p.Questions = append(p.Questions, d.ID)
		slices.Sort(p.Questions)
	}),
	orchestrator.EvQuestionAnswered: on(func(p *Projection, d orchestrator.QuestionAnsweredRecord) {
		p.Questions = slices.DeleteFunc(p.Questions, func(id string) bool { return id == d.ID })
	}),
	orchestrator.EvPROpened: on(func(p *Projection, d orchestrator.PROpenedRecord) {
		if d.Agent == "" { // that of an agent of an agents file is not the session's
			p.PR = d.Number
		}
	}),
	orchestrator.EvNeedsHuman: func(p *Projection, _ orchestrator.Event) { p.Outcome = orchestrator.OutcomeNeedsHuman },
	orchestrator.EvDone: on(func(p *Projection, d orchestrator.DoneRecord) {
		p.Phase, p.Outcome, p.Gate = orchestrator.PhaseDone, d.Outcome, ""
	}),
	orchestrator.EvFailed: func(p *Projection, _ orchestrator.Event) {
		p.Phase, p.Outcome = orchestrator.PhaseFailed, orchestrator.OutcomeFailed
	},
	orchestrator.EvCanceled: func(p *Projection, _ orchestrator.Event) {
		p.Phase, p.Outcome = orchestrator.PhaseFailed, orchestrator.OutcomeCanceled
	},
}

// on folds what a record of one type says.
func on[T orchestrator.Record](fold func(*Projection, T)) func(*Projection, orchestrator.Event) {
	return func(p *Projection, e orchestrator.Event) {
		d, _ := e.Data.(T)
		fold(p, d)
	}
}

// foldEvent takes a value of last_event. Changes asked for end a park or a
// finished session, and replace the plan.
func foldEvent(p *Projection, d orchestrator.EventRecord) {
	p.LastEvent = d.Event
	if p.LastEvent == orchestrator.LastChanges {
		p.Outcome, p.Subplans, p.Groups, p.Verdicts = "", nil, nil, map[string]string{}
	}
}
