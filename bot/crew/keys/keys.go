// Package keys knows who presses keys at the panes of a session: a person, whose line the host never writes into and of whose
// turns the session tells, and the host, which answers a known dialog once.
package keys

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/signal"
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

// Pressed tells when persons pressed keys last, by the pane that their terminals show; what is not known is left out.
func Pressed[K comparable](ctx context.Context, server *tmux.Server, panes map[K]tmux.Pane) map[string]time.Time {
	for _, pane := range panes {
		if pane.Attached {
			pressed, _ := server.Keys(ctx) // the next look tells
			return pressed
		}
	}
	return nil
}

// Launch is what tells the lines of a person from those of the host.
type Launch struct {
	Dir     string // of the launch
	Session string // directory of the session: each line of the host names a file in it
}

// Turn returns the newest turn of a launch in which a person took part, from 1, or 0: by a key, pressed at that time or
// never, or by a line that its program took and the host has not sent.
func (l Launch) Turn(status signal.Status, pressed time.Time) int {
	turn := 0
	for _, line := range status.Lines {
		if line.Text != "" && !l.ours(line.Text) { // not every program tells its lines
			turn = line.Turn
		}
	}
	if !pressed.IsZero() && l.runs(pressed) {
		at := 1
		for _, ended := range status.Ended {
			if ended.Unix() < pressed.Unix() { // a key of that second counts as before the end: a later look says the same
				at++
			}
		}
		turn = max(turn, at)
	}
	return turn
}

func (l Launch) ours(line string) bool {
	line = strings.TrimSpace(line)
	return strings.Contains(line, l.Session) && (strings.HasPrefix(line, agent.Opening) || strings.HasPrefix(line, "New "))
}

// runs reports whether the launch was there then: a terminal comes to show its pane when another one is closed.
func (l Launch) runs(then time.Time) bool {
	info, err := os.Stat(filepath.Join(l.Dir, agent.LaunchFile))
	return err == nil && info.ModTime().Unix() <= then.Unix()
}
