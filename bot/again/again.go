// Package again decides whether a request label that is set on an issue again continues the session that has failed or was
// stopped (github section 6). It is called by the bot for a request that the gate has accepted, before it makes a ticket. It
// promises that one trigger gives a session one command, whatever is killed in between, and counts as one start.
package again

import (
	"context"
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

// Continue gives the session the command to continue, and reports whether it did: the session has failed or was stopped, can
// continue, is of the workflow that is asked for, and works from the same text. now is what a new session would work from. The
// caller wakes the session, and takes off the label.
func (f Former) Continue(ctx context.Context, j *journal.Journal, asked *gate.Asked, now *ghsync.Snapshot) (bool, error) {
	s := f.State
	if asked.Trigger.Kind != gate.Label || asked.Workflow != "" && asked.Workflow != s.Workflow || !broken(s) {
		return false, nil
	}
	p := orchestrator.Payload{Name: "retry", Actor: asked.By.Account.Login, Source: "issue", SourceID: asked.Trigger.String()}
	if !f.hasText(now.Digest) || command.Foresee(f.Dir, s, p, false) != nil {
		return false, nil // one that cannot be read keeps no request from another one
	}
	if over, err := f.Elsewhere(ctx); over || err != nil {
		return false, err
	}
	if _, err := command.Append(f.Dir, p); err != nil {
		return false, err
	}
	crash.Point("continue by label", "")
	_, err := j.Append(journal.Started{Issue: now.Issue, Trigger: asked.Trigger, Actor: asked.By.Account.ID, Session: s.SessionID})
	return err == nil, err
}

// broken reports whether a session failed or was stopped. One that another host has taken is that host's.
func broken(s *orchestrator.State) bool {
	return s.Outcome == orchestrator.OutcomeFailed || s.Outcome == orchestrator.OutcomeCanceled && s.OutcomeReason != orchestrator.ReasonClaimLost
}

// hasText reports whether the text that the session works from has this digest.
func (f Former) hasText(digest string) bool {
	data, err := session.ReadFile(filepath.Join(f.Dir, session.SnapshotFile))
	if err != nil {
		return false
	}
	text, err := ghsync.ParseSnapshot(data)
	return err == nil && text.Digest == digest
}
