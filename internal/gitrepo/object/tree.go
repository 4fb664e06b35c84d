package object

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// The modes of a tree.
const (
	ModeTree       = 0o40000
	ModeFile       = 0o100644
	ModeExecutable = 0o100755
	ModeSymlink    = 0o120000
	ModeGitlink    = 0o160000
)

// TypeBits of a mode tell what it is of.
const TypeBits = 0o170000

// TreeEntry is one name of a tree.
type TreeEntry struct {
	Mode uint32
	Name string
	ID   string // not in hex
}

func (e TreeEntry) isTree() bool { return e.Mode&TypeBits == ModeTree }

// Blob reports whether the entry is of a file or a symlink.
func (e TreeEntry) Blob() bool { return !e.isTree() && e.Mode != ModeGitlink }

// maxTree bounds a tree. A million names fit.
const maxTree = 64 << 20

// ParseTree reads the entries of a tree, which are in the order of git.
func ParseTree(data []byte) ([]TreeEntry, error) {
	var list []TreeEntry
	for len(data) > 0 {
		mode, rest, ok := bytes.Cut(data, []byte(" "))
		name, rest, ok2 := bytes.Cut(rest, []byte{0})
		number, err := strconv.ParseUint(string(mode), 8, 32)
		if !ok || !ok2 || err != nil || len(rest) < idSize {
			return nil, fmt.Errorf("tree with entry %q: %w", name, ErrUnread)
		}
		list = append(list, TreeEntry{Mode: canonical(uint32(number)), Name: string(name), ID: string(rest[:idSize])})
		data = rest[idSize:]
	}
	return list, nil
}

// canonical is the mode that git takes one of an old or foreign tree for.
func canonical(mode uint32) uint32 {
	switch mode & TypeBits {
	case 0o100000:
		if mode&0o100 != 0 {
			return ModeExecutable
		}
		return ModeFile
	case ModeSymlink, ModeTree:
		return mode & TypeBits
	}
	return ModeGitlink
}

// EmptyTree is the id of the tree without entries, which git knows without its being there.
const EmptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Tree returns the entries of the tree with that id, in hex.
func (r *Reader) Tree(id string) ([]TreeEntry, error) {
	if id == EmptyTree {
		return nil, nil
	}
	kind, data, err := r.Read(id, maxTree)
	if err == nil && kind != Tree {
		err = fmt.Errorf("%s is a %s: %w", id, kind, ErrUnread)
	}
	if err != nil {
		return nil, err
	}
	return ParseTree(data)
}

func (r *Reader) subtree(id string) ([]TreeEntry, error) { return r.Tree(fmt.Sprintf("%x", id)) }

// TreeOf returns the id, in hex, of the tree of a commit, or of the tree itself.
func (r *Reader) TreeOf(id string) (string, error) {
	if id == EmptyTree {
		return id, nil
	}
	kind, size, err := r.Stat(id)
	switch {
	case err != nil:
		return "", err
	case kind == Tree:
		return id, nil
	case kind != Commit || size > maxTree:
		return "", fmt.Errorf("%s is a %s: %w", id, kind, ErrUnread)
	}
	c, err := r.Commit(id)
	return c.Tree, err
}

// CommitHead is what a commit says before its words.
type CommitHead struct {
	Tree    string
	Parents []string
}

// Commit reads the head of a commit.
func (r *Reader) Commit(id string) (c CommitHead, err error) {
	kind, data, err := r.Read(id, maxTree)
	if err != nil {
		return c, err
	}
	if kind != Commit {
		return c, fmt.Errorf("%s is a %s: %w", id, kind, ErrUnread)
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case name == "tree" && c.Tree == "":
			c.Tree = value
		case name == "parent" && c.Tree != "":
			c.Parents = append(c.Parents, value)
		case c.Tree == "":
			return c, fmt.Errorf("commit %s has no tree: %w", id, ErrUnread)
		default:
			return c, nil
		}
	}
	return c, nil
}

// Lookup returns the entry of a path below the tree with that id, in hex; ok is false for one
// that is not there.
func (r *Reader) Lookup(tree, path string) (e TreeEntry, ok bool, err error) {
	rest := path
	for {
		name, below, more := strings.Cut(rest, "/")
		list, err := r.Tree(tree)
		if err != nil {
			return e, false, err
		}
		e, ok = named(list, name)
		if !ok || !more {
			return e, ok, nil
		}
		if !e.isTree() {
			return TreeEntry{}, false, nil
		}
		tree, rest = fmt.Sprintf("%x", e.ID), below
	}
}

func named(list []TreeEntry, name string) (TreeEntry, bool) {
	for _, e := range list {
		if e.Name == name {
			return e, true
		}
	}
	return TreeEntry{}, false
}

// Files calls do with each path below the tree with that id, in hex, that is not a tree, in the
// order of git. do may not keep the entry's name, which is the whole path.
func (r *Reader) Files(tree string, do func(TreeEntry) error) error {
	list, err := r.Tree(tree)
	if err != nil {
		return err
	}
	return r.filesIn(list, "", do)
}

func (r *Reader) filesIn(list []TreeEntry, dir string, do func(TreeEntry) error) error {
	for _, e := range list {
		e.Name = dir + e.Name
		if !e.isTree() {
			if err := do(e); err != nil {
				return err
			}
			continue
		}
		below, err := r.subtree(e.ID)
		if err == nil {
			err = r.filesIn(below, e.Name+"/", do)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
