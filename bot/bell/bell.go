// Package bell tells the bot of a command for a session that nothing runs. A session that runs reads
// its commands by itself; to watch the files of thousands that do not would cost a watch each.
//
// A Bell belongs to the managed project of one repository. While a bot has it open, commands at a
// terminal leave the sessions of the project to that bot: they write what they have to say into
// the session, and then ring. A ring is a file, so that one that comes while the bot ends or starts is
// heard by the next Open. The bot forgets a ring before it reads the session: what is said after
// that rings again.
//
// It writes bot.lock and the directory wakes of a managed project.
package bell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator/watch"
)

const (
	lockFile = "bot.lock" // held by the bot that serves the project
	wakesDir = "wakes"    // a file for each session that was rung for
)

// Bell is heard by a bot.
type Bell struct {
	wakes string
	lock  *durable.Held
	tree  *watch.Tree
}

// Open opens the bell of the managed project in dir. The error is durable.ErrLocked if another
// process has it open.
func Open(dir string, w *watch.Watcher) (*Bell, error) {
	b := &Bell{wakes: filepath.Join(dir, wakesDir)}
	if err := makeWakes(dir); err != nil {
		return nil, err
	}
	var err error
	if b.tree, err = w.Watch(b.wakes, nil); err != nil {
		return nil, err
	}
	if b.lock, err = durable.Lock(filepath.Join(dir, lockFile), fmt.Sprintf("pid %d\n", os.Getpid())); err != nil {
		return nil, errors.Join(fmt.Errorf("serve %s: %w", dir, err), b.tree.Close())
	}
	return b, nil
}

// Close lets the project go. It must be called once.
func (b *Bell) Close() error { return errors.Join(b.tree.Close(), b.lock.Close()) }

// Run calls rung with the name of each session that was rung for, also before Open, until ctx ends.
// Whatever has a name may be in the directory: rung looks whether it is one of a session.
func (b *Bell) Run(ctx context.Context, rung func(name string), log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.tree.Wakes():
			if err := b.take(rung); err != nil {
				log.Warn("a bell is heard at the next ring", "err", err)
			}
		}
	}
}

func (b *Bell) take(rung func(name string)) error {
	found, err := os.ReadDir(b.wakes)
	if err != nil {
		return fmt.Errorf("hear the bell: %w", err)
	}
	for _, e := range found {
		if err := os.Remove(filepath.Join(b.wakes, e.Name())); err != nil {
			return fmt.Errorf("hear the bell: %w", err)
		}
		rung(e.Name())
	}
	return nil
}

func makeWakes(dir string) error {
	if err := os.Mkdir(filepath.Join(dir, wakesDir), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make bell: %w", err)
	}
	return nil
}

// Heard reports whether a bot of this machine runs the sessions of the project in dir. It is false
// for a clone.
func Heard(dir string) bool {
	held, err := durable.Probe(filepath.Join(dir, lockFile))
	return err == nil && held
}

// Ring asks the bot to run a session of the managed project in dir. It is called after what the
// session has to read was written.
func Ring(dir, name string) error {
	if err := makeWakes(dir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, wakesDir, name), nil, 0o600); err != nil {
		return fmt.Errorf("ring for %s: %w", name, err)
	}
	return nil
}
