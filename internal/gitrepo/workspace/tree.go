package workspace

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/internal/gitrepo/object"
)

// edit is a path of a tree that gets another content or, with mode 0, goes.
type edit struct {
	path string
	mode uint32
	id   string // not in hex
}

// trees writes the tree that a base becomes by edits. Trees without edits stay as they are.
type trees struct {
	ids  map[string]string // of the base's trees, by directory
	pack *object.PackWriter
}

// build returns the id of a directory's tree, "" for one without entries. Entries and edits
// are those below it, in git's order, in which a directory's name ends with a slash.
func (t trees) build(dir string, entries []git.IndexEntry, edits []edit) (string, error) {
	if id := t.ids[strings.TrimSuffix(dir, "/")]; id != "" && len(edits) == 0 {
		return id, nil
	}
	var data []byte
	for len(entries) > 0 || len(edits) > 0 {
		name := firstName(dir, entries, edits)
		n := sort.Search(len(entries), func(i int) bool { return !under(entries[i].Path, name) })
		m := sort.Search(len(edits), func(i int) bool { return !under(edits[i].path, name) })
		mode, id, err := t.child(name, entries[:n], edits[:m])
		if err != nil {
			return "", err
		}
		if id != "" {
			data = fmt.Appendf(data, "%o %s\x00%s", mode, strings.TrimSuffix(name[len(dir):], "/"), id)
		}
		entries, edits = entries[n:], edits[m:]
	}
	if len(data) == 0 && dir != "" {
		return "", nil
	}
	return t.pack.Add(object.Tree, data)
}

func (t trees) child(name string, entries []git.IndexEntry, edits []edit) (mode uint32, id string, err error) {
	switch {
	case strings.HasSuffix(name, "/"):
		id, err = t.build(name, entries, edits)
		return object.ModeTree, id, err
	case len(edits) == 0:
		return entries[0].Mode, entries[0].ID, nil
	case edits[0].mode == 0:
		return 0, "", nil
	}
	return edits[0].mode, edits[0].id, nil
}

// firstName returns the path of the directory's first file or, with a slash, directory.
func firstName(dir string, entries []git.IndexEntry, edits []edit) string {
	name := func(p string) string {
		if i := strings.IndexByte(p[len(dir):], '/'); i >= 0 {
			return p[:len(dir)+i+1]
		}
		return p
	}
	switch {
	case len(entries) == 0:
		return name(edits[0].path)
	case len(edits) == 0:
		return name(entries[0].Path)
	}
	return min(name(entries[0].Path), name(edits[0].path))
}

// under reports whether a path that is not before name is it or, for a directory, below it.
func under(p, name string) bool {
	return p == name || strings.HasSuffix(name, "/") && strings.HasPrefix(p, name)
}

// below returns the entries in a directory.
func (p *paths) below(dir string) []git.IndexEntry {
	dir += "/"
	from, _ := slices.BinarySearchFunc(p.entries, dir, func(e git.IndexEntry, d string) int { return strings.Compare(e.Path, d) })
	n := sort.Search(len(p.entries)-from, func(i int) bool { return !strings.HasPrefix(p.entries[from+i].Path, dir) })
	return p.entries[from : from+n]
}
