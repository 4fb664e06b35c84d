// Package powertest is a disk for tests that knows what a power loss may leave of
// it. It works on real files and writes down every call that changes them; from
// that it lays out, for any moment of the past, the directories that might have been
// found after the power had gone: with only what was synced, with more of it, with
// files of the right length and without their bytes, with changes of names in
// another order.
//
// It promises no more than POSIX does: a file's bytes are there after a sync of the
// file, its name after a sync of the directory, a rename is whole or not there. It
// stores nothing beside the files that are written through it.
package powertest

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"github.com/agentmux/agentmux/internal/durable"
)

// Disk makes calls to this machine and remembers them. It is safe for concurrent
// use. Everything below its root must be written through it.
type Disk struct {
	// Fault, if set before the first call, is asked before each; an error is the
	// end of the call. Half of a write that fails is written, as on a full disk.
	Fault func(call, path string) error

	system durable.System
	mu     sync.Mutex
	root   string
	past   []change
	files  int // openings so far
}

// New returns a Disk on the empty directory root, which no power loss removes.
func New(root string) *Disk { return &Disk{root: root} }

// Disk returns the rules of package durable on this disk.
func (d *Disk) Disk() durable.Disk { return durable.On(d) }

// Moment returns the number of changes so far. What was answered at a moment must
// be found after a power loss at that moment or later.
func (d *Disk) Moment() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.past)
}

// Write writes a file as a program does that knows nothing of syncing.
func (d *Disk) Write(path string, data []byte) error {
	f, err := d.Open(path, durable.Lockable)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.Write(data)
	return err
}

// change is one call that changed the disk.
type change struct {
	call string
	path string // relative to the root
	to   string // of rename and link
	file int    // the opening it was made through
	data []byte
	size int64
}

// do makes a call unless it is to fail, and writes it down.
func (d *Disk) do(c change, call func() error) error {
	if d.Fault != nil {
		if err := d.Fault(c.call, c.path); err != nil {
			return err
		}
	}
	return d.record(c, call)
}

func (d *Disk) record(c change, call func() error) error {
	// The lock keeps the order of the calls that of what was written down.
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := call(); err != nil {
		return err
	}
	d.past = append(d.past, c)
	return nil
}

func (d *Disk) rel(path string) string {
	rel, err := filepath.Rel(d.root, path)
	if err != nil {
		return path
	}
	return rel
}

// Open opens a file of this machine.
func (d *Disk) Open(path string, how durable.Opening) (durable.File, error) {
	f := &file{disk: d, path: d.rel(path), how: how}
	call := "open"
	switch how {
	case durable.NewFile, durable.Appending, durable.Lockable:
		call = "create" // or found
	}
	d.mu.Lock()
	d.files++
	f.number = d.files
	d.mu.Unlock()
	err := d.do(change{call: call, path: f.path, file: f.number}, func() (err error) {
		f.File, err = d.system.Open(path, how)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Mkdir makes a directory.
func (d *Disk) Mkdir(path string) error {
	return d.do(change{call: "mkdir", path: d.rel(path)}, func() error { return d.system.Mkdir(path) })
}

// Rename renames a file or a directory.
func (d *Disk) Rename(from, to string) error {
	return d.do(change{call: "rename", path: d.rel(from), to: d.rel(to)}, func() error { return d.system.Rename(from, to) })
}

// Link gives a file a second name.
func (d *Disk) Link(from, to string) error {
	return d.do(change{call: "link", path: d.rel(from), to: d.rel(to)}, func() error { return d.system.Link(from, to) })
}

// Remove removes a name.
func (d *Disk) Remove(path string) error {
	return d.do(change{call: "remove", path: d.rel(path)}, func() error { return d.system.Remove(path) })
}

// file is an open file whose changes are written down.
type file struct {
	durable.File
	disk   *Disk
	path   string
	how    durable.Opening
	number int
}

// Write appends, which is all that package durable does.
func (f *file) Write(p []byte) (n int, err error) {
	c := change{call: "write", path: f.path, file: f.number}
	if d := f.disk; d.Fault != nil {
		if err = d.Fault(c.call, c.path); err != nil {
			p = p[:len(p)/2]
		}
	}
	c.data = slices.Clone(p)
	failed := f.disk.record(c, func() (err error) {
		n, err = f.File.Write(p)
		return err
	})
	return n, errors.Join(err, failed)
}

func (f *file) Truncate(size int64) error {
	return f.disk.do(change{call: "truncate", path: f.path, file: f.number, size: size}, func() error { return f.File.Truncate(size) })
}

// Sync does not bother the real disk: the test is over before its power goes.
func (f *file) Sync() error {
	call := "sync"
	if f.how == durable.Directory {
		call = "syncdir"
	}
	return f.disk.do(change{call: call, path: f.path, file: f.number}, func() error { return nil })
}
