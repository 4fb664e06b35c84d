package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// errPower is what every call returns after the power is gone.
var errPower = errors.New("no power")

// faultyDisk is a disk on one real directory that remembers what was synced. At
// a chosen call it fails, or the power goes.
type faultyDisk struct {
	system
	calls int
	// power is the number of the call before which the power goes; 0 for never.
	power int
	// fault, if set, is asked before each call of a file whether it fails.
	fault func(call string) error

	names  []nameChange     // the changes of names not synced yet
	synced map[string]*node // the names on disk
	live   map[string]*node // the names
}

// node is the content of one file.
type node struct{ synced, live []byte }

// nameChange gives a name another content, or none.
type nameChange struct {
	name string
	node *node
}

func newFaultyDisk(power int) *faultyDisk {
	return &faultyDisk{power: power, synced: make(map[string]*node), live: make(map[string]*node)}
}

func (d *faultyDisk) call(name string) error {
	if d.fault != nil {
		if err := d.fault(name); err != nil {
			return err
		}
	}
	d.calls++
	if d.power > 0 && d.calls >= d.power {
		return errPower
	}
	return nil
}

func (d *faultyDisk) change(path string, n *node) {
	name := filepath.Base(path)
	d.names = append(d.names, nameChange{name, n})
	if n == nil {
		delete(d.live, name)
		return
	}
	d.live[name] = n
}

func (d *faultyDisk) open(path string, how opening) (file, error) {
	if err := d.call("open"); err != nil {
		return nil, err
	}
	f, err := d.system.open(path, how)
	if err != nil {
		return nil, err
	}
	if how == directory {
		return &faultyFile{file: f, disk: d, directory: true}, nil
	}
	if d.live[filepath.Base(path)] == nil {
		d.change(path, &node{})
	}
	return &faultyFile{file: f, disk: d, node: d.live[filepath.Base(path)]}, nil
}

func (d *faultyDisk) rename(from, to string) error {
	if err := d.call("rename"); err != nil {
		return err
	}
	if err := d.system.rename(from, to); err != nil {
		return err
	}
	moved := d.live[filepath.Base(from)]
	d.change(to, moved)
	d.change(from, nil)
	return nil
}

func (d *faultyDisk) link(from, to string) error {
	if err := d.call("link"); err != nil {
		return err
	}
	if err := d.system.link(from, to); err != nil {
		return err
	}
	d.change(to, d.live[filepath.Base(from)])
	return nil
}

func (d *faultyDisk) remove(path string) error {
	if err := d.call("remove"); err != nil {
		return err
	}
	if err := d.system.remove(path); err != nil {
		return err
	}
	d.change(path, nil)
	return nil
}

type faultyFile struct {
	file
	disk      *faultyDisk
	node      *node
	directory bool
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.disk.call("write"); err != nil {
		// As a full disk does: a part of it is there.
		n, _ := f.file.Write(p[:len(p)/2])
		f.node.live = append(f.node.live, p[:n]...)
		return n, err
	}
	n, err := f.file.Write(p)
	f.node.live = append(f.node.live, p[:n]...)
	return n, err
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.disk.call("truncate"); err != nil {
		return err
	}
	f.node.live = f.node.live[:size:size]
	return f.file.Truncate(size)
}

func (f *faultyFile) sync() error {
	if err := f.disk.call("sync"); err != nil {
		return err
	}
	if f.directory {
		f.disk.synced, f.disk.names = f.disk.namesAfter(len(f.disk.names)), nil
		return nil
	}
	f.node.synced = append([]byte(nil), f.node.live...)
	return nil
}

// namesAfter returns the names if of the changes not synced the first n reached
// the disk.
func (d *faultyDisk) namesAfter(n int) map[string]*node {
	names := make(map[string]*node)
	for name, node := range d.synced {
		names[name] = node
	}
	for _, change := range d.names[:n] {
		delete(names, change.name)
		if change.node != nil {
			names[change.name] = change.node
		}
	}
	return names
}

// contents are what a power loss may leave of a file: what was synced, all, a
// part, or the right length without the right bytes.
func (n *node) contents() [][]byte {
	kept := len(n.live)
	for kept > 0 && (kept > len(n.synced) || n.live[kept-1] != n.synced[kept-1]) {
		kept--
	}
	half := n.live[:kept+(len(n.live)-kept)/2]
	zeros := append(append([]byte(nil), n.live[:kept]...), make([]byte, len(n.live)-kept)...)
	return [][]byte{n.synced, n.live, half, zeros}
}

// images calls check with a directory for every state a power loss may leave.
func (d *faultyDisk) images(t *testing.T, check func(dir string)) {
	t.Helper()
	for n := range len(d.names) + 1 {
		for variant := range 4 {
			dir := t.TempDir()
			for name, node := range d.namesAfter(n) {
				if err := os.WriteFile(filepath.Join(dir, name), node.contents()[variant], 0o600); err != nil {
					t.Fatal(err)
				}
			}
			check(dir)
		}
	}
}

// fullDisk fails the n-th call of a kind, counted from 1.
func fullDisk(kind string, n int) func(string) error {
	return func(call string) error {
		if call != kind {
			return nil
		}
		if n--; n == 0 {
			return syscall.ENOSPC
		}
		return nil
	}
}

// content returns the content of a file, and whether it exists.
func content(t *testing.T, path string) (string, bool) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data), err == nil
}
