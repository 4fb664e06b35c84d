package mail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/folder"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/watch"
)

// still is how long a file that is not a message yet may be one that somebody writes.
const still = 2 * time.Second

// A message that was sent is in its file a moment before its session has taken it, and knows its sender.
const (
	taking      = 5 * time.Second // how long that may last
	takingPause = 250 * time.Millisecond
)

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
		if again > 0 {
			timer = time.After(again)
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

// look prints the new messages; again is after what time a file may be one, or 0.
func (t *tail) look(first bool) (again time.Duration, err error) {
	now := time.Now()
	entries, err := t.read(now)
	if err != nil {
		return 0, err
	}
	var found []folder.Entry
	for _, e := range entries {
		young := now.Sub(e.Changed).Abs()
		switch {
		case t.options.Dir == "" && !e.Taken && young < taking:
			again = takingPause
		case e.State == orchestrator.MessageFailed && !e.Taken && young < still:
			again = still
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
			return 0, err
		}
	}
	return again, nil
}

// read returns the new messages. A session took some of them since it was read last, and only it knows
// who sent them.
func (t *tail) read(now time.Time) ([]folder.Entry, error) {
	entries, err := t.folder.ReadNew(now, t.seen)
	if err != nil || t.options.Dir != "" || !slices.ContainsFunc(entries, func(e folder.Entry) bool { return !e.Taken }) {
		return entries, err
	}
	if state := t.state(); state != nil {
		t.folder.Learn(state)
		return t.folder.ReadNew(now, t.seen)
	}
	return entries, nil
}

// state is that of the session, or nil: without it the files are shown all the same.
func (t *tail) state() *orchestrator.State {
	s, err := session.Open(filepath.Dir(t.folder.Dir))
	if err != nil {
		return nil
	}
	state, err := s.ReadState()
	if err != nil {
		return nil
	}
	return state
}

func (t *tail) print(e folder.Entry) error {
	if t.options.JSON {
		return t.console.PrintJSONLine(jsonOf(e))
	}
	t.console.Print("%s", t.console.Shown()(line(e)))
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
