package object

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// pack is a pack by its index, gitformat-pack(5). The index of a small one is held in memory,
// that of a large one is kept open.
type pack struct {
	name  string // path without its suffix
	index io.ReaderAt
	count int64
	close func()
}

const (
	indexHeader = 8
	fanout      = 256 * 4
	// maxHeld is the size up to which an index is held in memory.
	maxHeld = 64 << 10
)

var indexMagic = []byte("\xfftOc\x00\x00\x00\x02")

func openPack(name string) (*pack, error) {
	f, err := os.Open(name + ".idx")
	if err != nil {
		return nil, err
	}
	p := &pack{name: name, index: f, close: func() { _ = f.Close() }}
	size, err := p.check(f)
	if err == nil && size <= maxHeld {
		held := make([]byte, size)
		if _, err = f.ReadAt(held, 0); err == nil {
			p.index, p.close = bytes.NewReader(held), func() {}
			err = f.Close()
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return p, nil
}

// check reads the number of objects and returns the size of the index.
func (p *pack) check(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	head := make([]byte, indexHeader+fanout)
	if _, err := f.ReadAt(head, 0); err != nil || !bytes.HasPrefix(head, indexMagic) {
		return 0, fmt.Errorf("index of %s: %w", p.name, ErrUnread)
	}
	p.count = int64(binary.BigEndian.Uint32(head[indexHeader+fanout-4:]))
	if info.Size() < p.longOffsets()+2*sha1.Size {
		return 0, fmt.Errorf("index of %s: %w", p.name, ErrUnread)
	}
	return info.Size(), nil
}

func (p *pack) ids() int64         { return indexHeader + fanout }
func (p *pack) sums() int64        { return p.ids() + idSize*p.count }
func (p *pack) offsets() int64     { return p.sums() + 4*p.count }
func (p *pack) longOffsets() int64 { return p.offsets() + 4*p.count }

// find returns where in the pack an object begins.
func (p *pack) find(id []byte) (offset int64, ok bool) {
	from := int64(0)
	if id[0] > 0 {
		from = p.number(indexHeader + 4*int64(id[0]-1))
	}
	to := min(p.number(indexHeader+4*int64(id[0])), p.count)
	var at [idSize]byte
	for from < to {
		middle := from + (to-from)/2
		if _, err := p.index.ReadAt(at[:], p.ids()+idSize*middle); err != nil {
			return 0, false
		}
		switch c := bytes.Compare(at[:], id); {
		case c == 0:
			return p.offset(middle)
		case c < 0:
			from = middle + 1
		default:
			to = middle
		}
	}
	return 0, false
}

// offset reads an offset of 31 bits, or with the highest bit set the place of one of 64.
func (p *pack) offset(i int64) (offset int64, ok bool) {
	n := p.number(p.offsets() + 4*i)
	if n&(1<<31) == 0 {
		return n, n >= packHeader
	}
	var long [8]byte
	if _, err := p.index.ReadAt(long[:], p.longOffsets()+8*(n&^(1<<31))); err != nil {
		return 0, false
	}
	offset = int64(binary.BigEndian.Uint64(long[:]))
	return offset, offset >= packHeader
}

// number reads 32 bits; 0 where there are none, which leads to no object.
func (p *pack) number(at int64) int64 {
	var b [4]byte
	if _, err := p.index.ReadAt(b[:], at); err != nil {
		return 0
	}
	return int64(binary.BigEndian.Uint32(b[:]))
}

// packHeader is the length of what comes before the first object.
const packHeader = 12

// The types of objects in a pack.
const (
	kindCommit   = 1
	kindTree     = 2
	kindBlob     = 3
	kindTag      = 4
	kindOfsDelta = 6
	kindRefDelta = 7
)

var kinds = map[int]string{kindCommit: Commit, kindTree: Tree, kindBlob: Blob, kindTag: Tag}

// entry is the head of an object in a pack.
type entry struct {
	kind int
	size int64  // of its content, or of its delta
	back int64  // how far before it its base begins, for kindOfsDelta
	base []byte // the id of its base, for kindRefDelta
	data int64  // where its compressed data begins
}

// maxEntry is more than the head of an entry takes: two numbers of at most 10 bytes, or one and
// an id.
const maxEntry = 10 + idSize

func readEntry(f io.ReaderAt, offset int64) (e entry, err error) {
	head := make([]byte, maxEntry)
	n, err := f.ReadAt(head, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return e, err
	}
	in := bytes.NewReader(head[:n])
	b, err := in.ReadByte()
	e.kind, e.size = int(b>>4&7), int64(b&0xf)
	for shift := 4; err == nil && b&0x80 != 0; shift += 7 {
		b, err = in.ReadByte()
		if shift > 53 {
			return e, ErrUnread
		}
		e.size |= int64(b&0x7f) << shift
	}
	switch {
	case err != nil:
	case e.kind == kindOfsDelta:
		e.back, err = readBack(in)
	case e.kind == kindRefDelta:
		e.base = make([]byte, idSize)
		_, err = io.ReadFull(in, e.base)
	case kinds[e.kind] == "":
		return e, fmt.Errorf("object of type %d: %w", e.kind, ErrUnread)
	}
	if err != nil {
		return e, unread(err)
	}
	e.data = offset + int64(n) - int64(in.Len())
	return e, nil
}

// readBack reads how far back a base is: 7 bits a byte, and one more for each further byte.
func readBack(in io.ByteReader) (int64, error) {
	b, err := in.ReadByte()
	back := int64(b & 0x7f)
	for n := 0; err == nil && b&0x80 != 0; n++ {
		if n > 7 {
			return 0, ErrUnread
		}
		b, err = in.ReadByte()
		back = (back+1)<<7 | int64(b&0x7f)
	}
	return back, err
}
