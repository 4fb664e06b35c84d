package mail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/folder"
	"github.com/agentmux/agentmux/orchestrator/watch"
)

// still is how long a file that is not a message yet may be one that somebody writes.
const still = 2 * time.Second

// Follow prints the last messages that pass the filter and each further one as it comes, until
// ctx ends. What is printed does not depend on clocks and stamps: a message is new if its file
// was not there before, so a new day or year changes nothing.
func Follow(ctx context.Context, a *site.Finder, o Options) (err error) {
	f, err := o.open(ctx, a)
	if err != nil {
		return err
	}
	if err := o.check(time.Now()); err != nil {
		return err
	}
	if _, err := os.Stat(f.Dir); errors.Is(err, fs.ErrNotExist) {
		return exit.UsageText("this session has no messages yet")
	}
	tree, err := watch.New(watch.Options{}).Watch(f.Dir, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	t := &tail{options: o, console: a.Console, folder: f, seen: map[string]bool{}}
	for first := true; ; first = false {
		again, err := t.look(first)
		if err != nil {
			return err
		}
		var timer <-chan time.Time
		if again {
			timer = time.After(still)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tree.Wakes():
		case <-timer:
		}
	}
}

// tail prints what it has not printed before.
type tail struct {
	options Options
	console *console.Console
	folder  *folder.Folder
	seen    map[string]bool // by Entry.Same
}

// look prints the new messages; again reports whether a file may become one soon.
func (t *tail) look(first bool) (again bool, err error) {
	now := time.Now()
	entries, err := t.folder.ReadNew(now, t.seen)
	if err != nil {
		return false, err
	}
	var found []folder.Entry
	for _, e := range entries {
		switch {
		case e.State == orchestrator.MessageFailed && now.Sub(e.Changed).Abs() < still:
			again = true
		default:
			t.seen[e.Same()] = true
			found = append(found, e)
		}
	}
	found = t.options.pass(found)
	if first {
		found = t.options.last(found)
	}
	for _, e := range found {
		if err := t.print(e); err != nil {
			return false, err
		}
	}
	return again, nil
}

func (t *tail) print(e folder.Entry) error {
	if t.options.JSON {
		return t.console.PrintJSONLine(jsonOf(e))
	}
	t.console.Print("%s", line(e))
	return nil
}

// line is a message in one line.
func line(e folder.Entry) string {
	m := e.Message
	text := m.Headline
	if e.Reason != "" {
		text += " (" + e.State + ": " + e.Reason + ")"
	}
	return console.OneLine(fmt.Sprintf("%s  %s  %s -> %s  %s  %s", e.At.UTC().Format("2006-01-02 15:04:05Z"),
		console.Dash(m.Type), sender(e), console.Dash(m.To.String()), console.Dash(m.Status), text))
}
