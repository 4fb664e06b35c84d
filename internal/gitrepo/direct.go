package gitrepo

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/internal/gitrepo/object"
)

// direct reads objects without a process, and gives what git says of them. Where it fails with
// object.ErrUnread, or without a result, git is asked.
type direct struct{ *object.Database }

// unread reports whether git is to be asked.
func unread(err error) bool { return errors.Is(err, object.ErrUnread) }

// blob returns the content of a blob, ErrTooLarge for one of more than max bytes.
func (d direct) blob(id string, max int64) (data []byte, ok bool, err error) {
	kind, data, err := d.Read(id, max)
	switch {
	case errors.Is(err, object.ErrTooLarge):
		return nil, true, fmt.Errorf("read blob: %w", ErrTooLarge)
	case err != nil || kind != object.Blob:
		return nil, false, nil
	}
	return data, true, nil
}

// tree returns the tree of a commit or tree with a full id.
func (d direct) tree(rev string) (string, bool) {
	if !git.IsID(rev) {
		return "", false
	}
	r := d.Reader()
	defer r.Close()
	id, err := r.TreeOf(rev)
	return id, err == nil
}

func (d direct) changes(from, to string) ([]Change, error) {
	r := d.Reader()
	defer r.Close()
	a, err := r.TreeOf(from)
	if err != nil {
		return nil, err
	}
	b, err := r.TreeOf(to)
	if err != nil {
		return nil, err
	}
	diffs, err := r.Diff(a, b)
	var list []Change
	for _, d := range diffs {
		list = append(list, changeOf(d))
	}
	return list, err
}

func changeOf(d object.Difference) Change {
	c := Change{
		Path: d.Path, Status: 'M', OldMode: fmt.Sprintf("%06o", d.OldMode), NewMode: fmt.Sprintf("%06o", d.NewMode),
		OldID: git.Zero(EmptyTree), NewID: git.Zero(EmptyTree),
	}
	if d.OldID != "" {
		c.OldID = hex.EncodeToString([]byte(d.OldID))
	}
	if d.NewID != "" {
		c.NewID = hex.EncodeToString([]byte(d.NewID))
	}
	switch {
	case d.OldMode == 0:
		c.Status = 'A'
	case d.NewMode == 0:
		c.Status = 'D'
	case d.OldMode&object.TypeBits != d.NewMode&object.TypeBits:
		c.Status = 'T'
	}
	return c
}

func (d direct) entries(rev string) ([]Entry, error) {
	r := d.Reader()
	defer r.Close()
	id, err := r.TreeOf(rev)
	if err != nil {
		return nil, err
	}
	var list []Entry
	err = r.Files(id, func(e object.TreeEntry) error {
		kind := object.Blob
		if e.Mode == object.ModeGitlink {
			kind = object.Commit
		}
		list = append(list, Entry{Mode: fmt.Sprintf("%06o", e.Mode), Type: kind, ID: hex.EncodeToString([]byte(e.ID)), Path: e.Name})
		return nil
	})
	return list, err
}

// lookup returns the entry of a path in a commit or tree.
func (d direct) lookup(rev, path string) (e object.TreeEntry, ok bool, err error) {
	r := d.Reader()
	defer r.Close()
	root, err := r.TreeOf(rev)
	if err != nil {
		return e, false, err
	}
	return r.Lookup(root, path)
}

// namesAlong lists the names in each directory that leads to one of the files. Each is read once.
func (d direct) namesAlong(rev string, files []string) (map[string][]string, error) {
	r := d.Reader()
	defer r.Close()
	top, err := r.TreeOf(rev)
	if err != nil {
		return nil, err
	}
	all, trees := map[string][]string{}, map[string]string{".": top}
	for _, file := range files {
		dir := "."
		for next := range strings.SplitSeq(file, "/") {
			if id := trees[dir]; id != "" && all[dir] == nil {
				list, err := r.Tree(id)
				if err != nil {
					return nil, err
				}
				for _, e := range list {
					all[dir] = append(all[dir], e.Name)
					if e.Mode == object.ModeTree {
						trees[path.Join(dir, e.Name)] = hex.EncodeToString([]byte(e.ID))
					}
				}
			}
			dir = path.Join(dir, next)
		}
	}
	return all, nil
}

// isCommit reports whether a commit with that full id is there.
func (d direct) isCommit(id string) bool {
	kind, _, err := d.Stat(id)
	return err == nil && kind == object.Commit
}

// linked reports whether all that a commit names is there.
func (d direct) linked(spec CommitSpec) bool {
	for _, p := range spec.Parents {
		if !d.isCommit(p) {
			return false
		}
	}
	kind, _, err := d.Stat(spec.Tree)
	return err == nil && kind == object.Tree
}

// lack is object.Reader.AttributesLack.
func (d direct) lack(rev string, paths []string, words ...string) bool {
	r := d.Reader()
	defer r.Close()
	return r.AttributesLack(rev, paths, words...)
}
