package account

import (
	"context"
	"sync"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// reread is a token that is kept outside of this process, where a person may replace it: in a
// file, or by gh. It is read again when the server refuses it.
type reread struct {
	transport.TokenSource // for where it may be sent to
	read                  func() (string, error)
	replaced              func(old, now redact.Secret)

	mu  sync.Mutex // held while reading, so that calls that were refused together read once
	now redact.Secret
}

// Token returns the token that was read last.
func (s *reread) Token(context.Context) (redact.Secret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, nil
}

// Expire reads the token again, unless another call has done so since the refused one was sent.
// Where there is no other one, the refused token stays in use: the next refusal reads again.
func (s *reread) Expire(refused redact.Secret) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Reveal() != refused.Reveal() {
		return true
	}
	token, err := s.read()
	if err != nil || token == "" || token == refused.Reveal() {
		return false
	}
	old := s.now
	s.now = redact.NewSecret(token)
	if s.replaced != nil {
		s.replaced(old, s.now)
	}
	return true
}
