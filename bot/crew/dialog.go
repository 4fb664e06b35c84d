package crew

import (
	"context"
	"strings"
	"sync"

	"github.com/agentmux/agentmux/bot/crew/keys"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/tmux"
)

// maxPresses is how often the key of a dialog is pressed while the screen shows no effect.
const maxPresses = 3

// dialogs remembers which known dialogs were answered, by launch and text. An answered dialog
// is not answered a second time: its text may stay on the screen or be part of what an agent
// prints, and the key would go to something else.
type dialogs struct {
	mu      sync.Mutex
	answers map[dialog]answer
}

type dialog struct {
	launch orchestrator.Launch
	text   string
}

type answer struct {
	screen  string // when the key was last pressed
	presses int
}

// open reports whether to press the key of a dialog on the screen: once, and a few more times
// while the screen does not change, because a program that is still starting may lose the key.
func (d *dialogs) open(asked dialog, screen string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, answered := d.answers[asked]
	if answered && a.screen != screen {
		a.presses = maxPresses
		d.answers[asked] = a
	}
	return a.presses < maxPresses
}

// pressed remembers that the key was pressed.
func (d *dialogs) pressed(asked dialog, screen string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.answers == nil {
		d.answers = map[dialog]answer{}
	}
	d.answers[asked] = answer{screen: screen, presses: d.answers[asked].presses + 1}
}

// answerDialog presses the key of a known dialog, and reports whether it tried to.
func (r *observer) answerDialog(ctx context.Context, launch orchestrator.Launch, p agent.Provider, pane tmux.Pane, screen string) bool {
	screen = strings.TrimRight(screen, " \n")
	for _, d := range p.Trust {
		asked := dialog{launch, d.Text}
		if !strings.Contains(screen, d.Text) || !r.dialogs.open(asked, screen) {
			continue
		}
		outcome, err := tmux.Outcome{}, keys.Free(ctx, r.panes.server, r.Now())
		if err == nil {
			outcome, err = r.panes.server.SendKey(ctx, pane.ID, d.Key)
		}
		if err != nil || outcome.Delivery == tmux.Refused {
			r.Log.Info("a known dialog could not be answered", "session", r.sess.Name(), "launch", launch, "why", outcome.Why, "err", err)
			return true
		}
		r.dialogs.pressed(asked, screen)
		r.Log.Info("answered a known dialog", "session", r.sess.Name(), "launch", launch)
		return true
	}
	return false
}
