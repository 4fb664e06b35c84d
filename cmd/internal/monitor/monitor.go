package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/orchestrator"
	tea "github.com/charmbracelet/bubbletea"
)

// Options are the parts of one Run.
type Options struct {
	Dir string    // session directory
	In  io.Reader // keys
	Out io.Writer // a terminal; anything else gets one picture and no colours

	Sandbox string // what the agents are kept from, in a few words

	// Send records a command of the person at the keys: Name, Args and Source
	// are set, Actor and SourceID are the caller's to add. It may be called
	// from any goroutine. nil: the monitor only shows.
	// It returns what happened to the command.
	Send func(orchestrator.Payload) (became string, err error)

	// Changes says in a few words what the open gate asks about. nil: nothing is said.
	Changes func(*orchestrator.State) string

	// Detach takes the person's terminal off the tmux in which the monitor runs. nil: it runs
	// by itself. With it, the keys that quit call it, and the monitor stays for the next
	// person.
	Detach func() error

	// Shown makes text of agents and strangers fit to be shown, for example without secrets.
	// nil: texts are shown as they are.
	Shown func(string) string
}

// frames is how often per second the terminal may be drawn. The drawing loop wakes that often
// even if nothing changes, and each session of a host has a monitor.
const frames = 5

// Run shows the session until ctx ends or the person quits; a session that has
// ended keeps showing its result. Neither is an error.
func Run(ctx context.Context, o Options) error {
	r, err := newReader(o.Dir)
	if err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	r.shown, r.changes, r.facts.Sandbox = o.Shown, o.Changes, o.Sandbox
	if !paint.Terminal(o.Out) {
		return once(r, o.Out)
	}
	r.stays = o.Detach != nil
	m := model{reader: r, send: o.Send, detach: o.Detach, now: time.Now, palette: paint.New(o.Out)}
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out),
		tea.WithAltScreen(), tea.WithoutSignalHandler(), tea.WithFPS(frames))
	_, err = p.Run()
	if err != nil && (ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	return nil
}

// onceWidth is the width of a picture that is not for a terminal.
const onceWidth = 79

// once writes a single picture.
func once(r *reader, out io.Writer) error {
	v, err := r.view(time.Now())
	if err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	_, err = io.WriteString(out, Render(v, onceWidth, 0))
	return err
}
