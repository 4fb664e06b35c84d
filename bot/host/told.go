package host

import (
	"context"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// unread reports whether people said something that the state does not know of.
func unread(sess *session.Session, s *orchestrator.State) bool {
	lines, _, err := sess.Lines(session.Commands, s.CommandCursor, 1)
	return err == nil && len(lines) > 0
}

// Unread returns what people said to the session in dir and the state does not know of.
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
		if p, err := l.Decode(); err == nil && l.Corrupt == "" && l.Rewound == nil {
			said = append(said, p)
		}
	}
	return said
}

// told reports whether a session that has ended, and that no host has, was told something.
// It has to be asked behind the release of the lock: who said it before counted on the host.
func told(dir string, s *orchestrator.State) bool {
	if s == nil || !s.Ended() {
		return false
	}
	sess, err := session.Open(dir)
	return err == nil && unread(sess, s)
}

// toldPause is the time between two looks for what people said.
const toldPause = 250 * time.Millisecond

// untold is a context that ends when people say something to a session that has ended, not
// when ctx does: they do not wait for its last words to be shown. stop must be called.
func untold(ctx context.Context, sess *session.Session, s *orchestrator.State) (heard context.Context, stop func()) {
	heard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if !s.Ended() {
		return heard, cancel
	}
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		tick := time.NewTicker(toldPause)
		defer tick.Stop()
		for !unread(sess, s) {
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
