package git

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// ErrIndex says that a file is not an index that ReadIndex takes.
var ErrIndex = errors.New("unusable index")

// Index is what an index file says, by gitformat-index(5).
type Index struct {
	// Entries are its paths in git's order.
	Entries []IndexEntry
	// Trees are the ids of the trees that the entries below a directory make, by its path, ""
	// for all. A directory in which something changed since is left out.
	Trees map[string]string
	// Time is when the file was written: what changed no earlier may differ from its entry
	// without a difference in size or time.
	Time time.Time
}

// IndexEntry is one path of an index, with what lstat(2) said of it when git read it last.
// Git keeps the lower 32 bits of each number.
type IndexEntry struct {
	Path         string
	ID           string // of 20 or 32 bytes, not in hex
	Mode         uint32
	Ctime, Mtime IndexTime

	Dev, Ino, UID, GID, Size uint32
	// Special says that the entry has no file or is no part of a tree yet.
	Special bool
}

// IndexTime is a time of a file in an index.
type IndexTime struct{ Sec, Nsec uint32 }

// Before reports whether the time is before t.
func (i IndexTime) Before(t time.Time) bool {
	return time.Unix(int64(i.Sec), int64(i.Nsec)).Before(t)
}

// ReadIndex reads an index of version 2, 3 or 4 whose ids have idSize bytes: 20 or 32. The
// error is ErrIndex for one that is damaged, unmerged, split or sparse, and for one without a
// checksum.
func ReadIndex(name string, idSize int) (*Index, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxOutput {
		return nil, fmt.Errorf("%w: %d bytes", ErrIndex, info.Size())
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIndex, err)
	}
	x := &Index{Time: info.ModTime(), Trees: map[string]string{}}
	if err := x.parse(data, idSize); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIndex, err)
	}
	return x, nil
}

const (
	indexHeader = 12
	// indexStat is the length of an entry before its id.
	indexStat = 40

	flagExtended = 0x4000
	flagStage    = 0x3000
	flagName     = 0x0fff
)

func (x *Index) parse(data []byte, idSize int) error {
	if len(data) < indexHeader+idSize || string(data[:4]) != "DIRC" {
		return errors.New("no header")
	}
	body, sum := data[:len(data)-idSize], data[len(data)-idSize:]
	var want []byte
	switch idSize {
	case sha1.Size:
		s := sha1.Sum(body)
		want = s[:]
	case sha256.Size:
		s := sha256.Sum256(body)
		want = s[:]
	default:
		return fmt.Errorf("ids of %d bytes", idSize)
	}
	if !bytes.Equal(sum, want) {
		return errors.New("bad checksum")
	}
	version, count := binary.BigEndian.Uint32(body[4:]), binary.BigEndian.Uint32(body[8:])
	if version < 2 || version > 4 {
		return fmt.Errorf("version %d", version)
	}
	// A string: the paths and ids are parts of it.
	r := indexReader{text: string(body), at: indexHeader, version: version, idSize: idSize}
	// An entry has more bytes than its id; a number that is larger than that is a lie.
	x.Entries = make([]IndexEntry, 0, min(int(count), len(body)/indexStat))
	for range count {
		e, err := r.entry()
		if err != nil {
			return err
		}
		x.Entries = append(x.Entries, e)
	}
	return r.extensions(x)
}

type indexReader struct {
	text    string
	at      int
	version uint32
	idSize  int
	last    string // the path of the entry before
}

var errIndexEnd = errors.New("ends early")

// next returns the next n bytes.
func (r *indexReader) next(n int) (string, error) {
	if n < 0 || len(r.text)-r.at < n {
		return "", errIndexEnd
	}
	part := r.text[r.at : r.at+n]
	r.at += n
	return part, nil
}

