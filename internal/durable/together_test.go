package durable_test

import (
	"errors"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/durable"
)

// slowDisk brings the first file it opens to disk once done is closed, by failing with err.
type slowDisk struct {
	durable.System
	began, done chan struct{}
	err         error
	once        sync.Once
}

func (d *slowDisk) Open(path string, how durable.Opening) (durable.File, error) {
	f, err := d.System.Open(path, how)
	if err == nil {
		d.once.Do(func() { f = slowFile{f, d} })
	}
	return f, err
}

type slowFile struct {
	durable.File
	disk *slowDisk
}

func (f slowFile) Sync() error {
	close(f.disk.began)
	<-f.disk.done
	return f.disk.err
}

// Lines of others are written while one waits for the disk, and stay if that fails: what is before them is
// not cut off, as their places would move.
func TestOthersAppendWhileOneWaitsForTheDisk(t *testing.T) {
	for _, failure := range []error{nil, syscall.EIO} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		slow := &slowDisk{began: make(chan struct{}), done: make(chan struct{}), err: failure}
		failed := make(chan error, 1)
		go func() { failed <- durable.On(slow).Append(path, lines("one\n")) }()
		<-slow.began
		if err := durable.AppendWithin(path, 0, lines("two\n")); err != nil {
			t.Errorf("another writer: %v", err)
		}
		close(slow.done)
		if err := <-failed; (err != nil) != (failure != nil) || errors.Is(err, durable.ErrStays) != (failure != nil) {
			t.Errorf("the first writer: %v, the disk says %v", err, failure)
		}
		if got, _ := content(t, path); got != "one\ntwo\n" {
			t.Errorf("the file holds %q", got)
		}
	}
}
