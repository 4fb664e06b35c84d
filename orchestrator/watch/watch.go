// Package watch says that something below a directory has changed, or that a process ended.
//
// A [Watcher] owns one subscription to the operating system's file events, for any number of
// directory trees: the system limits subscriptions per user. A wake carries no data: the
// reader looks at the files again. The package promises
//
//   - a wake after the last change of any burst, however many changes it had:
//     no change is lost for good, many changes may share one wake;
//   - that new directories are watched at once, and that what was written into
//     them before they were is covered by the wake of their creation;
//   - that when events were lost or are not available (too many watches, a file
//     system without events) it continues with a wake every two seconds, and logs that once;
//   - one wake right after Watch, since starting is the same as a change;
//   - a wake after the end of each process it was told of, see [Tree.Process].
//
// It follows no symbolic links below a root, and stores nothing.
package watch

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Interval is the time between wakes where events are not available.
const Interval = 2 * time.Second

// Options change what a Watcher does. The zero value is what a host needs.
type Options struct {
	NoEvents bool          // no file events: only the interval wakes
	Interval time.Duration // replaces the constant Interval if it is not 0
	Log      *slog.Logger  // nil = none
}

// Watcher watches directory trees. It runs while it has any; its methods may be called from
// any goroutine.
type Watcher struct {
	options Options

	mu     sync.Mutex
	trees  map[*Tree]bool
	owners map[string]*Tree  // by watched directory
	events *fsnotify.Watcher // nil without events or without trees
	stop   chan struct{}
	ended  chan struct{}
	polled bool // it was logged that there are no events
}

// New returns a Watcher without trees. It needs no Close: its last tree ends it.
func New(options Options) *Watcher {
	if options.Interval <= 0 {
		options.Interval = Interval
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	return &Watcher{options: options, trees: map[*Tree]bool{}, owners: map[string]*Tree{}}
}

// Tree is one watched directory with everything below it. Watch makes one, Close ends it.
type Tree struct {
	watcher *Watcher
	root    string
	ignore  func(path string) bool
	wakes   chan struct{}

	processes processes

	// The watcher's mutex guards what follows.

	known map[string]bool // the watched directories
	whole bool            // every directory is watched
}

// Watch starts to watch the directory root, which must exist and not be watched already.
// ignore tells which changes do not wake; it gets the path relative to the root, with slashes.
// Nothing below an ignored directory is looked at, so large ones should be ignored. It must
// not wait. nil ignores nothing.
func (w *Watcher) Watch(root string, ignore func(path string) bool) (*Tree, error) {
	info, err := os.Stat(root)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", root)
	}
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	t := &Tree{watcher: w, root: filepath.Clean(root), ignore: ignore, wakes: make(chan struct{}, 1), known: map[string]bool{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owners[t.root] != nil {
		return nil, fmt.Errorf("watch: %s is watched already", root)
	}
	w.trees[t] = true
	if w.stop == nil {
		w.stop, w.ended = make(chan struct{}), make(chan struct{})
		changes, faults := w.subscribe()
		go w.run(changes, faults, w.stop, w.ended)
	}
	// Before Watch returns: a change after that is one that is seen.
	t.rescan()
	t.Wake()
	return t, nil
}

// subscribe returns the events there are; none means that the interval does the work.
func (w *Watcher) subscribe() (<-chan fsnotify.Event, <-chan error) {
	err := errors.New("switched off")
	if !w.options.NoEvents {
		w.events, err = fsnotify.NewWatcher()
	}
	if err != nil {
		w.events = nil
		w.poll(err)
		return nil, nil
	}
	return w.events.Events, w.events.Errors
}

// poll logs once that some directories are looked at by the interval.
func (w *Watcher) poll(cause error) {
	if !w.polled {
		w.polled = true
		w.options.Log.Warn("file events are not available for some directories, which are read every "+w.options.Interval.String(), "err", cause)
	}
}

// run passes events on until stop is closed.
func (w *Watcher) run(changes <-chan fsnotify.Event, faults <-chan error, stop, ended chan struct{}) {
	defer close(ended)
	tick := time.NewTicker(w.options.Interval)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case change := <-changes:
			w.changed(change)
		case <-faults:
			// Events were lost, or reading them failed: look at everything.
			w.rescan(func(*Tree) bool { return true })
		case <-tick.C:
			w.rescan(func(t *Tree) bool { return !t.whole })
		}
	}
}

