package object

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Edit is one path that a tree is to have or, with mode 0, a file that it is not to have. A path of
// mode ModeTree is a whole tree.
type Edit struct {
	Path string
	Mode uint32
	ID   string // not in hex
}

// Edited returns the id, in hex, of what the tree with that id becomes by edits, and hands the
// trees that are new to add. A file that takes the place of a directory needs no edits of what
// was in it, and the other way around.
func (r *Reader) Edited(tree string, edits []Edit, add func(kind string, data []byte) (id string, err error)) (string, error) {
	list, err := r.Tree(tree)
	if err != nil {
		return "", err
	}
	x := editor{Reader: r, add: add}
	id, err := x.edit(list, inOrder(edits))
	if err == nil && id == "" {
		id, err = add(Tree, nil)
	}
	return fmt.Sprintf("%x", id), err
}

// inOrder sorts edits so that those below a name follow it at once. Of several of one path the last
// one counts.
func inOrder(edits []Edit) []Edit {
	edits = slices.Clone(edits)
	key := func(e Edit) string { return strings.ReplaceAll(e.Path, "/", "\x00") }
	slices.SortStableFunc(edits, func(a, b Edit) int { return strings.Compare(key(a), key(b)) })
	last := edits[:0]
	for i, e := range edits {
		if i == len(edits)-1 || edits[i+1].Path != e.Path {
			last = append(last, e)
		}
	}
	return last
}

type editor struct {
	*Reader
	add func(kind string, data []byte) (id string, err error)
}

// edit returns the id of a changed list, not in hex; "" for one without entries. The paths of
// the edits are relative to it and sorted.
func (x editor) edit(list []TreeEntry, edits []Edit) (string, error) {
	made := make([]TreeEntry, 0, len(list)+len(edits))
	touched := map[string]bool{}
	for len(edits) > 0 {
		name, _, _ := strings.Cut(edits[0].Path, "/")
		n := sort.Search(len(edits), func(i int) bool { return !within(edits[i].Path, name) })
		old, _ := named(list, name)
		entry, err := x.child(old, name, edits[:n])
		if err != nil {
			return "", err
		}
		touched[name] = true
		if entry.Mode != 0 {
			made = append(made, entry)
		}
		edits = edits[n:]
	}
	for _, e := range list {
		if !touched[e.Name] {
			made = append(made, e)
		}
	}
	if len(made) == 0 {
		return "", nil
	}
	slices.SortFunc(made, func(a, b TreeEntry) int { return strings.Compare(a.key(), b.key()) })
	var data []byte
	for _, e := range made {
		data = fmt.Appendf(data, "%o %s\x00%s", e.Mode, e.Name, e.ID)
	}
	return x.add(Tree, data)
}

// child is what an entry becomes by the edits of it and of what is below it. Its mode is 0 if it
// goes.
func (x editor) child(old TreeEntry, name string, edits []Edit) (TreeEntry, error) {
	now := old
	if edits[0].Path == name && edits[0].Mode == 0 && old.isTree() {
		edits = edits[1:] // a file that is not there
	} else if edits[0].Path == name {
		now, edits = TreeEntry{Mode: edits[0].Mode, Name: name, ID: edits[0].ID}, edits[1:]
	}
	if len(edits) == 0 {
		return now, nil
	}
	var below []TreeEntry
	if now.isTree() {
		var err error
		if below, err = x.subtree(now.ID); err != nil {
			return TreeEntry{}, err
		}
	}
	inner := make([]Edit, len(edits))
	for i, e := range edits {
		inner[i] = Edit{e.Path[len(name)+1:], e.Mode, e.ID}
	}
	id, err := x.edit(below, inner)
	switch {
	case err != nil:
		return TreeEntry{}, err
	case id != "":
		return TreeEntry{Mode: ModeTree, Name: name, ID: id}, nil
	case now.isTree():
		return TreeEntry{}, nil
	}
	return now, nil // nothing was to be below it
}

func within(p, name string) bool { return p == name || strings.HasPrefix(p, name+"/") }
