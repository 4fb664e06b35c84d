// Package mail shows people and programs the messages of a session, or of a directory of message
// files: listed, one of them whole, counted, or as they come. It writes nothing.
package mail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/folder"
)

// Source says whose messages are meant: a directory, else a session, else the only session of
// the project.
type Source struct {
	Dir     string
	Session string
}

// open finds the messages. A session that cannot be read still shows its files.
func (s Source) open(ctx context.Context, a *site.Finder) (*folder.Folder, error) {
	if s.Dir != "" && s.Session != "" {
		return nil, exit.UsageText("--dir and --session exclude each other")
	}
	if s.Dir != "" {
		f, err := folder.Open(s.Dir)
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("--dir: %w", err))
		}
		return f, nil
	}
	var args []string
	if s.Session != "" {
		args = []string{s.Session}
	}
	entry, err := a.Find(ctx, args, nil)
	if err != nil {
		return nil, err
	}
	return folder.OfSession(entry.Dir, entry.State), nil
}

// Options are those of a listing.
type Options struct {
	Source
	Filter
	JSON bool
}

// List prints the last messages that pass the filter, oldest first.
func List(ctx context.Context, a *site.Finder, o Options) error {
	f, err := o.open(ctx, a)
	if err != nil {
		return err
	}
	now := time.Now()
	if err := o.check(now); err != nil {
		return err
	}
	entries, err := f.Read(now)
	if err != nil {
		return err
	}
	entries = o.last(o.pass(entries))
	if o.JSON {
		rows := []Message{}
		for _, e := range entries {
			rows = append(rows, jsonOf(e))
		}
		return a.PrintJSON(rows)
	}
	if len(entries) == 0 {
		a.Say("no messages")
		return nil
	}
	head := []string{"AGE", "TYPE", "FROM", "TO", "STATUS", "STATE", "HEADLINE", "ID"}
	var rows [][]console.Cell
	held, why := 0, ""
	for _, e := range entries {
		m := e.Message
		text := m.Headline
		if e.State == orchestrator.MessageQueued && e.Reason != "" {
			held, why = held+1, e.Reason
		}
		if e.State == orchestrator.MessageFailed && e.Reason != "" {
			text = e.Reason
		}
		name := m.ID
		if name == "" {
			name = e.File
		}
		rows = append(rows, []console.Cell{
			console.NewCell(age(now.Sub(e.At)), paint.Faint), console.NewCell(console.Dash(m.Type), typeInk(m.Type)),
			console.NewCell(sender(e), senderInk(e)), console.PlainCell(console.Dash(m.To.String())),
			console.PlainCell(console.Dash(m.Status)), console.NewCell(e.State, stateInk(e.State)),
			console.PlainCell(console.Dash(text)), console.NewCell(name, paint.Faint),
		})
	}
	a.Page(a.Out).Table(head, rows)
	if held > 0 {
		a.Say("%d queued: %s", held, why)
	}
	return nil
}

// sender is who sent a message, marked where nothing but the file says so.
func sender(e folder.Entry) string {
	from := console.Dash(e.Message.From.String())
	if e.Claimed && e.Message.From.Agent != "" {
		return from + " (claimed)"
	}
	return from
}

func senderInk(e folder.Entry) paint.Ink {
	if e.Claimed {
		return paint.Ask
	}
	return paint.Plain
}

// age is how long ago something was, in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "ahead"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

func typeInk(kind string) paint.Ink {
	switch kind {
	case "ask":
		return paint.Ask
	case "ask-response", "task-complete":
		return paint.Good
	case "task":
		return paint.Busy
	}
	return paint.Plain
}

func stateInk(state string) paint.Ink {
	switch state {
	case orchestrator.MessageAcked:
		return paint.Good
	case orchestrator.MessageQueued, orchestrator.MessageDelivered:
		return paint.Busy
	}
	return paint.Bad
}

// Read prints one message, named by its id or its file.
func Read(ctx context.Context, a *site.Finder, o Options, name string) error {
	f, err := o.open(ctx, a)
	if err != nil {
		return err
	}
	entries, err := f.Read(time.Now())
	if err != nil {
		return err
	}
	found := folder.Find(entries, name)
	switch {
	case len(found) == 0:
		return exit.Usage(fmt.Errorf("no message is called %q; agentmux msg list shows the messages", name))
	case len(found) > 1:
		text := fmt.Sprintf("%s have the id %q, name the file of one:", console.Counted(len(found), "message", "messages"), name)
		for _, e := range found {
			text += "\n  " + e.File
		}
		return exit.Usage(errors.New(text))
	}
	e := found[0]
	body, err := f.Body(e)
	if err != nil {
		return err
	}
	if o.JSON {
		text := string(body)
		m := jsonOf(e)
		m.Body = &text
		return a.PrintJSON(m)
	}
	p := a.Page(a.Out)
	for _, row := range rowsOf(e) {
		if row.text != "" {
			p.Row(row.name, row.ink, "%s", row.text)
		}
	}
	_, err = fmt.Fprint(a.Out, "\n"+a.Shown()(string(body)))
	return err
}

type row struct {
	name string
	text string
	ink  paint.Ink
}

func rowsOf(e folder.Entry) []row {
	m := e.Message
	state := e.State
	if e.Reason != "" {
		state += ": " + e.Reason
	}
	rows := []row{
		{"message", m.Headline, paint.Strong},
		{"type", m.Type, typeInk(m.Type)},
		{"from", sender(e), senderInk(e)},
		{"to", m.To.String(), paint.Plain},
		{"status", m.Status, paint.Plain},
		{"state", state, stateInk(e.State)},
		{"at", e.At.UTC().Format(time.RFC3339), paint.Plain},
		{"id", m.ID, paint.Plain},
		{"answers", m.InReplyTo, paint.Plain},
		{"priority", m.Priority, paint.Plain},
		{"file", e.File, paint.Faint},
	}
	if !m.Deadline.IsZero() {
		rows = append(rows, row{"deadline", m.Deadline.Format(time.RFC3339), paint.Plain})
	}
	for _, w := range e.Warnings {
		rows = append(rows, row{"warning", w, paint.Ask})
	}
	return rows
}
