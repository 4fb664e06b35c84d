package watch_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator/watch"
)

const (
	// long is far more than any wake takes.
	long = time.Minute
	// quiet is how long no wake must come to believe that none will.
	quiet = 150 * time.Millisecond
)

// watched is how a test watches a tree.
type watched struct {
	watch.Options
	Ignore func(path string) bool
}

// start watches root with its first wake taken.
func start(t *testing.T, root string, o watched) *watch.Tree {
	t.Helper()
	w, err := watch.New(o.Options).Watch(root, o.Ignore)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	woken(t, w)
	return w
}

func woken(t *testing.T, w *watch.Tree) {
	t.Helper()
	select {
	case <-w.Wakes():
	case <-time.After(long):
		t.Fatal("no wake")
	}
}

// settled takes wakes until none comes any more.
func settled(t *testing.T, w *watch.Tree) {
	t.Helper()
	deadline := time.After(long)
	for {
		select {
		case <-w.Wakes():
		case <-time.After(quiet):
			return
		case <-deadline:
			t.Fatal("the wakes do not end")
		}
	}
}

func silent(t *testing.T, w *watch.Tree) {
	t.Helper()
	select {
	case <-w.Wakes():
		t.Error("woken by nothing")
	case <-time.After(quiet):
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Error(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Error(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryKindOfChangeWakes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mkdir(t, filepath.Join(root, "a", "b"))
	deep := filepath.Join(root, "a", "b", "file")
	w := start(t, root, watched{})
	for _, change := range []struct {
		name string
		do   func() error
	}{
		{"create", func() error { return os.WriteFile(deep, []byte("x"), 0o600) }},
		{"write", func() error { return os.WriteFile(deep, []byte("xy"), 0o600) }},
		{"rename", func() error { return os.Rename(deep, deep+"2") }},
		{"link", func() error { return os.Link(deep+"2", deep) }},
		{"remove", func() error { return os.Remove(deep) }},
		{"mkdir", func() error { return os.Mkdir(deep, 0o700) }},
		{"rmdir", func() error { return os.Remove(deep) }},
	} {
		settled(t, w)
		must(t, change.do())
		select {
		case <-w.Wakes():
		case <-time.After(long):
			t.Errorf("%s did not wake", change.name)
		}
	}
	settled(t, w)
	silent(t, w)
}

func TestStartIsAWake(t *testing.T) {
	t.Parallel()
	w, err := watch.New(watch.Options{}).Watch(t.TempDir(), nil)
	must(t, err)
	defer w.Close()
	woken(t, w)
	silent(t, w)
}

func TestNewDirectoriesAreWatchedAtOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	w := start(t, root, watched{})
	// A reader that lists the files at each wake has seen every file in the end.
	const dirs = 40
	go func() {
		for n := range dirs {
			dir := filepath.Join(root, fmt.Sprint(n), "x", "y", "z")
			mkdir(t, dir)
			write(t, filepath.Join(dir, "file"))
		}
	}()
	deadline := time.After(long)
	for {
		found, err := filepath.Glob(filepath.Join(root, "*", "x", "y", "z", "file"))
		must(t, err)
		if len(found) == dirs {
			break
		}
		select {
		case <-w.Wakes():
		case <-deadline:
			t.Fatalf("saw %d of %d files, then no wake came", len(found), dirs)
		}
	}
	for n := range 4 {
		settled(t, w)
		write(t, filepath.Join(root, fmt.Sprint(n), "x", "y", "z", "later"))
		woken(t, w)
	}
}

func TestIgnoredPathsDoNotWake(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mkdir(t, filepath.Join(root, "transcripts", "deep"))
	mkdir(t, filepath.Join(root, "phase"))
	w := start(t, root, watched{Ignore: func(path string) bool {
		return path == "state.json" || path == "transcripts" || strings.HasPrefix(filepath.Base(path), ".")
	}})
	write(t, filepath.Join(root, "state.json"))
	write(t, filepath.Join(root, "phase", ".plan.yaml.tmp-1"))
	write(t, filepath.Join(root, "transcripts", "a"))
	write(t, filepath.Join(root, "transcripts", "deep", "a"))
	mkdir(t, filepath.Join(root, ".hidden", "deep"))
	write(t, filepath.Join(root, ".hidden", "deep", "a"))
	silent(t, w)
	write(t, filepath.Join(root, "phase", "state.json"))
	woken(t, w)
}

func TestModeOfAFileIsNotAChange(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "file"))
	w := start(t, root, watched{})
	must(t, os.Chmod(filepath.Join(root, "file"), 0o400))
	silent(t, w)
}

func TestMovedDirectoryIsWatchedUnderItsNewName(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mkdir(t, filepath.Join(root, "old", "deep"))
	mkdir(t, filepath.Join(root, "other"))
	w := start(t, root, watched{Ignore: func(path string) bool { return strings.HasPrefix(path, "old/deep/") }})
	must(t, os.Rename(filepath.Join(root, "old"), filepath.Join(root, "other", "new")))
	woken(t, w)
	settled(t, w)
	write(t, filepath.Join(root, "other", "new", "deep", "file"))
	woken(t, w)
	settled(t, w)
	write(t, filepath.Join(root, "other", "new", "file"))
	woken(t, w)
}

