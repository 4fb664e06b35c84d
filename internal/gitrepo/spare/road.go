package spare

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/internal/gitrepo/object"
)

const (
	// maxCommits, maxObjects and maxBytes bound what is brought without a process. More than that
	// takes about as long as a new workspace.
	maxCommits = 100
	maxObjects = 5_000
	maxBytes   = 32 << 20
)

// road leads from one commit to another that continues from it: what the repository of a spare
// gets, and what changes in its files.
type road struct {
	from, to string
	index    *git.Index // of the spare

	objects []item // in the order in which they were met
	bytes   int
	diffs   []object.Difference
	blobs   map[string][]byte // by raw id, of what is new in the files
	trees   map[string]string // raw ids of the wanted commit's directories on the way to diffs; "" for all
}

// item is an object that the spare's repository may lack.
type item struct {
	kind string
	data []byte
}

// read collects everything, so that following the road fails for the disk alone.
func (w *road) read(r *object.Reader) error {
	w.blobs, w.trees = map[string][]byte{}, map[string]string{}
	id := w.to
	for n := 0; id != w.from; n++ {
		c, err := r.Commit(id)
		if err != nil {
			return err
		}
		if n == maxCommits || len(c.Parents) != 1 {
			return object.ErrUnread
		}
		parent, err := r.TreeOf(c.Parents[0])
		if err != nil {
			return err
		}
		if _, err := w.take(r, id); err != nil {
			return err
		}
		if err := w.below(r, parent, c.Tree); err != nil {
			return err
		}
		id = c.Parents[0]
	}
	from, err := r.TreeOf(w.from)
	if err != nil {
		return err
	}
	to, err := r.TreeOf(w.to)
	if err != nil {
		return err
	}
	if w.diffs, err = r.Diff(from, to); err != nil {
		return err
	}
	return w.files(r, to)
}

// take notes an object.
func (w *road) take(r *object.Reader, id string) ([]byte, error) {
	kind, data, err := r.Read(id, maxBytes)
	if errors.Is(err, object.ErrTooLarge) {
		err = object.ErrUnread
	}
	if err != nil {
		return nil, err
	}
	w.objects, w.bytes = append(w.objects, item{kind, data}), w.bytes+len(data)
	if len(w.objects) > maxObjects || w.bytes > maxBytes {
		return nil, object.ErrUnread
	}
	return data, nil
}