func (r *indexReader) entry() (e IndexEntry, err error) {
	start := r.at
	head, err := r.next(indexStat + r.idSize + 2)
	if err != nil {
		return e, err
	}
	word := func(i int) uint32 { return number(head[4*i : 4*i+4]) }
	e = IndexEntry{
		Ctime: IndexTime{word(0), word(1)}, Mtime: IndexTime{word(2), word(3)},
		Dev: word(4), Ino: word(5), Mode: word(6), UID: word(7), GID: word(8), Size: word(9), ID: head[indexStat : indexStat+r.idSize],
	}
	flags := int(head[len(head)-2])<<8 | int(head[len(head)-1])
	if flags&flagStage != 0 {
		return e, errors.New("is unmerged")
	}
	if flags&flagExtended != 0 {
		extended, err := r.next(2)
		if err != nil || r.version < 3 {
			return e, errors.New("has a bad entry")
		}
		e.Special = extended != "\x00\x00"
	}
	if e.Path, err = r.path(flags&flagName, start); err != nil {
		return e, err
	}
	if e.Path <= r.last {
		return e, errors.New("is not in order")
	}
	r.last = e.Path
	return e, nil
}

// path reads the path of the entry that began at start, of the given length unless this is
// the largest one that its flags can hold.
func (r *indexReader) path(length, start int) (string, error) {
	keep := 0 // bytes of the path before
	if r.version == 4 {
		drop, err := r.varint()
		if err != nil || drop > len(r.last) {
			return "", errors.New("has a bad path")
		}
		keep = len(r.last) - drop
	}
	end := strings.IndexByte(r.text[r.at:], 0)
	if end < 0 || length < flagName && keep+end != length {
		return "", errors.New("has a bad path")
	}
	part, _ := r.next(end + 1)
	if part = part[:end]; r.version == 4 {
		return r.last[:keep] + part, nil
	}
	// Entries end with up to 7 further NULs, at a multiple of 8.
	_, err := r.next((8 - (r.at-start)%8) % 8)
	return part, err
}

// varint reads a number as it stands before an offset in a pack.
func (r *indexReader) varint() (int, error) {
	n := 0
	for i := 0; ; i++ {
		b, err := r.next(1)
		if err != nil || i > 4 {
			return 0, errIndexEnd
		}
		n = n<<7 | int(b[0]&0x7f)
		if b[0]&0x80 == 0 {
			return n, nil
		}
		n++
	}
}

func number(s string) uint32 {
	return uint32(s[0])<<24 | uint32(s[1])<<16 | uint32(s[2])<<8 | uint32(s[3])
}

func (r *indexReader) extensions(x *Index) error {
	for r.at < len(r.text) {
		head, err := r.next(8)
		if err != nil {
			return err
		}
		data, err := r.next(int(number(head[4:])))
		if err != nil {
			return err
		}
		switch name := head[:4]; {
		case name == "TREE":
			t := indexReader{text: data, idSize: r.idSize}
			if err := t.trees(x.Trees, "", 0); err != nil {
				return err
			}
		case name[0] < 'A' || name[0] > 'Z':
			return fmt.Errorf("needs extension %q", name)
		}
	}
	return nil
}

// maxDepth bounds how deep a directory may lie; the longest path that systems take has fewer
// parts.
const maxDepth = 4096

// trees reads a tree and those below it, "<name> NUL <entries> SP <subtrees> LF <id>" each.
// One that does not hold any more has a negative number of entries and no id.
func (r *indexReader) trees(into map[string]string, dir string, depth int) error {
	head, rest, ok := strings.Cut(r.text[r.at:], "\n")
	name, numbers, ok2 := strings.Cut(head, "\x00")
	entries, subtrees, ok3 := strings.Cut(numbers, " ")
	count, err := strconv.Atoi(entries)
	below, err2 := strconv.Atoi(subtrees)
	if !ok || !ok2 || !ok3 || err != nil || err2 != nil || depth > maxDepth {
		return errors.New("has bad trees")
	}
	r.at = len(r.text) - len(rest)
	if dir != "" {
		dir += "/"
	}
	dir += name
	if count >= 0 {
		id, err := r.next(r.idSize)
		if err != nil {
			return err
		}
		into[dir] = id
	}
	for range below {
		if err := r.trees(into, dir, depth+1); err != nil {
			return err
		}
	}
	return nil
}