func TestDirectoryMovedAwayIsNoLongerWatched(t *testing.T) {
	t.Parallel()
	root, away := t.TempDir(), t.TempDir()
	mkdir(t, filepath.Join(root, "dir", "deep"))
	w := start(t, root, watched{})
	must(t, os.Rename(filepath.Join(root, "dir"), filepath.Join(away, "dir")))
	woken(t, w)
	settled(t, w)
	write(t, filepath.Join(away, "dir", "deep", "file"))
	silent(t, w)
}

func TestLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	root, away := t.TempDir(), t.TempDir()
	must(t, os.Symlink(away, filepath.Join(root, "link")))
	w := start(t, root, watched{})
	write(t, filepath.Join(away, "file"))
	silent(t, w)
}

func TestWithoutEventsTheIntervalWakes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	w := start(t, root, watched{Options: watch.Options{NoEvents: true, Interval: 10 * time.Millisecond}})
	for range 3 {
		woken(t, w)
	}
}

func TestWithEventsTheIntervalDoesNotWake(t *testing.T) {
	t.Parallel()
	w := start(t, t.TempDir(), watched{Options: watch.Options{Interval: time.Millisecond}})
	silent(t, w)
}

func TestRootThatComesBackIsWatchedAgain(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	mkdir(t, root)
	w := start(t, root, watched{Options: watch.Options{Interval: 10 * time.Millisecond}})
	must(t, os.Remove(root))
	for range 3 {
		woken(t, w) // by the interval
	}
	mkdir(t, filepath.Join(root, "dir"))
	settled(t, w) // ends only when the interval is not needed any more
	write(t, filepath.Join(root, "dir", "file"))
	woken(t, w)
}

func TestLostEventsLeadToARescan(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs the event queue of Linux")
	}
	limit, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	must(t, err)
	var queue int
	if _, err := fmt.Sscan(string(limit), &queue); err != nil || queue > 100_000 {
		t.Skipf("the event queue holds %s", limit)
	}
	root := t.TempDir()
	blocked, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w := start(t, root, watched{Ignore: func(path string) bool {
		if path == "block" {
			once.Do(func() { close(blocked) })
			<-release
		}
		return path == "block" || strings.HasPrefix(path, "noise")
	}})
	write(t, filepath.Join(root, "other"))
	woken(t, w)
	settled(t, w)
	must(t, os.Mkdir(filepath.Join(root, "block"), 0o700))
	<-blocked
	// Two names, since equal events in a row are one in the queue.
	a, b := filepath.Join(root, "noise-a"), filepath.Join(root, "noise-b")
	write(t, a)
	for range queue {
		must(t, os.Rename(a, b))
		a, b = b, a
	}
	mkdir(t, filepath.Join(root, "lost", "deep"))
	close(release)
	woken(t, w)
	settled(t, w)
	write(t, filepath.Join(root, "lost", "deep", "file"))
	woken(t, w)
}

func TestNewNeedsADirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "file"))
	for _, path := range []string{"none", "file"} {
		t.Run(path, func(t *testing.T) {
			if _, err := watch.New(watch.Options{}).Watch(filepath.Join(root, path), nil); err == nil {
				t.Error("it was watched")
			}
		})
	}
}

func TestCloseWhileChangesCome(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(filepath.Join(root, fmt.Sprint(n%10)), nil, 0o600)
			}
		}
	}()
	for range 20 {
		w, err := watch.New(watch.Options{}).Watch(root, nil)
		must(t, err)
		<-w.Wakes()
		must(t, w.Close())
	}
	close(stop)
	<-done
}

// One subscription serves all trees, each with wakes of its own, and ends with the last.
func TestManyTreesShareOneSubscription(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts what Linux shows of a process")
	}
	subscriptions := func() (n int) {
		links, err := filepath.Glob("/proc/self/fd/*")
		must(t, err)
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil && strings.HasSuffix(to, "inotify") {
				n++
			}
		}
		return n
	}
	before := subscriptions()
	w := watch.New(watch.Options{})
	const trees = 200 // the usual limit of subscriptions is 128
	var all []*watch.Tree
	for range trees {
		tree, err := w.Watch(t.TempDir(), nil)
		must(t, err)
		woken(t, tree)
		all = append(all, tree)
	}
	if n := subscriptions() - before; n != 1 {
		t.Errorf("%d subscriptions", n)
	}
	root := t.TempDir()
	tree, err := w.Watch(root, nil)
	must(t, err)
	woken(t, tree)
	if _, err := w.Watch(root, nil); err == nil {
		t.Error("one directory was watched twice")
	}
	must(t, all[0].Close())
	write(t, filepath.Join(root, "file"))
	woken(t, tree)
	silent(t, all[1])
	for _, other := range append(all[1:], tree) {
		must(t, other.Close())
	}
	if n := subscriptions() - before; n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}
	tree, err = w.Watch(root, nil)
	must(t, err)
	settled(t, tree)
	write(t, filepath.Join(root, "later"))
	woken(t, tree)
	must(t, tree.Close())
}

func TestPollingIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	w := watch.New(watch.Options{NoEvents: true, Interval: time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
	var all []*watch.Tree
	for range 3 {
		tree, err := w.Watch(t.TempDir(), nil)
		must(t, err)
		for range 3 {
			woken(t, tree)
		}
		all = append(all, tree)
	}
	for _, tree := range all {
		must(t, tree.Close())
	}
	if n := strings.Count(log.String(), "file events are not available"); n != 1 {
		t.Errorf("it was logged %d times:\n%s", n, log.String())
	}
}