// rescan looks at the trees that are meant, and wakes their readers.
func (w *Watcher) rescan(meant func(*Tree) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for t := range w.trees {
		if meant(t) {
			t.rescan()
			t.Wake()
		}
	}
}

func (w *Watcher) changed(change fsnotify.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.owners[change.Name]
	if t == nil {
		t = w.owners[filepath.Dir(change.Name)]
	}
	if t == nil || change.Op == fsnotify.Chmod || t.ignored(change.Name) {
		return
	}
	switch {
	case t.known[change.Name] && change.Op&(fsnotify.Rename|fsnotify.Remove) != 0:
		// The watches below a moved directory would continue under the old name.
		t.forget(change.Name)
		t.rescan()
	case change.Has(fsnotify.Create):
		if info, err := os.Lstat(change.Name); err == nil && info.IsDir() {
			t.whole = t.add(change.Name) && t.whole
		}
	}
	// After adding: what was written into a new directory before it was watched
	// is there when the wake arrives, and what comes later has its own event.
	t.Wake()
}

// Wakes gives a value when something has changed since the last one was taken.
// The channel is never closed.
func (t *Tree) Wakes() <-chan struct{} { return t.wakes }

// Wake has something else that changed wake, too. It may be called from any goroutine, also
// after Close. A wake that is not taken yet stands for this one too.
func (t *Tree) Wake() {
	select {
	case t.wakes <- struct{}{}:
	default:
	}
}

// Close ends the watch of the tree and waits until nothing of it runs. It must be called once.
func (t *Tree) Close() error {
	t.processes.close()
	w := t.watcher
	w.mu.Lock()
	delete(w.trees, t)
	t.forget(t.root)
	if len(w.trees) > 0 {
		w.mu.Unlock()
		return nil
	}
	events, stop, ended := w.events, w.stop, w.ended
	w.events, w.stop, w.ended = nil, nil, nil
	w.mu.Unlock()
	close(stop)
	<-ended
	if events == nil {
		return nil
	}
	if err := events.Close(); err != nil {
		return fmt.Errorf("close watch: %w", err)
	}
	return nil
}

// rescan watches every directory that exists and forgets those that do not.
func (t *Tree) rescan() {
	if t.watcher.events == nil {
		return
	}
	before := t.known
	t.known = make(map[string]bool, len(before))
	t.whole = t.add(t.root) && t.known[t.root]
	for dir := range before {
		if !t.known[dir] {
			t.unwatch(dir)
		}
	}
}

// add watches dir and what is below it, and reports whether it could. A directory that does
// not exist any more is not a failure.
func (t *Tree) add(dir string) bool {
	events := t.watcher.events
	if events == nil {
		return false
	}
	// First watch, then list: an entry made in between is seen twice, not
	// missed.
	if err := events.Add(dir); err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			t.watcher.poll(err)
			return false
		}
		return true
	}
	t.known[dir], t.watcher.owners[dir] = true, t
	entries, err := os.ReadDir(dir)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	whole := true
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if entry.IsDir() && !t.ignored(path) {
			whole = t.add(path) && whole
		}
	}
	return whole
}

// forget drops dir and what is below it.
func (t *Tree) forget(dir string) {
	below := dir + string(filepath.Separator)
	for path := range t.known {
		if path == dir || strings.HasPrefix(path, below) {
			t.unwatch(path)
			delete(t.known, path)
		}
	}
}

// unwatch may meet a directory the system has dropped by itself.
func (t *Tree) unwatch(dir string) {
	delete(t.watcher.owners, dir)
	if t.watcher.events != nil {
		_ = t.watcher.events.Remove(dir)
	}
}

func (t *Tree) ignored(path string) bool {
	if t.ignore == nil {
		return false
	}
	rel, err := filepath.Rel(t.root, path)
	return err == nil && rel != "." && t.ignore(filepath.ToSlash(rel))
}
