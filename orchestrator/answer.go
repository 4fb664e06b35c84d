package orchestrator

// GateReason tells why a gate is open.
type GateReason string

// Why a gate is open.
const (
	GatePlanned   GateReason = "planned"           // the plan was accepted
	GatePassed    GateReason = "review_passed"     // every reviewer passed the result
	GateExhausted GateReason = "review_exhausted"  // the last review failed, no fix round is left
	GateNothing   GateReason = "nothing_to_commit" // the work changed nothing
	GateBlocked   GateReason = "output_gate"       // the output gate found what must not leave the machine
)

// The files that answer a gate, in the directory of the completion.
const (
	ApprovalFile = "approval.json"
	ChangesFile  = "changes.md"
)

// Where the word came from that closed a gate or a question, besides what a command's line says.
const (
	SourceFile       = "file"
	SourceOutputGate = "output_gate"
	SourceWithdrawn  = "withdrawn" // the question needs no answer any more
)

// GateDigest names what the open gate is about; "" without one. A gate that an earlier
// version opened is named by its plan or tree, as it was shown.
func (s *State) GateDigest() string {
	switch {
	case s.Gate == nil:
		return ""
	case s.Gate.Digest != "":
		return s.Gate.Digest
	case s.Gate.Name == GatePlan:
		return s.PlanSHA256
	}
	return s.Integrated.Tree
}

// ShortDigest is as much of a digest as people are shown.
func ShortDigest(digest string) string { return Truncate(digest, 12) }

// QuestionAskedRecord is a question to a person.
type QuestionAskedRecord struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind,omitempty"` // none in records of earlier versions
	Options []string `json:"options"`
	Role    string   `json:"role"`
	Task    string   `json:"task"`
	Text    string   `json:"text"`
}

// QuestionAnsweredRecord closes a question.
type QuestionAnsweredRecord struct {
	Actor   string `json:"actor"`
	ID      string `json:"id"`
	Source  string `json:"source"`
	Timeout bool   `json:"timeout"`
}
