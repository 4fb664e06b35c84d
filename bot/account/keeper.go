package account

import (
	"log/slog"
	"time"

	"github.com/agentmux/agentmux/internal/redact"
)

// keeper has the redactor know each token.
type keeper struct {
	redactor *redact.Redactor
	log      *slog.Logger
	now      func() time.Time
}

func (k keeper) add(token redact.Secret) {
	if err := k.redactor.AddSecret("github-token", token); err != nil {
		k.log.Warn("a token is not searched for in texts", "err", err)
	}
}

// minted is told each token of an App.
func (k keeper) minted(token redact.Secret) { k.add(token) }

// replaced is told each token that was read again.
func (k keeper) replaced(_, now redact.Secret) { k.add(now) }
