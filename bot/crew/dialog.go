package crew

import (
	"context"
	"strings"
	"sync"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/tmux"
)

// maxPresses is how often the key of a dialog is pressed while the screen shows no effect.
const maxPresses = 3

// dialogs remembers which known dialogs were answered, by launch and text. One that was is
// not answered again: its text may stay on the screen, or come back in what an agent prints,
// and the key would go to whatever stands there now.
type dialogs struct {
	mu      sync.Mutex
	answers map[[2]string]answer
}

type answer struct {
	screen  string // when the key was last pressed
	presses int
}

// open reports whether the key of a dialog on the screen is to be pressed: the first time,
// and again only while nothing has moved, since a program that is still starting may lose it.
func (d *dialogs) open(launch, text, screen string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := [2]string{launch, text}
	a, answered := d.answers[key]
	if answered && a.screen != screen {
		a.presses = maxPresses
		d.answers[key] = a
	}
	return a.presses < maxPresses
}

// pressed remembers that the key was pressed.
func (d *dialogs) pressed(launch, text, screen string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.answers == nil {
		d.answers = map[[2]string]answer{}
	}
	key := [2]string{launch, text}
	d.answers[key] = answer{screen: screen, presses: d.answers[key].presses + 1}
}

// answerDialog presses the key of a known dialog, and reports whether it tried to.
func (r *observer) answerDialog(ctx context.Context, launch string, p agent.Provider, pane tmux.Pane, screen string) bool {
	screen = strings.TrimRight(screen, " \n")
	for _, d := range p.Trust {
		if !strings.Contains(screen, d.Text) || !r.dialogs.open(launch, d.Text, screen) {
			continue
		}
		outcome, err := r.panes.server.SendKey(ctx, pane.ID, d.Key)
		if err != nil || outcome.Delivery == tmux.Refused {
			r.Log.Info("a known dialog could not be answered", "session", r.sess.Name(), "launch", launch, "why", outcome.Why, "err", err)
			return true
		}
		r.dialogs.pressed(launch, d.Text, screen)
		r.Log.Info("answered a known dialog", "session", r.sess.Name(), "launch", launch)
		return true
	}
	return false
}
