package crew

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/bot/crew/keys"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// The ways in which a message reaches its agent.
const (
	modeHook  = "hook"
	modeTyped = "typed"
)

// settled is how long a screen must have been unchanged before it is typed to.
const settled = 2 * time.Second

// Deliver types a message to its agent if that is possible now. An agent at work is not
// disturbed: it gets the message with its next tool answer or at the end of its turn.
func (r *Crew) Deliver(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	i := slices.IndexFunc(s.Messages, func(m orchestrator.Message) bool { return m.Seq == e.Args.Seq })
	if i < 0 {
		return orchestrator.Result{}, engine.Never(fmt.Errorf("message %d is not in the state", e.Args.Seq))
	}
	m := s.Messages[i]
	status := r.signals.Status(r.launchDir(e.Args.Launch), e.Args.Launch)
	if slices.Contains(status.Messages, fmt.Sprint(m.Seq)) || slices.Contains(status.Messages, m.File) {
		return orchestrator.Result{Delivery: orchestrator.DeliverySent, Mode: modeHook}, nil
	}
	t := typing{r.sess, e}
	if t.begun() {
		return orchestrator.Result{Delivery: orchestrator.DeliveryIndeterminate, Mode: modeTyped}, nil
	}
	pane, found, err := r.panes.find(ctx, e.Args.Launch)
	if err != nil {
		return orchestrator.Result{}, err
	}
	if !found || pane.Dead || r.Now().Sub(pane.Activity) < settled {
		return refusedDelivery(), nil
	}
	return r.typeLine(ctx, t, pane, status, post.Line(r.sess.Path(m.File), m))
}

// typing is the note that the line of a delivery is typed. A host that finds it in the place of one that
// died does not know what came of it, and does not type the line a second time: without a word of its
// reader the message is delivered once more, and marked so.
type typing struct {
	sess *session.Session
	e    orchestrator.Effect
}

func (t typing) file() string { return path.Join("launches", string(t.e.Args.Launch), "typed") }

func (t typing) begun() bool {
	f, err := os.OpenFile(t.sess.Path(t.file()), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	id, err := io.ReadAll(io.LimitReader(f, 100))
	return err == nil && string(id) == t.e.ID
}

// begin need not survive the loss of power, which ends the launch, too.
func (t typing) begin() error { return t.sess.View(t.file(), []byte(t.e.ID)) }

func refusedDelivery() orchestrator.Result {
	return orchestrator.Result{Delivery: orchestrator.DeliveryRefused}
}

// typeLine types into a pane whose program waits for input.
func (r *Crew) typeLine(ctx context.Context, t typing, pane tmux.Pane, status signal.Status, line string) (orchestrator.Result, error) {
	launch := t.e.Args.Launch
	l, err := agent.ReadLaunch(r.launchDir(launch))
	if err != nil || l.Transport != agent.TUI {
		return refusedDelivery(), nil // a headless run reads nothing more
	}
	p := r.providers[l.Provider]
	if !r.waitsForInput(ctx, p, pane, status) || strings.ContainsAny(line[:1], p.Unsafe) {
		return refusedDelivery(), nil
	}
	outcome, err := r.panes.server.Submit(ctx, pane.ID, line, tmux.SubmitOptions{
		Pause: p.Pause,
		Ready: func() error {
			if err := stillThere(r.launchDir(launch), launch, pane.PID); err != nil {
				return err
			}
			if err := keys.Free(ctx, r.panes.server, r.Now()); err != nil {
				return err
			}
			return t.begin()
		},
		Confirm: func() bool {
			return r.signals.Status(r.launchDir(launch), launch).Prompts > status.Prompts
		},
	})
	if err != nil {
		return orchestrator.Result{}, err
	}
	switch outcome.Delivery {
	case tmux.Sent:
		return orchestrator.Result{Delivery: orchestrator.DeliverySent, Mode: modeTyped}, nil
	case tmux.Indeterminate:
		return orchestrator.Result{Delivery: orchestrator.DeliveryIndeterminate, Mode: modeTyped}, nil
	}
	return refusedDelivery(), nil
}

// waitsForInput reports whether the program is known to be idle: by its hooks, else by its
// screen. A program whose turn its service ended is idle, too, and stays so until it gets a
// line; but it may show a menu in the place of its input.
func (r *Crew) waitsForInput(ctx context.Context, p agent.Provider, pane tmux.Pane, status signal.Status) bool {
	switch status.State {
	case signal.Idle:
		return true
	case "", signal.Starting, signal.Ready:
	case signal.RateLimited:
		if len(p.Ready) == 0 {
			return true
		}
	case signal.Working: // its turn may have ended by an error, without a word
		if r.Now().Sub(pane.Activity) < quietTime {
			return false
		}
	default:
		return false
	}
	text, err := r.panes.server.Capture(ctx, pane.ID, 0)
	return err == nil && p.Screen(text) == signal.Idle
}

// stillThere is the last check before a key is pressed.
func stillThere(dir string, launch orchestrator.Launch, pid int) error {
	if _, ended, err := agent.ReadExit(dir); err != nil || ended {
		return fmt.Errorf("launch %s has ended", launch)
	}
	front, err := process.InFront(pid)
	if err == nil && !front {
		err = fmt.Errorf("launch %s does not read its terminal", launch)
	}
	return err
}
