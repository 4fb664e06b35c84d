package object

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// Composer makes a tree out of another one. What is new of it goes into the pack. ErrUnread says
// that git has to make it: of paths that it judges, or of an object that is not there.
type Composer struct {
	From *Reader
	Pack *PackWriter

	edits []Edit
}

// Put has the tree get an object that is there, by its id in hex; the mode is octal.
func (c *Composer) Put(path, mode, id string) error {
	raw, err := hex.DecodeString(id)
	number, err2 := strconv.ParseUint(mode, 8, 32)
	if err != nil || err2 != nil || !PlainPath(path) {
		return ErrUnread
	}
	e := Edit{Path: path, Mode: uint32(number), ID: string(raw)}
	want := Blob
	switch e.Mode {
	case ModeGitlink:
		want = ""
	case ModeTree:
		want = Tree
	}
	if want != "" {
		if kind, _, err := c.From.Stat(id); err != nil || kind != want {
			return ErrUnread
		}
	}
	c.edits = append(c.edits, e)
	return nil
}

// File has the tree get a file of that content.
func (c *Composer) File(path string, data []byte) error {
	if !PlainPath(path) {
		return ErrUnread
	}
	id, err := c.Pack.Add(Blob, data)
	c.edits = append(c.edits, Edit{Path: path, Mode: ModeFile, ID: id})
	return err
}

// Remove takes a path out of the tree.
func (c *Composer) Remove(path string) { c.edits = append(c.edits, Edit{Path: path}) }

// Tree returns the id of what a commit or tree becomes, in hex.
func (c *Composer) Tree(base string) (string, error) {
	tree, err := c.From.TreeOf(base)
	if err != nil {
		return "", err
	}
	return c.From.Edited(tree, c.edits, c.Pack.Add)
}

// PlainPath reports whether no file system and no rule of git takes a path for anything else
// than it says.
func PlainPath(p string) bool {
	for name := range strings.SplitSeq(p, "/") {
		if name == "" || strings.Trim(name, ".") == "" || strings.HasPrefix(strings.ToLower(name), ".git") && !ruleFile(name) {
			return false
		}
	}
	return !strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' || r == ':' || r == '~' })
}

func ruleFile(name string) bool { return name == ".gitignore" || name == ".gitattributes" }
