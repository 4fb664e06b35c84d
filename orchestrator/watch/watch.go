// Package watch says that something below a directory has changed.
//
// It owns the subscription to the operating system's file events. A wake carries
// no data: whoever is woken looks at the files again. It promises
//
//   - a wake after the last change of any burst, however many changes it had:
//     nothing is lost for good, many changes may share one wake;
//   - that new directories are watched at once, and that what was written into
//     them before they were is covered by the wake of their creation;
//   - that when events were lost or cannot be had (too many watches, a file
//     system without events) it goes on with a wake every two seconds;
//   - one wake right after New, since starting is the same as a change.
//
// It follows no symbolic links below the root, and stores nothing.
package watch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Interval is the time between wakes while events cannot be had.
const Interval = 2 * time.Second

// Options change what a Watcher does. The zero value watches everything.
type Options struct {
	// Ignore tells which changes wake nobody. It gets the path relative to the
	// root, with slashes. Nothing below an ignored directory is looked at, so
	// large ones should be ignored. It is called from one goroutine and must
	// not wait.
	Ignore func(path string) bool
	// NoEvents switches the file events off: only the interval wakes.
	NoEvents bool
	// Interval replaces the constant Interval if it is not 0.
	Interval time.Duration
}

// Watcher watches one directory tree. New makes one and Close ends it.
type Watcher struct {
	root    string
	options Options
	wakes   chan struct{}
	stop    chan struct{}
	stopped chan struct{}

	// What follows belongs to the goroutine of run.

	events *fsnotify.Watcher // nil without events
	known  map[string]bool   // the watched directories
	whole  bool              // every directory is watched
}

// New starts to watch the directory root, which must exist. Everything below it
// that is not ignored is watched.
func New(root string, options Options) (*Watcher, error) {
	info, err := os.Stat(root)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no directory", root)
	}
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	if options.Interval <= 0 {
		options.Interval = Interval
	}
	w := &Watcher{
		root:    filepath.Clean(root),
		options: options,
		wakes:   make(chan struct{}, 1),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
		known:   make(map[string]bool),
	}
	if !options.NoEvents {
		// Without events (too many users of them) the interval does the work.
		w.events, _ = fsnotify.NewWatcher()
	}
	// Before New returns: a change after that is one that is seen.
	w.rescan()
	w.wake()
	go w.run()
	return w, nil
}

// Wakes gives a value when something has changed since the last one was taken.
// The channel is never closed.
func (w *Watcher) Wakes() <-chan struct{} { return w.wakes }

// Close ends the watch and waits until nothing of it runs. It must be called
// once.
func (w *Watcher) Close() error {
	close(w.stop)
	<-w.stopped
	if w.events == nil {
		return nil
	}
	if err := w.events.Close(); err != nil {
		return fmt.Errorf("close watch: %w", err)
	}
	return nil
}

// wake is level-triggered: a wake nobody has taken yet stands for this one too.
func (w *Watcher) wake() {
	select {
	case w.wakes <- struct{}{}:
	default:
	}
}

func (w *Watcher) run() {
	defer close(w.stopped)
	var changes <-chan fsnotify.Event
	var faults <-chan error
	if w.events != nil {
		changes, faults = w.events.Events, w.events.Errors
	}
	interval := time.NewTimer(w.options.Interval)
	defer interval.Stop()
	for {
		var tick <-chan time.Time
		if !w.whole {
			tick = interval.C
		}
		select {
		case <-w.stop:
			return
		case change := <-changes:
			w.changed(change)
		case <-faults:
			// Events were lost, or reading them failed: look at everything.
			w.rescan()
			w.wake()
		case <-tick:
			w.rescan()
			w.wake()
			interval.Reset(w.options.Interval)
		}
	}
}

func (w *Watcher) changed(change fsnotify.Event) {
	if change.Op == fsnotify.Chmod || w.ignored(change.Name) {
		return
	}
	switch {
	case w.known[change.Name] && change.Op&(fsnotify.Rename|fsnotify.Remove) != 0:
		// The watches below a moved directory would go on under the old name.
		w.forget(change.Name)
		w.rescan()
	case change.Has(fsnotify.Create):
		if info, err := os.Lstat(change.Name); err == nil && info.IsDir() {
			w.whole = w.add(change.Name) && w.whole
		}
	}
	// After adding: what was written into a new directory before it was watched
	// is there when the wake arrives, and what comes later has its own event.
	w.wake()
}

// rescan watches every directory that is there and forgets those that are not.
func (w *Watcher) rescan() {
	if w.events == nil {
		return
	}
	before := w.known
	w.known = make(map[string]bool, len(before))
	w.whole = w.add(w.root) && w.known[w.root]
	for dir := range before {
		if !w.known[dir] {
			w.unwatch(dir)
		}
	}
}

// add watches dir and what is below it, and reports whether it could. A
// directory that is gone is no failure.
func (w *Watcher) add(dir string) bool {
	if w.events == nil {
		return false
	}
	// First watch, then list: an entry made in between is seen twice, not
	// missed.
	if err := w.events.Add(dir); err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	w.known[dir] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	whole := true
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if entry.IsDir() && !w.ignored(path) {
			whole = w.add(path) && whole
		}
	}
	return whole
}

// forget drops dir and what is below it.
func (w *Watcher) forget(dir string) {
	below := dir + string(filepath.Separator)
	for path := range w.known {
		if path == dir || strings.HasPrefix(path, below) {
			w.unwatch(path)
			delete(w.known, path)
		}
	}
}

// unwatch may meet a directory the system has dropped by itself.
func (w *Watcher) unwatch(dir string) { _ = w.events.Remove(dir) }

func (w *Watcher) ignored(path string) bool {
	if w.options.Ignore == nil {
		return false
	}
	rel, err := filepath.Rel(w.root, path)
	return err == nil && rel != "." && w.options.Ignore(filepath.ToSlash(rel))
}
