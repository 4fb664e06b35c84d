package story

import (
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// Facts are what neither the state nor the records of a session say. The caller finds out.
type Facts struct {
	Name     string // how commands name the session
	Running  bool   // some process hosts it
	Unshown  bool   // GitHub does not show all of it
	Trouble  string // why not, as the mirror said last
	Away     Away   // GitHub did not answer the mirror
	Server   bool   // its tmux server is there
	Claimed  bool   // its last host did not give the claim of its issues back
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
	Phases   Phases    `json:"-"`
	Agents   Agents    `json:"-"`
	Strays   Strays    `json:"out_of_scope,omitempty"` // taken though no plan gave them to who changed them

	Decisions []Decision `json:"decisions,omitempty"` // at gates, oldest first
	Refused   string     `json:"refused,omitempty"`   // why the last answer file of the open gate was refused

	Withheld orchestrator.Withheld `json:"withheld,omitempty"` // why the branch was not pushed
	Unsaved  string                `json:"unsaved,omitempty"`  // what another machine would lose, in words
	Moved    string                `json:"moved,omitempty"`    // from which machine it came, in words
	Persons  []string              `json:"persons,omitempty"`  // that one took part at a pane, in a line
	Usage    *Sum                  `json:"usage,omitempty"`    // of the launches that have ended; nil: none has
}

// Tell makes the story of a session from its state and its committed records.
func Tell(s *orchestrator.State, records []orchestrator.Event, f Facts) Story {
	t := told{errors: map[string]string{}}
	for _, e := range records {
		t.fold(e)
	}
	st := t.story(s)
	if sum := t.Usages.Sum(); sum.Launches > 0 {
		st.Usage = &sum
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

// told is what the records said.
type told struct {
	Progress
	errors  map[string]string // effect id -> its last error
	refused string            // why the last answer file of the open gate was refused
	advice  string            // of the newest end
	saved   *orchestrator.CheckpointSavedRecord
}

func (t *told) fold(e orchestrator.Event) {
	t.Fold(e)
	switch d := e.Data.(type) {
	case orchestrator.EffectFailedRecord:
		t.errors[d.ID] = d.Error
	case orchestrator.ResumedRecord, orchestrator.MovedRecord, orchestrator.PhaseEnteredRecord, orchestrator.FailedRecord, orchestrator.DoneRecord:
		t.advice = ""
	case orchestrator.NeedsHumanRecord:
		t.advice = d.Next
	case orchestrator.GateOpenedRecord, orchestrator.GateClosedRecord:
		t.refused = ""
	case orchestrator.CheckpointSavedRecord:
		t.saved = &d
	case orchestrator.InputRejectedRecord:
		if d.Tool == orchestrator.ApprovalFile || d.Tool == orchestrator.ChangesFile {
			t.refused = d.Tool + ": " + strings.Join(d.Errors, "; ")
		}
	}
}

// story is the part of the story that is in the records.
func (t *told) story(s *orchestrator.State) Story {
	return Story{
		Sentence: t.End.sentence(), Advice: t.advice, Actor: t.End.Actor, Findings: s.Completion.Findings, Ended: t.End.At,
		Rounds: t.Reviews.numbers, Phases: t.Phases, Agents: t.Agents, Strays: t.Strays,
		Decisions: t.Decisions, Refused: t.refused, Withheld: t.Result.Withheld, Unsaved: t.unsaved(s), Persons: t.Progress.Persons.Lines(),
		Moved: t.Progress.Moved.Line(func(at time.Time) string { return at.UTC().Format("2 Jan 15:04 MST") }, strings.Clone),
	}
}

// unsaved says what another machine would lose of a session that has not got its result. The last
// checkpoint decides: the one before may be on the server, but its work is older.
func (t *told) unsaved(s *orchestrator.State) string {
	if s.IssueNumber == 0 || s.Phase == orchestrator.PhaseDone || t.saved == nil || t.saved.Pushed {
		return ""
	}
	return "the last checkpoint is on this machine only: another one would lose what is in no branch"
}

// canceled says who stopped a session; a signal has no name worth telling but its own, and the
// cause names the host that took over.
func canceled(d orchestrator.CanceledRecord) string {
	switch d.Actor {
	case orchestrator.ActorSignal:
		return "stopped by a signal (" + d.Cause + ")"
	case orchestrator.ActorClaim:
		return d.Cause
	}
	return "stopped by " + d.Actor
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

func withheld(d orchestrator.BranchPushedRecord) orchestrator.Withheld {
	if d.Withheld != "" || d.Skipped == "" {
		return d.Withheld
	}
	if before, known := skippedBefore[d.Skipped]; known {
		return before
	}
	return orchestrator.PushElsewhere // which named the server
}
