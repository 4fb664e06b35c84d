package duty

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// MinDigest is how many digits of a digest tell two apart.
const MinDigest = 7

// ShownFault tells why of does not name what the open gate shows; "" when it does.
func ShownFault(s *orchestrator.State, of string) string {
	now := s.GateDigest()
	switch {
	case len(of) < MinDigest:
		return fmt.Sprintf("%q is too short to name what is approved: give %d digits or more of %s", of, MinDigest, orchestrator.ShortDigest(now))
	case !strings.HasPrefix(now, strings.ToLower(of)):
		return "what waits for approval is another one by now, " + orchestrator.ShortDigest(now) + ": look at it again"
	}
	return ""
}

// coarse is how far the clock of files may lag behind the one of programs.
const coarse = 10 * time.Millisecond

// AnswerFaults lists why a file does not answer the open gate. A yes must name what it is
// given to. A no releases nothing, so it may leave that out.
func AnswerFaults(s *orchestrator.State, of string, yes bool, written orchestrator.Time) []string {
	var faults []string
	switch {
	case of == "" && yes:
		faults = append(faults, fmt.Sprintf("of: required, the digest of what is approved: agentmux status shows it, it is %s now", orchestrator.ShortDigest(s.GateDigest())))
	case of != "":
		if fault := ShownFault(s, of); fault != "" {
			faults = append(faults, "of: "+fault)
		}
	}
	if !written.IsZero() && written.Add(coarse).Before(s.Gate.OpenedAt.Time) {
		faults = append(faults, fmt.Sprintf("the file was written at %s, before the gate opened at %s",
			written.UTC().Format(time.TimeOnly), s.Gate.OpenedAt.UTC().Format(time.TimeOnly)))
	}
	return faults
}

// Seen reports whether an approval names all that the open gate shows, which another machine opened: it was said on this
// machine, and what the session says of the gate is what the digest is of. A comment has to say that the gate's own was read.
func Seen(s *orchestrator.State, l *orchestrator.Line, p orchestrator.Payload) bool {
	return l != nil && s.Gate != nil && l.Cursor.Offset >= s.Gate.Brought && p.Args.Of != "" && s.Gate.Digest == GateDigest(s.Gate, s) &&
		(p.Source != "issue" || p.Args.Seen)
}

// ApprovalText is what the file of an approval holds.
func ApprovalText(a orchestrator.Approval) string {
	body, err := json.Marshal(struct {
		Action        string   `json:"action"`
		ExcludeFiles  []string `json:"exclude_files"`
		CommitMessage string   `json:"commit_message,omitempty"`
		By            string   `json:"by"`
		Of            string   `json:"of,omitempty"`
	}{"approve", append([]string{}, a.ExcludeFiles...), a.CommitMessage, a.By, a.Of})
	if err != nil {
		panic("duty: an approval always marshals: " + err.Error())
	}
	return string(body) + "\n"
}

// GateDigest names what a gate shows, and this opening of it: an answer to an earlier gate,
// also about the same tree, does not answer this one.
func GateDigest(g *orchestrator.Gate, s *orchestrator.State) string {
	shown := []any{
		"gate", s.SessionID, g.Name, g.Reason, g.OpenedAt, s.Visit, s.ChangeRound, s.BaseSHA, s.PlanSHA256, s.Integrated.Tree,
		s.ReviewExhausted, append([]string(nil), s.Completion.Findings...), // an empty list is none once it was in a file
	}
	if asked := s.Completion.Asked; len(asked) > 0 { // else as earlier versions named it: an open gate keeps its name
		shown = append(shown, asked)
	}
	body, err := json.Marshal(shown)
	if err != nil {
		panic("duty: a gate always marshals: " + err.Error())
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
