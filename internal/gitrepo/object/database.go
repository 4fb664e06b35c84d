package object

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// The types of objects.
const (
	Commit = "commit"
	Tree   = "tree"
	Blob   = "blob"
	Tag    = "tag"
)

var (
	// ErrUnread says that an object is not there, or not in a form that this package reads.
	ErrUnread = errors.New("object not read")
	// ErrTooLarge says that an object is larger than the caller's limit.
	ErrTooLarge = errors.New("object too large")
)

// idSize is the length of an id that is not in hex.
const idSize = sha1.Size

// ID returns the id, in hex, of an object.
func ID(kind string, data []byte) string {
	id := sum(kind, data)
	return hex.EncodeToString(id[:])
}

// RawID returns the id of an object, not in hex.
func RawID(kind string, data []byte) string {
	id := sum(kind, data)
	return string(id[:])
}

func sum(kind string, data []byte) (id [idSize]byte) {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	_, _ = h.Write(data)
	return [idSize]byte(h.Sum(nil))
}

// Database is the directory objects of one repository. It is safe for several goroutines.
type Database struct {
	dir  string
	lazy bool

	mu    sync.Mutex
	packs []*pack // those used last come first
}

// Open returns the objects below dir and touches nothing.
func Open(dir string) *Database { return &Database{dir: dir} }

// Lazy returns a database below the same directory that leaves it to the system when what is
// written gets to disk.
func (d *Database) Lazy() *Database { return &Database{dir: d.dir, lazy: true} }

// Reader returns a reader for objects that are read one after the other. The caller closes it.
func (d *Database) Reader() *Reader { return &Reader{db: d} }

// Read returns the type and the content of an object of at most max bytes, ErrTooLarge beyond.
func (d *Database) Read(id string, max int64) (kind string, data []byte, err error) {
	r := d.Reader()
	defer r.Close()
	return r.Read(id, max)
}

// Stat returns the type and the size of an object.
func (d *Database) Stat(id string) (kind string, size int64, err error) {
	r := d.Reader()
	defer r.Close()
	return r.Stat(id)
}

// place is where an object lies in a pack.
type place struct {
	pack   *pack
	offset int64
}

// find looks an object up in the packs that are known.
func (d *Database) find(id []byte) (place, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, p := range d.packs {
		offset, ok := p.find(id)
		if !ok {
			continue
		}
		copy(d.packs[1:i+1], d.packs[:i])
		d.packs[0] = p
		return place{p, offset}, true
	}
	return place{}, false
}

// rescan takes up the packs that were made, and lets go of those that were removed.
func (d *Database) rescan() {
	d.mu.Lock()
	defer d.mu.Unlock()
	list, _ := os.ReadDir(d.packDir()) // absent: there are none
	there := map[string]bool{}
	for _, e := range list {
		if name, ok := strings.CutSuffix(e.Name(), ".idx"); ok {
			there[filepath.Join(d.packDir(), name)] = true
		}
	}
	d.packs = slices.DeleteFunc(d.packs, func(p *pack) bool {
		gone := !there[p.name]
		if gone {
			p.close()
		}
		delete(there, p.name)
		return gone
	})
	for name := range there {
		if p, err := openPack(name); err == nil { // else git may read it
			d.packs = append(d.packs, p)
		}
	}
}

func (d *Database) packDir() string { return filepath.Join(d.dir, "pack") }

func (d *Database) loosePath(id string) string { return filepath.Join(d.dir, id[:2], id[2:]) }

// parse returns an id that is not in hex.
func parse(id string) ([]byte, error) {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != idSize {
		return nil, fmt.Errorf("id %q: %w", id, ErrUnread)
	}
	return raw, nil
}

// verified returns the content if it has the id.
func verified(id []byte, kind string, data []byte) ([]byte, error) {
	if got := sum(kind, data); !bytes.Equal(got[:], id) {
		return nil, fmt.Errorf("object %x is damaged: %w", id, ErrUnread)
	}
	return data, nil
}
