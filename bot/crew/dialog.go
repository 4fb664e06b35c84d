package crew

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/crew/keys"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/dialog"
	"github.com/agentmux/agentmux/orchestrator/engine"
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

// paneOf is the pane of a launch as one whose program may ask by a dialog; false if it has none that a person can be asked.
func paneOf(r *Crew, launch orchestrator.Launch, pane tmux.Pane) (keys.Pane, bool) {
	l, err := agent.ReadLaunch(r.launchDir(launch))
	p := r.providers[l.Provider]
	return keys.Pane{
		Server: r.panes.server, ID: pane.ID, Dir: r.launchDir(launch), Provider: p, Clean: r.Redactor.Redact, Now: r.Now,
	}, err == nil && l.Transport == agent.TUI && len(p.Dialogs) > 0
}

// asks tells of a known dialog that an agent without a person shows, and reports whether it shows one. A screen is looked
// at while it is quiet or its program waits by its hooks, and while a person is asked about what it shows.
func (r *observer) asks(ctx context.Context, out *orchestrator.AgentReport, pane tmux.Pane, status signal.Status) bool {
	at, may := paneOf(r.Crew, out.Launch, pane)
	q := dialog.Of(r.state(), out.Key)
	if !may || r.state().Interactive || status.State == signal.Idle || status.State == signal.RateLimited {
		return false
	}
	open := max(out.Silence.D(), keys.Waits(status, r.Now()))
	if q == nil && open < dialogTime {
		r.within(dialogTime - open)
		return false
	}
	shown := at.Asks(ctx, &r.dialogs, q, out)
	if shown {
		r.within(idleTime)
	}
	return shown
}

// AnswerDialog presses what a person chose of a dialog that an agent's program shows. Nothing is pressed when the dialog is
// gone: then the person, or another answer, was there before.
func (r *Crew) AnswerDialog(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	i := slices.IndexFunc(s.Questions, func(q orchestrator.Question) bool { return q.ID == e.Args.Question })
	pane, found, err := r.panes.find(ctx, e.Args.Launch)
	if err != nil {
		return orchestrator.Result{}, err
	}
	at, may := paneOf(r, e.Args.Launch, pane)
	if i < 0 || !found || pane.Dead || !may {
		return refusedDelivery(), nil
	}
	delivery, err := at.Answer(ctx, &r.dialogs, s.Questions[i])
	if errors.Is(err, keys.ErrPerson) || errors.Is(err, keys.ErrRefused) {
		err = engine.Remote(err, 10*time.Second) // until the person is done, see the limit of this effect
	}
	return orchestrator.Result{Delivery: delivery}, err
}
