package git

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"os"
	"sort"
	"strings"
)

// CopyIndex copies an index with its time. Git reads a file again that changed no
// earlier than the index was written; a younger copy would hide a change of the same
// size made right after that.
func CopyIndex(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// WriteIndex writes an index of version 2 with these entries, which are in git's order, and with
// the trees that they make. It replaces the file.
func WriteIndex(name string, x *Index) error {
	data := []byte("DIRC\x00\x00\x00\x02")
	data = binary.BigEndian.AppendUint32(data, uint32(len(x.Entries)))
	for _, e := range x.Entries {
		if e.Special || len(e.ID) != sha1.Size {
			return fmt.Errorf("%w: entry %q", ErrIndex, e.Path)
		}
		start := len(data)
		for _, n := range []uint32{e.Ctime.Sec, e.Ctime.Nsec, e.Mtime.Sec, e.Mtime.Nsec, e.Dev, e.Ino, e.Mode, e.UID, e.GID, e.Size} {
			data = binary.BigEndian.AppendUint32(data, n)
		}
		data = append(data, e.ID...)
		data = binary.BigEndian.AppendUint16(data, uint16(min(len(e.Path), flagName)))
		data = append(data, e.Path...)
		// At least one NUL, up to a multiple of 8.
		data = append(data, make([]byte, 8-(len(data)-start)%8)...)
	}
	trees := writeTrees(nil, x.Trees, "", "", x.Entries)
	data = append(data, "TREE"...)
	data = binary.BigEndian.AppendUint32(data, uint32(len(trees)))
	data = append(data, trees...)
	sum := sha1.Sum(data)
	tmp := name + ".new"
	if err := os.WriteFile(tmp, append(data, sum[:]...), 0o666); err != nil {
		return err
	}
	return os.Rename(tmp, name)
}

// writeTrees appends the tree of a directory with that name, and those below it. entries are all
// that is in it; dir ends with a slash.
func writeTrees(to []byte, ids map[string]string, dir, name string, entries []IndexEntry) []byte {
	type child struct {
		dir, name string
		entries   []IndexEntry
	}
	var below []child
	for rest := entries; len(rest) > 0; {
		name, _, deeper := strings.Cut(rest[0].Path[len(dir):], "/")
		if !deeper {
			rest = rest[1:]
			continue
		}
		prefix := dir + name + "/"
		n := sort.Search(len(rest), func(i int) bool { return !strings.HasPrefix(rest[i].Path, prefix) })
		below, rest = append(below, child{prefix, name, rest[:n]}), rest[n:]
	}
	id, known := ids[strings.TrimSuffix(dir, "/")]
	count := len(entries)
	if !known {
		count = -1
	}
	to = fmt.Appendf(to, "%s\x00%d %d\n", name, count, len(below))
	to = append(to, id...)
	for _, c := range below {
		to = writeTrees(to, ids, c.dir, c.name, c.entries)
	}
	return to
}
