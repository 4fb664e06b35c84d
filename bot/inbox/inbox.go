// Package inbox says which commands a session was given that its state does not include.
//
// It only reads, and may be called while a host runs the session. Nothing is stored.
package inbox

import (
	"context"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Holds reports whether the session has commands, or notes about them, that its state does not
// include. A host that reads a note shows it.
func Holds(sess *session.Session, s *orchestrator.State) bool {
	lines, _, err := sess.Lines(session.Commands, s.CommandCursor, 1)
	return err == nil && len(lines) > 0
}

// Unread returns the commands of the session in dir that its state does not include.
func Unread(dir string, s *orchestrator.State) []orchestrator.Payload {
	sess, err := session.Open(dir)
	if err != nil {
		return nil
	}
	lines, _, err := sess.Lines(session.Commands, s.CommandCursor, 0)
	if err != nil {
		return nil
	}
	var said []orchestrator.Payload
	for _, l := range lines {
		if p, err := l.Decode(); err == nil && l.Corrupt == "" && l.Rewound == nil && p.IsCommand() {
			said = append(said, p)
		}
	}
	return said
}

// Late reports whether a session has ended with an unread command. It must be called
// after the lock is released: until then the command's sender expects the host to read it.
func Late(dir string, s *orchestrator.State) bool {
	if s == nil || !s.Ended() {
		return false
	}
	sess, err := session.Open(dir)
	return err == nil && Holds(sess, s)
}

// pause is the time between two checks for commands.
const pause = 250 * time.Millisecond

// Until returns a context that ends when a session that has ended gets a command, and not when
// ctx does: the command does not wait for the last comments. stop must be called.
func Until(ctx context.Context, sess *session.Session, s *orchestrator.State) (heard context.Context, stop func()) {
	heard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if !s.Ended() {
		return heard, cancel
	}
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for !Holds(sess, s) {
			select {
			case <-heard.Done():
				return
			case <-tick.C:
			}
		}
		cancel()
	}()
	return heard, func() {
		cancel()
		<-looked
	}
}
