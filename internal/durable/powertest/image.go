package powertest

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// node is a file or a directory.
type node struct {
	dir  bool
	name string // for errors

	synced, live []byte // of a file

	kept    map[string]*node   // names on disk, of a directory
	names   map[string]*node   // names
	pending []map[string]*node // changes of names not synced; nil = the name goes
}

func newDir(name string) *node {
	return &node{dir: true, name: name, kept: map[string]*node{}, names: map[string]*node{}}
}

func (n *node) change(names map[string]*node) {
	n.pending = append(n.pending, names)
	alter(n.names, names)
}

func alter(names, change map[string]*node) {
	for name, n := range change {
		delete(names, name)
		if n != nil {
			names[name] = n
		}
	}
}

// Past is the disk as it was after some of its changes.
type Past struct {
	// Moment is the number of those changes.
	Moment int

	root *node
	open map[int]*node
}

// Past goes through the moments in order, the first before any change. The Past is
// valid until the next one.
func (d *Disk) Past() iter.Seq[*Past] {
	d.mu.Lock()
	past := slices.Clone(d.past)
	d.mu.Unlock()
	return func(yield func(*Past) bool) {
		p := &Past{root: newDir("."), open: map[int]*node{}}
		if !yield(p) {
			return
		}
		for _, c := range past {
			p.apply(c)
			p.Moment++
			if !yield(p) {
				return
			}
		}
	}
}

// at returns the node at a path, or nil.
func (p *Past) at(path string) *node {
	n := p.root
	for _, part := range split(path) {
		if n = n.names[part]; n == nil {
			return nil
		}
	}
	return n
}

func split(path string) []string {
	if path == "." {
		return nil
	}
	dir, name := filepath.Split(path)
	return append(split(filepath.Clean(dir)), name)
}

func (p *Past) apply(c change) {
	dir, name := p.at(filepath.Dir(c.path)), filepath.Base(c.path)
	if dir == nil {
		panic("powertest: " + c.call + " " + c.path + ": its directory was not made through the disk")
	}
	switch c.call {
	case "create", "open":
		n := p.at(c.path)
		if n == nil {
			n = &node{name: c.path}
			dir.change(map[string]*node{name: n})
		}
		p.open[c.file] = n
	case "mkdir":
		dir.change(map[string]*node{name: newDir(c.path)})
	case "rename":
		p.rename(dir, name, c)
	case "link":
		p.at(filepath.Dir(c.to)).change(map[string]*node{filepath.Base(c.to): dir.names[name]})
	case "remove":
		dir.change(map[string]*node{name: nil})
	case "write":
		p.open[c.file].live = append(p.open[c.file].live, c.data...)
	case "truncate":
		n := p.open[c.file]
		n.live = n.live[:c.size:c.size]
	case "sync":
		n := p.open[c.file]
		n.synced = slices.Clone(n.live)
	case "syncdir":
		n := p.at(c.path)
		n.kept, n.pending = maps.Clone(n.names), nil
	}
}

func (p *Past) rename(dir *node, name string, c change) {
	target, to := p.at(filepath.Dir(c.to)), filepath.Base(c.to)
	moved := dir.names[name]
	if target == dir && target.names[to] == moved {
		return // two names of one file: nothing happens
	}
	if target == dir {
		dir.change(map[string]*node{to: moved, name: nil})
		return
	}
	target.change(map[string]*node{to: moved})
	dir.change(map[string]*node{name: nil})
}

// Fate says what a power loss leaves of what was not synced.
type Fate int

// Fates. Any other is the seed of a choice of its own for each name and file.
const (
	Forgotten Fate = iota // nothing
	Kept                  // everything
	Hollow                // all names and lengths, but zeros for bytes
	Fates                 // the first that is a seed
)

// Image fills the empty directory dir with what a power loss now leaves.
func (p *Past) Image(dir string, fate Fate) error {
	im := image{fate: fate}
	if fate >= Fates {
		im.random = rand.New(rand.NewPCG(uint64(fate), uint64(p.Moment)))
	}
	return im.lay(dir, p.root)
}

type image struct {
	fate   Fate
	random *rand.Rand
}

func (im image) lay(dir string, n *node) error {
	names := maps.Clone(n.kept)
	for _, change := range n.pending {
		if im.fate == Kept || im.fate == Hollow || im.random != nil && im.random.IntN(2) == 0 {
			alter(names, change)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		path, child := filepath.Join(dir, name), names[name]
		var err error
		if child.dir {
			if err = os.Mkdir(path, 0o700); err == nil {
				err = im.lay(path, child)
			}
		} else {
			err = os.WriteFile(path, im.content(child), 0o600)
		}
		if err != nil {
			return fmt.Errorf("lay out %s: %w", child.name, err)
		}
	}
	return nil
}

// content is what is left of a file: what was synced, all, a part, or the right
// length without the right bytes.
func (im image) content(n *node) []byte {
	same := 0
	for same < min(len(n.synced), len(n.live)) && n.synced[same] == n.live[same] {
		same++
	}
	half := n.live[:same+(len(n.live)-same)/2]
	zeros := append(slices.Clone(n.live[:same]), make([]byte, len(n.live)-same)...)
	left := [][]byte{Forgotten: n.synced, Kept: n.live, Hollow: zeros, Fates: half}
	if im.random != nil {
		return left[im.random.IntN(len(left))]
	}
	return left[im.fate]
}
