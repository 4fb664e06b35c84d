package account

import (
	"log/slog"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/redact"
)

const (
	// mintedLife is the longest life of a token that a server makes.
	mintedLife = time.Hour
	// knownAfter is how long a token that is of no use any more is searched for in texts: what an
	// agent or a log has of it is published later than it was taken.
	knownAfter = 24 * time.Hour
	// forgetEvery is how often the redactor forgets: it costs as much as learning all that stay.
	forgetEvery = time.Hour
)

// keeper has the redactor know each token before its first use, and forget it a day after its end.
type keeper struct {
	redactor *redact.Redactor
	log      *slog.Logger
	now      func() time.Time

	mu   sync.Mutex
	last time.Time // the redactor forgot
}

func newKeeper(r *redact.Redactor, log *slog.Logger, now func() time.Time) *keeper {
	return &keeper{redactor: r, log: log, now: now, last: now()}
}

func (k *keeper) add(token redact.Secret) {
	if err := k.redactor.AddToken(token); err != nil {
		k.log.Warn("a token is not searched for in texts", "err", err)
	}
}

// minted is told each token of an App.
func (k *keeper) minted(token redact.Secret) {
	k.add(token)
	k.retire(token, mintedLife+knownAfter)
}

// replaced is told each token that was read again, and the one that it is in place of.
func (k *keeper) replaced(old, now redact.Secret) {
	k.add(now)
	k.retire(old, knownAfter)
}

func (k *keeper) retire(token redact.Secret, after time.Duration) {
	now := k.now().Round(0) // of a machine that slept, too
	k.redactor.Retire(token, now.Add(after))
	k.mu.Lock()
	due := now.Sub(k.last) >= forgetEvery
	if due {
		k.last = now
	}
	k.mu.Unlock()
	if due {
		k.redactor.Forget(now)
	}
}

// Remember has a redactor know each token that is read again.
func (t *Tokens) Remember(r func() *redact.Redactor) {
	keep := sync.OnceValue(func() *keeper { return newKeeper(r(), slog.New(slog.DiscardHandler), time.Now) })
	t.Replaced = func(old, now redact.Secret) { keep().replaced(old, now) }
}
