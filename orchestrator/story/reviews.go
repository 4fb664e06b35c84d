package story

import (
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
)

// Reviews are the review rounds of a session's whole life and the fixes between them.
type Reviews struct {
	Rounds    []*Round // oldest first
	Tree      string   // under review last
	Fix       int      // the fix round since the last plan or request for changes; 0: none yet
	Limit     int      // fix rounds at most, if LimitTold
	LimitTold bool     // no record says so before the first fix
	Exhausted bool     // the last review failed and no fix round is left

	numbers Rounds
	shas    map[string]string // role -> hash of what it handed in last
}

// Round is one review round.
type Round struct {
	Number   int    // from 1, over the whole life of the session
	Tree     string // under review
	Roles    []string
	Verdicts map[string]Verdict // by role
	Decided  bool
	Passed   bool

	iteration int
}

// Verdict is what one role says in a round.
type Verdict struct {
	Role     string
	Verdict  string
	SHA256   string // of the review; empty if none was accepted
	Path     string // of the review, in the session directory
	Findings int
}

func (r *Reviews) fold(e orchestrator.Event) {
	r.numbers.Fold(e)
	switch d := e.Data.(type) {
	case orchestrator.ArtifactAcceptedRecord:
		if r.shas == nil {
			r.shas = map[string]string{}
		}
		r.shas[d.Role] = d.SHA256
	case orchestrator.ScheduleRecord:
		r.Fix, r.Exhausted = 0, false
	case orchestrator.ReviewStartedRecord:
		r.start(d)
	case orchestrator.VerdictRecord:
		if round := r.Current(); round != nil {
			round.Verdicts[d.Role] = Verdict{Role: d.Role, Verdict: d.Verdict, SHA256: r.shas[d.Role], Path: d.Path, Findings: d.Findings}
		}
	case orchestrator.EventRecord:
		r.decide(d)
	case orchestrator.FixRoundRecord:
		r.Fix, r.Limit, r.LimitTold = d.Iteration, d.Cap, true
	case orchestrator.ReviewExhaustedRecord:
		r.Exhausted, r.Limit, r.LimitTold = true, d.Cap, true
	}
}

// start begins a round, or has more roles take part in the one that is under way.
func (r *Reviews) start(d orchestrator.ReviewStartedRecord) {
	r.Tree = d.Tree
	round := r.Current()
	if round == nil || round.Decided || round.iteration != d.Iteration {
		round = &Round{iteration: d.Iteration, Number: r.Number(d.Iteration), Verdicts: map[string]Verdict{}}
		r.Rounds = append(r.Rounds, round)
	}
	round.Tree = d.Tree
	for _, role := range d.Roles {
		if !slices.Contains(round.Roles, role) {
			round.Roles = append(round.Roles, role)
		}
		delete(round.Verdicts, role)
	}
}

func (r *Reviews) decide(d orchestrator.EventRecord) {
	round := r.Current()
	switch d.Event {
	case orchestrator.LastChanges:
		r.Fix = 0 // the next review begins a count of its own
	case orchestrator.LastReviewPassed, orchestrator.LastReviewFailed:
		if round != nil {
			round.Decided = true
			round.Passed = round.Passed || d.Event == orchestrator.LastReviewPassed
		}
	}
}

// Current returns the round that began last, nil before the first.
func (r Reviews) Current() *Round {
	if len(r.Rounds) == 0 {
		return nil
	}
	return r.Rounds[len(r.Rounds)-1]
}

// Decided returns the rounds that are decided, oldest first.
func (r Reviews) Decided() []*Round {
	return slices.DeleteFunc(slices.Clone(r.Rounds), func(round *Round) bool { return !round.Decided })
}

// Number returns the number, from 1, of the round that the session now counts as iteration.
func (r Reviews) Number(iteration int) int { return r.numbers.Of(iteration) }

// FailedFirst returns the roles in the order for reading: those that failed, those that
// passed, those without a verdict.
func (r *Round) FailedFirst() []string {
	roles := slices.Clone(r.Roles)
	slices.SortStableFunc(roles, func(a, b string) int { return r.rank(a) - r.rank(b) })
	return roles
}

func (r *Round) rank(role string) int {
	given, ok := r.Verdicts[role]
	switch {
	case ok && given.Verdict == "fail":
		return 0
	case ok:
		return 1
	}
	return 2
}
