package workspace

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/internal/gitrepo/object"
)

// The modes of a tree and of an index.
const (
	modeFile       = object.ModeFile
	modeExecutable = object.ModeExecutable
	modeSymlink    = object.ModeSymlink
	modeGitlink    = object.ModeGitlink
)

// paths are those of a base.
type paths struct {
	entries []git.IndexEntry // in git's order
	at      map[string]int   // their places
	parents map[string]bool  // directories that lead to one of them
}

func newPaths(entries []git.IndexEntry) *paths {
	p := &paths{entries: entries, at: make(map[string]int, len(entries)), parents: map[string]bool{}}
	last := ""
	for i := range entries {
		name := entries[i].Path
		p.at[name] = i
		dir := parent(name)
		if dir == last {
			continue
		}
		last = dir
		for ; dir != "" && !p.parents[dir]; dir = parent(dir) {
			p.parents[dir] = true
		}
	}
	return p
}

// place returns where a path is in the entries, -1 for one that is not there.
func (p *paths) place(name string) int {
	if i, ok := p.at[name]; ok {
		return i
	}
	return -1
}

// parent returns the directory of a path, "" for one at the top.
func parent(p string) string { return p[:max(strings.LastIndexByte(p, '/'), 0)] }

// baseTree is the id of the base's tree, not in hex.
func (s *snapshot) baseTree(ctx context.Context) (string, error) {
	id, err := s.Tree(ctx, s.Base)
	if err != nil {
		return "", err
	}
	raw, err := hex.DecodeString(id)
	return string(raw), err
}

// indexOf reads an index that holds exactly what a tree does. Git wrote into it that it does.
func indexOf(name, tree string) (*git.Index, error) {
	x, err := git.ReadIndex(name, len(tree))
	if err != nil {
		return nil, err
	}
	if x.Trees[""] != tree {
		return nil, fmt.Errorf("%w: it is of another tree", git.ErrIndex)
	}
	return x, nil
}

// kept tells by file times which files are as in the base.
type kept struct {
	base *paths    // with what an index says of the files that git found to be as in it
	time time.Time // when that index was written
}

// same reports whether the state of a walked file equals that of the base. It is racy if
// it was that already when the index was written: the file may have changed in the same
// moment. Git judges by the time of content alone, which an agent can set.
func (k *kept) same(at int, stat *unix.Stat_t) (equal, racy bool) {
	if k == nil || at < 0 {
		return false, false
	}
	e := &k.base.entries[at]
	ctime, mtime := indexTime(stat.Ctim), indexTime(stat.Mtim)
	// A racy entry that git found to differ has the size 0.
	smudged := e.Size == 0 && stat.Size != 0 || e.Size == 0 && e.ID != emptyBlob
	equal = e.Mtime == mtime && e.Ctime == ctime && e.Ino == uint32(stat.Ino) && e.Size == uint32(stat.Size) &&
		e.UID == stat.Uid && e.GID == stat.Gid && e.Mode == mode(stat) && !smudged
	return equal, equal && (!mtime.Before(k.time) || !ctime.Before(k.time))
}

// emptyBlob is the id of the file without content.
var emptyBlob = object.RawID(object.Blob, nil)

func indexTime(t unix.Timespec) git.IndexTime {
	return git.IndexTime{Sec: uint32(t.Sec), Nsec: uint32(t.Nsec)}
}

// mode is that of a file in a tree; 0 for what has none.
func mode(stat *unix.Stat_t) uint32 {
	switch kind := uint32(stat.Mode) & unix.S_IFMT; {
	case kind == unix.S_IFLNK:
		return modeSymlink
	case kind != unix.S_IFREG:
		return 0
	case stat.Mode&0o100 != 0:
		return modeExecutable
	}
	return modeFile
}

// times takes over the file times of entries that are equal but for them.
func (p *paths) times(from []git.IndexEntry) {
	for _, e := range from {
		if at, ok := p.at[e.Path]; ok && !e.Special && p.entries[at].ID == e.ID && p.entries[at].Mode == e.Mode {
			p.entries[at] = e
		}
	}
}
