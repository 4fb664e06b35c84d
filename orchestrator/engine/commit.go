package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
)

const (
	commitPause = 5 * time.Second // between two tries of a commit
	commitBound = 2 * time.Minute // for all of them
	spellBound  = 5 * time.Minute // for those of several commits with less than commitBound between them
)

// spell is a time in which commits fail again and again, as on a full disk where a little room comes and goes. The zero
// value has seen no failure.
type spell struct{ since, last time.Time }

// left notes that a commit fails, and returns how long it may be tried again.
func (s *spell) left(now time.Time) time.Duration {
	if now.Sub(s.last) > commitBound {
		s.since = now
	}
	s.last = now
	return max(0, min(commitBound, spellBound-now.Sub(s.since)))
}

// commit makes a step durable. A disk that is full for a moment does not end the
// session; nothing else happens meanwhile.
func (l *loop) commit(ctx context.Context, step decide.Step) error {
	err := l.Session.Commit(step)
	if err == nil || errors.Is(err, session.ErrLockLost) {
		return err
	}
	if _, missing := os.Lstat(l.Session.Dir); errors.Is(missing, fs.ErrNotExist) {
		return fmt.Errorf("the directory of the session is gone: %w", missing) // waiting does not bring it back
	}
	retry := time.NewTicker(commitPause)
	defer retry.Stop()
	began := time.Now()
	done, limit := ctx.Done(), l.failing.left(began)
	if ctx.Err() != nil {
		done, limit = nil, stopBound // we are ending: this commit is what is left to do
	}
	bound := time.NewTimer(limit)
	defer bound.Stop()
	for {
		l.Log.Error("commit failed, trying again", "seq", step.State.Seq, "err", err)
		select {
		case <-retry.C:
		case <-bound.C:
			return fmt.Errorf("commit failed for %s: %w", (limit + began.Sub(l.failing.since)).Round(time.Second), err)
		case <-done:
			return l.Session.Commit(step)
		}
		if err = l.Session.Commit(step); errors.Is(err, session.ErrLockLost) {
			return err
		}
		l.failing.last = time.Now()
		if err == nil {
			l.Log.Info("commit succeeded", "seq", step.State.Seq)
			return nil
		}
	}
}

// quiet are the records that say nothing about the course of the session.
var quiet = map[string]bool{
	orchestrator.EvAgentStatus: true, orchestrator.EvInputIgnored: true, orchestrator.EvMsgQueued: true,
	orchestrator.EvMsgDelivered: true, orchestrator.EvMsgAcked: true,
}

// trouble are the records that somebody who reads warnings alone should see.
var trouble = map[string]bool{
	orchestrator.EvEffectFailed: true, orchestrator.EvNeedsHuman: true, orchestrator.EvAgentFailed: true, orchestrator.EvAgentStalled: true,
	orchestrator.EvInputCorrupt: true, orchestrator.EvStateOverwritten: true, orchestrator.EvLimitReached: true,
}

func (l *loop) logEvent(e orchestrator.Event) {
	level := slog.LevelInfo
	switch {
	case quiet[e.Type]:
		level = slog.LevelDebug
	case e.Type == orchestrator.EvFailed:
		level = slog.LevelError
	case trouble[e.Type]:
		level = slog.LevelWarn
	}
	attrs := []any{"event", e.Type, "seq", e.Seq, "phase", e.Phase}
	if role := roleOf(e.Data); role != "" {
		attrs = append(attrs, "role", role)
	}
	if d, ok := e.Data.(orchestrator.AgentStartedRecord); ok && d.FallbackFor != "" {
		attrs = append(attrs, "provider", d.Provider, "fallback_for", d.FallbackFor)
	}
	if failed, ok := e.Data.(orchestrator.EffectFailedRecord); ok { // while it is tried again no state says why
		attrs = append(attrs, "effect", failed.Effect, "err", failed.Error)
		if wait := l.nextTry(failed.ID); wait > 0 {
			attrs = append(attrs, "wait", wait.Round(time.Second).String())
		}
	}
	l.Log.Log(context.Background(), level, "recorded", attrs...)
}

// roleOf returns the role that a record is about; "" if it is about none.
func roleOf(record orchestrator.Record) string {
	switch d := record.(type) {
	case orchestrator.AgentStartedRecord:
		return d.Role
	case orchestrator.AgentExitedRecord:
		return d.Role
	case orchestrator.AgentFailedRecord:
		return d.Role
	case orchestrator.AgentStalledRecord:
		return d.Role
	case orchestrator.AgentStatusRecord:
		return d.Role
	case orchestrator.AgentWaitingRecord:
		return d.Role
	case orchestrator.PersonTypedRecord:
		return d.Role
	case orchestrator.ArtifactAcceptedRecord:
		return d.Role
	case orchestrator.VerdictRecord:
		return d.Role
	case orchestrator.QuestionAskedRecord:
		return d.Role
	case orchestrator.InputIgnoredRecord:
		return d.Role
	case orchestrator.InputRejectedRecord:
		return d.Role
	}
	return ""
}

// nextTry is how long a pending effect waits for its next try.
func (l *loop) nextTry(id string) time.Duration {
	for _, e := range l.st.Pending {
		if e.ID == id {
			return e.NotBefore.Sub(l.Now())
		}
	}
	return 0
}

// logCreated keeps the list of created files; a failure is harmless.
func (l *loop) logCreated() {
	if !l.dirty && l.Wakes != nil || l.Now().Sub(l.logged) < scanPause {
		return
	}
	l.dirty, l.logged = false, l.Now()
	if err := l.Session.LogCreated(l.Now()); err != nil {
		l.Log.Warn("created files are not listed", "err", err)
	}
}
