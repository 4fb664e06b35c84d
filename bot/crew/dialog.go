package crew

import (
	"context"
	"strings"

	"github.com/agentmux/agentmux/bot/crew/keys"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/tmux"
)

// starts reports whether a program may still open with a dialog. One without hooks has started when it shows its prompt.
func (r *observer) starts(launch orchestrator.Launch, p agent.Provider, status signal.Status) bool {
	return len(p.Trust) > 0 && (status.State == "" || status.State == signal.Starting) && !r.dialogs.Started(r.launchDir(launch))
}

// answerDialog presses the key of a known dialog, and reports whether it tried to. A prompt on the screen without
// one ends the start of a program without hooks.
func (r *observer) answerDialog(ctx context.Context, launch orchestrator.Launch, p agent.Provider, pane tmux.Pane, screen string) bool {
	dir := r.launchDir(launch)
	text := strings.TrimRight(screen, " \n")
	for _, d := range p.Trust {
		if !strings.Contains(text, d.Text) || !r.dialogs.Open(dir, d.Text, text) {
			continue
		}
		outcome, err := tmux.Outcome{}, keys.Free(ctx, r.panes.server, r.Now())
		if err == nil {
			noted := r.dialogs.Press(dir, d.Text, text, func() bool {
				outcome, err = r.panes.server.SendKey(ctx, pane.ID, d.Key)
				return err == nil && outcome.Delivery != tmux.Refused
			})
			if err == nil {
				err = noted
			}
		}
		if err != nil || outcome.Delivery == tmux.Refused {
			r.Log.Info("a known dialog could not be answered", "session", r.sess.Name(), "launch", launch, "why", outcome.Why, "err", err)
			return true
		}
		r.Log.Info("answered a known dialog", "session", r.sess.Name(), "launch", launch)
		return true
	}
	if p.Hooks == "" && p.Screen(screen) == signal.Idle {
		if err := r.dialogs.Start(dir); err != nil {
			r.Log.Warn("the start of a program is not noted", "session", r.sess.Name(), "launch", launch, "err", err)
		}
	}
	return false
}
