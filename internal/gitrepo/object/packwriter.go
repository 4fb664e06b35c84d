package object

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/agentmux/agentmux/internal/crash"
)

// PackWriter collects objects in a file of git's pack format, without deltas. A database takes
// all of them at once with [Database.Take]: what single objects cost, they cost together.
type PackWriter struct {
	file    *os.File
	out     *bufio.Writer
	at      int64       // bytes written to out
	crc     hash.Hash32 // of the entry that is written
	entries []packed
	added   map[[idSize]byte]bool
	sum     [idSize]byte // of the whole pack, once it is finished
	binary  bool
}

// packed is an object of a pack that is written.
type packed struct {
	id     [idSize]byte
	crc    uint32
	offset int64
}

// NewPack makes the file name, which must be free. The caller closes it.
func NewPack(name string) (*PackWriter, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	p := &PackWriter{file: file, out: bufio.NewWriter(file), crc: crc32.NewIEEE(), added: map[[idSize]byte]bool{}}
	_, err = p.Write(packHead(0))
	return p, err
}

func packHead(count int) []byte {
	return binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(count))
}

// Write adds bytes to the entry that is written.
func (p *PackWriter) Write(data []byte) (int, error) {
	_, _ = p.crc.Write(data)
	n, err := p.out.Write(data)
	p.at += int64(n)
	return n, err
}

// Close closes the file. What counts of it was synced by Take.
func (p *PackWriter) Close() { _ = p.file.Close() }

// Count returns the number of objects.
func (p *PackWriter) Count() int { return len(p.entries) }

// Binary reports whether a blob of the pack is not text. Two contents with one id are known for
// SHA-1, and git's own sum finds out that something is one of them. This package's does not, but
// to make them of text alone is out of reach.
func (p *PackWriter) Binary() bool { return p.binary }

// Add takes an object and returns its id, not in hex.
func (p *PackWriter) Add(kind string, data []byte) (id string, err error) {
	key := sum(kind, data)
	if p.added[key] {
		return string(key[:]), nil
	}
	p.added[key] = true
	p.binary = p.binary || kind == Blob && !utf8.Valid(data)
	p.crc.Reset()
	from := p.at
	if _, err := p.Write(entryHead(kind, len(data))); err != nil {
		return "", err
	}
	if err := deflate(p, data); err != nil {
		return "", err
	}
	p.entries = append(p.entries, packed{key, p.crc.Sum32(), from})
	return string(key[:]), nil
}

// entryHead has the type and the lowest 4 bits of the size, then 7 bits a byte.
func entryHead(kind string, size int) []byte {
	number := 0
	for n, name := range kinds {
		if name == kind {
			number = n
		}
	}
	head := []byte{byte(number<<4 | size&0xf)}
	for size >>= 4; size > 0; size >>= 7 {
		head[len(head)-1] |= 0x80
		head = append(head, byte(size&0x7f))
	}
	return head
}

// Finish writes what is around the objects and returns the file at its beginning.
func (p *PackWriter) Finish() (*os.File, error) {
	if err := p.out.Flush(); err != nil {
		return nil, err
	}
	if _, err := p.file.WriteAt(packHead(len(p.entries)), 0); err != nil {
		return nil, err
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	sum := sha1.New()
	if _, err := io.Copy(sum, p.file); err != nil {
		return nil, err
	}
	p.sum = [idSize]byte(sum.Sum(nil))
	if _, err := p.file.Write(p.sum[:]); err != nil {
		return nil, err
	}
	_, err := p.file.Seek(0, io.SeekStart)
	return p.file, err
}

// table is the index of the finished pack.
func (p *PackWriter) table() []byte {
	slices.SortFunc(p.entries, func(a, b packed) int { return bytes.Compare(a.id[:], b.id[:]) })
	out := bytes.Clone(indexMagic)
	n := 0
	for first := range 256 {
		for n < len(p.entries) && int(p.entries[n].id[0]) <= first {
			n++
		}
		out = binary.BigEndian.AppendUint32(out, uint32(n))
	}
	for _, e := range p.entries {
		out = append(out, e.id[:]...)
	}
	for _, e := range p.entries {
		out = binary.BigEndian.AppendUint32(out, e.crc)
	}
	var long []byte
	for _, e := range p.entries {
		if e.offset < 1<<31 {
			out = binary.BigEndian.AppendUint32(out, uint32(e.offset))
			continue
		}
		out = binary.BigEndian.AppendUint32(out, 1<<31|uint32(len(long)/8))
		long = binary.BigEndian.AppendUint64(long, uint64(e.offset))
	}
	out = append(append(out, long...), p.sum[:]...)
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

// Take moves a finished pack, whose file is in the same file system, into the database.
func (d *Database) Take(p *PackWriter) error {
	err := d.take(p)
	if err != nil {
		return fmt.Errorf("take pack: %w", err)
	}
	return nil
}

func (d *Database) take(p *PackWriter) error {
	if err := os.MkdirAll(d.packDir(), 0o700); err != nil {
		return err
	}
	// "git gc" removes old files of this name.
	index, err := os.CreateTemp(d.packDir(), "tmp_idx_")
	if err != nil {
		return err
	}
	_, err = index.Write(p.table())
	crash.Point("write pack index", "")
	if err = errors.Join(err, d.finishBoth(p.file, index), index.Close()); err != nil {
		return errors.Join(err, os.Remove(index.Name()))
	}
	name := filepath.Join(d.packDir(), "pack-"+hex.EncodeToString(p.sum[:]))
	// An index makes its pack count: it comes last.
	if err := os.Rename(p.file.Name(), name+".pack"); err != nil {
		return errors.Join(err, os.Remove(index.Name()))
	}
	crash.Point("rename pack", "")
	if err := os.Rename(index.Name(), name+".idx"); err != nil {
		return errors.Join(err, os.Remove(index.Name()))
	}
	crash.Point("rename pack index", "")
	return d.syncDir(d.packDir())
}

// finishBoth waits once for the disk, not once for each file.
func (d *Database) finishBoth(pack, index *os.File) error {
	done := make(chan error, 1)
	go func() { done <- d.finish(pack) }()
	err := d.finish(index)
	return errors.Join(err, <-done)
}
