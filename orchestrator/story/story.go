package story

import (
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
)

// Facts are what neither the state nor the records of a session say. The caller looks.
type Facts struct {
	Name     string // how commands name the session
	Running  bool   // some process hosts it
	Unshown  bool   // GitHub does not show all of it
	Trouble  string // why not, as the mirror said last
	Away     Away   // GitHub did not answer the mirror
	Server   bool   // its tmux server is there
	Proposal string // what proposes the branch that a done session left in the clone
	Unread   []string
}

// Away is how long and how often something did not answer. The zero value: it answers.
type Away struct {
	Since time.Time
	Tries int
}

// Story is what there is to say about a session.
type Story struct {
	Sentence string    `json:"sentence,omitempty"` // why it ended or waits
	Advice   string    `json:"advice,omitempty"`   // what the session said then about what can be done
	Actor    string    `json:"actor,omitempty"`    // who stopped it
	Findings []string  `json:"findings,omitempty"` // of the output gate
	Ended    time.Time `json:"ended,omitzero"`
	Outages  []Outage  `json:"outages,omitempty"`
	Owed     []Debt    `json:"owed,omitempty"`
	Steps    []Step    `json:"steps,omitempty"` // what a person can do now, the best first
	Rounds   Rounds    `json:"-"`
	Strays   Strays    `json:"out_of_scope,omitempty"` // taken though no plan gave them to who changed them

	Decisions []Decision `json:"decisions,omitempty"` // at gates, oldest first
	Refused   string     `json:"refused,omitempty"`   // why the last answer file of the open gate is none

	Withheld orchestrator.Withheld `json:"withheld,omitempty"` // why the branch was not pushed
}

// Tell makes the story of a session from its state and its committed records.
func Tell(s *orchestrator.State, records []orchestrator.Event, f Facts) Story {
	st := Story{Findings: s.Completion.Findings}
	t := told{errors: map[string]string{}}
	for _, e := range records {
		t.fold(&st, e)
	}
	switch {
	case !s.Ended():
		st.Sentence, st.Advice, st.Actor, st.Ended = "", "", "", time.Time{}
	case st.Sentence == "" && s.Cause != "":
		st.Sentence = string(s.Cause)
	case st.Sentence == "":
		st.Sentence = reasonSentences[string(s.OutcomeReason)]
	}
	st.Outages = outages(s, t.errors, f)
	st.Owed = owed(s, f)
	st.Steps = steps(s, st, f)
	return st
}

// Next is the one line that tells what a person can do now; "" if there is nothing to do.
func (st Story) Next() string {
	texts := make([]string, len(st.Steps))
	for i, step := range st.Steps {
		texts[i] = step.Text
	}
	return strings.Join(texts, ", or ")
}

// told is what the records said, beyond the story.
type told struct {
	errors map[string]string // effect id -> its last error
}

func (t *told) fold(st *Story, e orchestrator.Event) {
	st.Rounds.Fold(e)
	st.Strays.Fold(e)
	switch e.Type {
	case orchestrator.EvEffectFailed:
		t.errors[text(e, "id")] = text(e, "error")
	case orchestrator.EvResumed, orchestrator.EvPhaseEntered:
		st.Sentence, st.Advice, st.Actor, st.Ended = "", "", "", time.Time{}
	case orchestrator.EvNeedsHuman:
		st.Sentence, st.Advice, st.Ended = text(e, "text"), text(e, "next"), e.TS.Time
	case orchestrator.EvFailed:
		st.Sentence, st.Advice, st.Ended = text(e, "cause"), "", e.TS.Time
	case orchestrator.EvCanceled:
		st.Sentence, st.Actor, st.Ended = canceled(e), text(e, "actor"), e.TS.Time
	case orchestrator.EvDone:
		st.Sentence, st.Advice, st.Ended = "", "", e.TS.Time
	case orchestrator.EvBranchPushed:
		st.Withheld = withheld(e)
	case orchestrator.EvGateOpened:
		st.Refused = ""
	case orchestrator.EvGateClosed:
		st.Decisions, st.Refused = append(st.Decisions, Decided(e)), ""
	case orchestrator.EvInputRejected:
		if tool := text(e, "tool"); tool == decide.ApprovalFile || tool == decide.ChangesFile {
			st.Refused = tool + ": " + strings.Join(texts(e, "errors"), "; ")
		}
	}
}

// canceled says who stopped a session; a signal has no name worth telling but its own.
func canceled(e orchestrator.Event) string {
	actor := text(e, "actor")
	if actor == "signal" {
		return "stopped by a signal (" + text(e, "cause") + ")"
	}
	return "stopped by " + actor
}

// reasonSentences say what a record does not: the end of a completion whose last review
// failed is a plain end, and sessions of other hosts may have lost their records.
var reasonSentences = map[string]string{
	orchestrator.ReasonReviewExhausted: "the last review failed and no fix round was left",
	orchestrator.ReasonNothingToCommit: "the work changed nothing",
}

// skippedBefore are the words that a record had before it had a reason of its own.
var skippedBefore = map[string]orchestrator.Withheld{
	"github.push is off": orchestrator.PushOff, "no write permission": orchestrator.PushReadOnly, "no GitHub token": orchestrator.PushNoToken,
}

func withheld(e orchestrator.Event) orchestrator.Withheld {
	why, skipped := orchestrator.Withheld(text(e, "withheld")), text(e, "skipped")
	if why != "" || skipped == "" {
		return why
	}
	if before, known := skippedBefore[skipped]; known {
		return before
	}
	return orchestrator.PushElsewhere // which named the server
}

func text(e orchestrator.Event, name string) string {
	s, _ := e.Data[name].(string)
	return s
}

// number reads a count as the file and as a reducer hold it.
func number(e orchestrator.Event, name string) int {
	switch n := e.Data[name].(type) {
	case float64:
		return int(n)
	case int:
		return n
	}
	return 0
}
