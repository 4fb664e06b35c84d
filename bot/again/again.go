// Package again decides whether a request label that is set on an issue again continues the session that has failed, was
// stopped, or waits for a person (github section 6), on this machine or by the checkpoint of another one. It is called by the
// bot for a request that the gate has accepted, before it makes a ticket. It promises that one trigger gives a session one
// command, whatever is killed in between, and counts as one start. Beside a session that waits for a decision none begins: the
// request is refused, with what the session takes.
package again

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Former is the newest session of an issue, which has no host.
type Former struct {
	Dir   string
	State *orchestrator.State
	// Elsewhere reports whether it went on on another machine, whose work this one does not have.
	Elsewhere func(context.Context) (bool, error)
}

// Continue gives the session the command to continue, and reports whether it did: the session has failed or was stopped, or
// waits without a decision to make, can continue, is of the workflow that is asked for, and works from the same text. now is
// what a new session would work from. The caller wakes the session, and takes off the label. If the session waits and does not
// continue, d is a refusal then.
func (f Former) Continue(ctx context.Context, j *journal.Journal, d *gate.Decision, now *ghsync.Snapshot) (bool, error) {
	s, asked := f.State, d.Asked
	if asked.Trigger.Kind != gate.Label || !s.Parked() && !broken(s) {
		return false, nil
	}
	p := orchestrator.Payload{Name: "retry", Actor: asked.By.Account.Login, Source: "issue", SourceID: asked.Trigger.String()}
	text, err := session.ReadFile(filepath.Join(f.Dir, session.SnapshotFile))
	goesOn := err == nil && continues(s, text, d, now)
	if goesOn {
		err := command.Foresee(f.Dir, s, p, false)
		var refused *command.RefusedError
		if goesOn = err == nil; !goesOn && s.Parked() && !errors.As(err, &refused) {
			return false, err // it is looked at again: what cannot be read now is not refused for that
		}
	}
	if !goesOn && !s.Parked() {
		return false, nil // one that cannot be read keeps no request from another one
	}
	if over, err := f.Elsewhere(ctx); over || err != nil {
		return false, err
	}
	if !goesOn {
		refuse(s, d)
		return false, nil
	}
	if _, err := command.Append(f.Dir, p); err != nil {
		return false, err
	}
	crash.Point("continue by label", "")
	_, err = j.Append(journal.Started{Issue: now.Issue, Trigger: asked.Trigger, Actor: asked.By.Account.ID, Session: s.SessionID})
	return err == nil, err
}

// decisions are what a person says to a session that waits for a decision, by why it waits. One that waits for another reason
// continues without.
var decisions = map[string]string{
	orchestrator.ReasonQuestion:        "comment /agentmux answer TEXT",
	orchestrator.ReasonGateTimeout:     "comment /agentmux approve, or /agentmux changes TEXT with what is to be different",
	orchestrator.ReasonOutputGate:      "comment /agentmux changes TEXT with what is to be different, or /agentmux resume, which has the output gate look again",
	orchestrator.ReasonReviewExhausted: "comment /agentmux changes TEXT with what is to be different, or /agentmux resume to look at what is there",
	orchestrator.ReasonNothingToCommit: "comment /agentmux changes TEXT with what is to be different",
}

// otherwise is what is said to one that would continue, but not with the text or the workflow that is asked for.
const otherwise = "comment /agentmux resume to continue it as it was asked for, or /agentmux stop and set the label again, which takes the text as it is now"

// broken reports whether a session failed or was stopped. One that another host has taken is that host's.
func broken(s *orchestrator.State) bool {
	return s.Outcome == orchestrator.OutcomeFailed || s.Outcome == orchestrator.OutcomeCanceled && s.OutcomeReason != orchestrator.ReasonClaimLost
}

// continues reports whether a session that has failed, was stopped or waits is one that d asks for, and has no decision to wait
// for. text is its snapshot of the issue.
func continues(s *orchestrator.State, text []byte, d *gate.Decision, now *ghsync.Snapshot) bool {
	if d.Asked.Workflow != "" && d.Asked.Workflow != s.Workflow || s.Parked() && decisions[string(s.OutcomeReason)] != "" {
		return false
	}
	was, err := ghsync.ParseSnapshot(text)
	return err == nil && was.Digest == now.Digest
}

// refuse makes d a refusal for a session that waits, which says what that takes.
func refuse(s *orchestrator.State, d *gate.Decision) {
	d.What, d.Reason, d.Remedy = gate.Refuse, "the session of this issue waits for a person, and no other one begins beside it", otherwise
	if decision := decisions[string(s.OutcomeReason)]; decision != "" {
		d.Remedy = decision + "; /agentmux stop ends it"
	}
}

// Brings reports whether a session of another machine is to be brought here because Continue would continue it. files are
// those of its checkpoint. If it waits and does not continue, d is a refusal then. One that cannot be read is not brought.
func Brings(files map[string][]byte, d *gate.Decision, now *ghsync.Snapshot) bool {
	s, err := orchestrator.Decode(files[session.StateFile])
	if err != nil || d.Asked.Trigger.Kind != gate.Label || !s.Parked() && !broken(s) {
		return false
	}
	goesOn := continues(s, files[session.SnapshotFile], d, now)
	if !goesOn && s.Parked() {
		refuse(s, d)
	}
	return goesOn
}
