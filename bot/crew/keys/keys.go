// Package keys knows who presses keys at the panes of a session: a person, whose line the host never writes into, and the
// host, which answers a known dialog once.
package keys

import (
	"context"
	"errors"
	"time"

	"github.com/agentmux/agentmux/tmux"
)

// quiet is how long after a key of a person nothing is typed: it would become part of their line.
const quiet = 10 * time.Second

// ErrPerson means that a person has just pressed a key.
var ErrPerson = errors.New("a person types")

// Free fails, with ErrPerson, if a terminal that is attached to the server was typed at in the last ten seconds. Which of
// the panes the keys went to is not asked: the person may have changed the window in the middle of a line.
func Free(ctx context.Context, server *tmux.Server, now time.Time) error {
	typed, err := server.Typed(ctx, now.Add(-quiet))
	if err == nil && typed {
		err = ErrPerson
	}
	return err
}
