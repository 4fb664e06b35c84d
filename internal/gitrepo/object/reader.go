package object

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Reader reads objects one after the other. It keeps files open and bases of deltas until it is
// closed, and serves one goroutine.
type Reader struct {
	db    *Database
	files map[string]*os.File // of packs, by their names
	bases map[place]based
	kept  int // bytes in bases
}

// based is an object that others in a pack are deltas of.
type based struct {
	kind string
	data []byte
}

const (
	// maxKept bounds the bases that a reader keeps.
	maxKept = 4 << 20
	// maxObject bounds what is held of one object. Git reads larger ones.
	maxObject = 256 << 20
)

// Close closes the files.
func (r *Reader) Close() {
	for _, f := range r.files {
		_ = f.Close()
	}
	r.files = nil
}

// Read returns the type and the content of an object of at most max bytes, ErrTooLarge beyond.
func (r *Reader) Read(id string, max int64) (kind string, data []byte, err error) {
	raw, err := parse(id)
	if err != nil {
		return "", nil, err
	}
	return r.read(raw, min(max, maxObject), 0)
}

// maxNested bounds how often a base is named by its id, which no pack of git does within one.
const maxNested = 50

func (r *Reader) read(id []byte, max int64, nested int) (kind string, data []byte, err error) {
	if nested > maxNested {
		return "", nil, fmt.Errorf("object %x: %w", id, ErrUnread)
	}
	err = r.locate(id, func(at place) error {
		kind, data, err = r.packed(at, max, nested)
		return err
	}, func(f *os.File) error {
		kind, data, err = loose(f, max)
		return err
	})
	if err == nil {
		data, err = verified(id, kind, data)
	}
	return kind, data, err
}

// Stat returns the type and the size of an object.
func (r *Reader) Stat(id string) (kind string, size int64, err error) {
	raw, err := parse(id)
	if err != nil {
		return "", 0, err
	}
	err = r.locate(raw, func(at place) error {
		kind, size, err = r.statPacked(at)
		return err
	}, func(f *os.File) error {
		return looseObject(f, func(name string, bytes int64, _ io.Reader) error {
			kind, size = name, bytes
			return nil
		})
	})
	return kind, size, err
}

// locate calls one of the two with where the object lies. A pack that was removed meanwhile has
// a successor.
func (r *Reader) locate(id []byte, inPack func(place) error, inFile func(*os.File) error) error {
	for again := true; ; again = false {
		if at, ok := r.db.find(id); ok {
			err := inPack(at)
			if !errors.Is(err, os.ErrNotExist) {
				return err
			}
		} else if f, err := os.Open(r.db.loosePath(fmt.Sprintf("%x", id))); err == nil {
			defer f.Close()
			return inFile(f)
		}
		if !again {
			return fmt.Errorf("object %x: %w", id, ErrUnread)
		}
		r.db.rescan()
	}
}
