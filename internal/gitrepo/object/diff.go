package object

import "strings"

// Difference is one path that differs between two trees. Mode and id are empty where a side has
// no such path. Ids are not in hex.
type Difference struct {
	Path             string
	OldMode, NewMode uint32
	OldID, NewID     string
}

// Diff compares two trees, whose ids are in hex, and returns the paths that differ, in the order
// of "git diff-tree -r". A file that takes the place of a directory is a deletion of what was in
// it and an addition, or the other way around.
func (r *Reader) Diff(from, to string) ([]Difference, error) {
	d := differ{Reader: r}
	if from == to {
		return nil, nil
	}
	a, err := r.Tree(from)
	if err != nil {
		return nil, err
	}
	b, err := r.Tree(to)
	if err != nil {
		return nil, err
	}
	err = d.compare("", a, b)
	return d.found, err
}

type differ struct {
	*Reader
	found []Difference
}

// compare walks two lists in the order of git side by side.
func (d *differ) compare(dir string, a, b []TreeEntry) error {
	for len(a) > 0 || len(b) > 0 {
		var old, now *TreeEntry
		switch c := order(a, b); {
		case c < 0:
			old, a = &a[0], a[1:]
		case c > 0:
			now, b = &b[0], b[1:]
		default:
			old, a = &a[0], a[1:]
			now, b = &b[0], b[1:]
		}
		if old != nil && now != nil && old.Mode == now.Mode && old.ID == now.ID {
			continue
		}
		if err := d.differs(dir, old, now); err != nil {
			return err
		}
	}
	return nil
}

// order tells which list has the next name; 0 for both. A directory is in its place with a
// slash behind it, so that it never equals a file of its name.
func order(a, b []TreeEntry) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return strings.Compare(a[0].key(), b[0].key())
}

func (e TreeEntry) key() string {
	if e.isTree() {
		return e.Name + "/"
	}
	return e.Name
}

// differs notes an entry of which at least one side is there, and what is below it. If both are
// there, both are directories or none is.
func (d *differ) differs(dir string, old, now *TreeEntry) error {
	var diff Difference
	var below [2][]TreeEntry
	name, directory := "", false
	for i, e := range []*TreeEntry{old, now} {
		if e == nil {
			continue
		}
		name = dir + e.Name
		if directory = e.isTree(); directory {
			list, err := d.subtree(e.ID)
			if err != nil {
				return err
			}
			below[i] = list
		}
	}
	if directory {
		return d.compare(name+"/", below[0], below[1])
	}
	diff.Path = name
	if old != nil {
		diff.OldMode, diff.OldID = old.Mode, old.ID
	}
	if now != nil {
		diff.NewMode, diff.NewID = now.Mode, now.ID
	}
	d.found = append(d.found, diff)
	return nil
}