// below notes the trees and blobs of one tree that another does not have at the same place; from
// is "" for none.
func (w *road) below(r *object.Reader, from, to string) error {
	if from == to {
		return nil
	}
	var old []object.TreeEntry
	if from != "" {
		var err error
		if old, err = r.Tree(from); err != nil {
			return err
		}
	}
	data, err := w.take(r, to)
	if err != nil {
		return err
	}
	list, err := object.ParseTree(data)
	if err != nil {
		return err
	}
	for _, e := range list {
		i := slices.IndexFunc(old, func(o object.TreeEntry) bool { return o.Name == e.Name })
		switch {
		case i >= 0 && old[i].ID == e.ID && old[i].Mode == e.Mode:
		case e.Mode == object.ModeTree && i >= 0 && old[i].Mode == object.ModeTree:
			err = w.below(r, hex.EncodeToString([]byte(old[i].ID)), hex.EncodeToString([]byte(e.ID)))
		case e.Mode == object.ModeTree:
			err = w.below(r, "", hex.EncodeToString([]byte(e.ID)))
		case e.Mode == object.ModeGitlink:
			err = object.ErrUnread // what is at its place may have been filled in
		default:
			_, err = w.take(r, hex.EncodeToString([]byte(e.ID)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// files notes what the files of the wanted commit hold that are new, and where git would have
// its own way with one.
func (w *road) files(r *object.Reader, tree string) error {
	raw, err := hex.DecodeString(tree)
	if err != nil {
		return err
	}
	w.trees[""] = string(raw)
	for _, d := range w.diffs {
		name := path.Base(d.Path)
		if d.OldMode == object.ModeGitlink || d.NewMode == object.ModeGitlink || name == ".gitattributes" || !object.PlainPath(d.Path) {
			return object.ErrUnread
		}
		for dir := path.Dir(d.Path); dir != "." && w.trees[dir] == ""; dir = path.Dir(dir) {
			if e, ok, err := r.Lookup(tree, dir); err != nil {
				return err
			} else if ok && e.Mode == object.ModeTree {
				w.trees[dir] = e.ID
			}
		}
		if d.NewMode == 0 || w.blobs[d.NewID] != nil {
			continue
		}
		kind, data, err := r.Read(hex.EncodeToString([]byte(d.NewID)), maxBytes)
		if err != nil || kind != object.Blob {
			return object.ErrUnread
		}
		w.blobs[d.NewID] = data
	}
	return nil
}

// paths are those that change.
func (w *road) paths() []string {
	list := make([]string, len(w.diffs))
	for i, d := range w.diffs {
		list[i] = d.Path
	}
	return list
}

// follow brings the repository at dir to the wanted commit: objects, files, index and branch.
func (w *road) follow(dir string) error {
	gitDir := filepath.Join(dir, ".git")
	if err := w.give(gitDir); err != nil {
		return err
	}
	if err := w.checkOut(dir); err != nil {
		return err
	}
	if err := w.renew(dir); err != nil {
		return err
	}
	const branch = " refs/heads/work\n"
	err := replaceIn(filepath.Join(gitDir, "packed-refs"), w.from+branch, w.to+branch)
	return errors.Join(err, replaceIn(filepath.Join(gitDir, "logs", "HEAD"), w.from, w.to))
}

// give puts the objects into the repository of the spare.
func (w *road) give(gitDir string) error {
	pack, err := object.NewPack(filepath.Join(gitDir, "objects", "pack", "tmp_pack_spare"))
	if err != nil {
		return err
	}
	defer pack.Close()
	for _, o := range w.objects {
		if _, err := pack.Add(o.kind, o.data); err != nil {
			return err
		}
	}
	if _, err := pack.Finish(); err != nil {
		return err
	}
	// Nothing of a workspace is synced: after a power cut it holds what it holds.
	return object.Open(filepath.Join(gitDir, "objects")).Lazy().Take(pack)
}

// checkOut changes the files. What goes is removed first: a file may take the place of a directory.
func (w *road) checkOut(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, d := range w.diffs {
		if d.OldMode == 0 {
			continue
		}
		if err := root.Remove(d.Path); err != nil {
			return err
		}
		for parent := path.Dir(d.Path); parent != "." && root.Remove(parent) == nil; parent = path.Dir(parent) {
			continue // git keeps no directory without files
		}
	}
	for _, d := range w.diffs {
		if d.NewMode == 0 {
			continue
		}
		if err := root.MkdirAll(path.Dir(d.Path), 0o777); err != nil {
			return err
		}
		if err := write(root, d, w.blobs[d.NewID]); err != nil {
			return err
		}
	}
	return nil
}

func write(root *os.Root, d object.Difference, data []byte) error {
	if d.NewMode == object.ModeSymlink {
		return root.Symlink(string(data), d.Path)
	}
	perm := fs.FileMode(0o666)
	if d.NewMode == object.ModeExecutable {
		perm = 0o777
	}
	f, err := root.OpenFile(d.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// renew writes the index that a checkout of the wanted commit leaves.
func (w *road) renew(dir string) error {
	changed := map[string]bool{}
	x := &git.Index{Trees: w.index.Trees}
	for _, d := range w.diffs {
		changed[d.Path] = true
		// Of a directory in which something changed the id is another one, or it is gone.
		for parent := path.Dir(d.Path); ; parent = path.Dir(parent) {
			if parent == "." {
				x.Trees[""] = w.trees[""]
				break
			}
			if id := w.trees[parent]; id != "" {
				x.Trees[parent] = id
			} else {
				delete(x.Trees, parent)
			}
		}
		if d.NewMode == 0 {
			continue
		}
		var stat syscall.Stat_t
		if err := syscall.Lstat(filepath.Join(dir, filepath.FromSlash(d.Path)), &stat); err != nil {
			return fmt.Errorf("look at %s: %w", d.Path, err)
		}
		x.Entries = append(x.Entries, entry(d, &stat))
	}
	for _, e := range w.index.Entries {
		if !changed[e.Path] {
			x.Entries = append(x.Entries, e)
		}
	}
	slices.SortFunc(x.Entries, func(a, b git.IndexEntry) int { return strings.Compare(a.Path, b.Path) })
	return git.WriteIndex(filepath.Join(dir, ".git", "index"), x)
}

func entry(d object.Difference, stat *syscall.Stat_t) git.IndexEntry {
	changed, modified := times(stat)
	return git.IndexEntry{
		Path: d.Path, ID: d.NewID, Mode: d.NewMode, Ctime: changed, Mtime: modified,
		Dev: uint32(stat.Dev), Ino: uint32(stat.Ino), UID: stat.Uid, GID: stat.Gid, Size: uint32(stat.Size),
	}
}

// replaceIn replaces a text in a file of a few lines; one that is not there stays away.
func replaceIn(name, old, new string) error {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(name, bytes.ReplaceAll(data, []byte(old), []byte(new)), 0o666)
}
