package keys

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/tmux"
)

const (
	// reaction is how long a program is given to show what a key has led to.
	reaction = 2 * time.Second
	// glance is the time between two looks for that.
	glance = 100 * time.Millisecond
	// settled is how long a screen must be quiet until a person is asked about what it shows instead.
	settled = 5 * time.Second
)

// Pane is one whose program may ask a person by a dialog.
type Pane struct {
	Server   *tmux.Server
	ID       string
	Dir      string // of its launch
	Provider agent.Provider
	Clean    func(string) string // takes secrets out of what the screen shows
	Now      func() time.Time
}

// more is said before what may not be all of a dialog.
const more = "more above: attach"

// Look returns the known dialog on the screen and what it shows; nothing without one. Where its program has written more
// than the screen shows, that is said, since where a dialog begins is not known.
func (p Pane) Look(ctx context.Context) (agent.Menu, string, error) {
	screen, err := p.Server.Capture(ctx, p.ID, 0)
	if err != nil {
		return agent.Menu{}, "", err
	}
	menu, shown, ok := p.Provider.Menu(screen)
	if !ok {
		return agent.Menu{}, "", nil
	}
	longer, err := p.Server.Capture(ctx, p.ID, 1)
	if err != nil {
		return agent.Menu{}, "", err
	}
	top, _, _ := strings.Cut(screen, "\n")
	return menu, fit(p.Clean(shown), strings.TrimSpace(top) != "" || strings.Count(longer, "\n") > strings.Count(screen, "\n")), nil
}

// fit is what a question says of a screen. What is cut is compared all the same, by its digest.
func fit(shown string, above bool) string {
	head, text := more, []rune(shown)
	if room := orchestrator.MaxEventText - len(more) - 50; len(text) > room {
		sum := sha256.Sum256([]byte(strings.Join(strings.Fields(shown), " ")))
		head, text, above = fmt.Sprintf("%s (%x)", more, sum[:16]), text[len(text)-room:], true
	}
	if !above {
		return string(text)
	}
	return head + "\n" + string(text)
}

// Waits is how long a program has waited for a person by the signals of its hooks; 0 if it does not.
func Waits(status signal.Status, now time.Time) time.Duration {
	if status.State != signal.WaitingPermission && status.State != signal.WaitingAnswer || status.Since.IsZero() {
		return 0
	}
	return max(0, now.Sub(status.Since))
}

// Asks reports whether the pane shows a known dialog, and tells of it in the report of its launch. What is asked about, if
// anything, is told in the words of its question.
func (p Pane) Asks(ctx context.Context, d *Dialogs, q *orchestrator.Question, out *orchestrator.AgentReport) bool {
	menu, shown, err := p.Look(ctx)
	switch {
	case err != nil && q != nil:
		out.Dialog, out.Choices = q.Text, q.Options // the next look tells more
		return true
	case shown == "":
		return false
	}
	d.show(p.Dir, p.Now())
	out.Dialog, out.Choices = shown, menu.Labels()
	if q != nil && (agent.SameScreen(q.Text, shown) || out.Silence.D() < settled) {
		out.Dialog, out.Choices = q.Text, q.Options
	}
	return true
}

// Answer presses what a person chose while the dialog of the question is on the screen, at most three times, and tells
// what came of it: sent, if the screen changed; refused, if nothing was pressed because the dialog was gone or another one;
// else indeterminate. A dialog that comes back is a new one: nothing is pressed again once the screen has changed, nor where
// an earlier call has pressed, which may not have seen that. Each try is noted before it is made: one that a host died in
// counts.
func (p Pane) Answer(ctx context.Context, d *Dialogs, q orchestrator.Question) (delivery string, err error) {
	before := d.Tried(p.Dir, q.ID)
	for {
		menu, shown, err := p.Look(ctx)
		if err != nil {
			return "", err
		}
		keys := menu.Keys(string(q.Answer))
		tried := d.Tried(p.Dir, q.ID)
		switch {
		case (!agent.SameScreen(shown, q.Text) || len(keys) == 0) && tried > 0:
			return orchestrator.DeliverySent, nil
		case !agent.SameScreen(shown, q.Text) || len(keys) == 0:
			return orchestrator.DeliveryRefused, nil
		case before > 0 || tried >= maxPresses:
			return orchestrator.DeliveryIndeterminate, nil
		}
		if err := Free(ctx, p.Server, p.Now()); err != nil {
			return "", err
		}
		if err := d.Try(p.Dir, q.ID, 1); err != nil {
			return "", err
		}
		out, err := p.Server.SendKey(ctx, p.ID, keys...)
		if err == nil && out.Delivery == tmux.Refused {
			err = errors.Join(ErrRefused, errors.New(out.Why), d.Try(p.Dir, q.ID, -1))
		}
		if err != nil {
			return "", err
		}
		if changed, err := p.reacts(ctx, q.Text); err != nil {
			return "", err
		} else if changed {
			return orchestrator.DeliverySent, nil
		}
	}
}

// ErrRefused means that a pane takes no keys, as while a person reads back in it.
var ErrRefused = errors.New("the keys were not taken")

// reacts waits until the screen shows something else, but not long, and reports whether it does.
func (p Pane) reacts(ctx context.Context, text string) (changed bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, reaction, errSlow)
	defer cancel()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errSlow) {
				return false, nil
			}
			return false, context.Cause(ctx)
		case <-tick.C:
		}
		if _, shown, err := p.Look(ctx); err == nil && !agent.SameScreen(shown, text) {
			return true, nil
		}
	}
}

var errSlow = errors.New("the screen has not changed")
