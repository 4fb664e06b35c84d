package workspace

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// pack collects objects for a store in a file of git's pack format, without deltas
// (gitformat-pack(5)). Git adds them by one process and one sync each for pack and index;
// single objects cost it more than the rest of a snapshot.
type pack struct {
	file  *os.File
	out   *bufio.Writer
	z     *zlib.Writer
	count uint32
	added map[string]bool
}

// The types of objects in a pack.
const (
	kindTree = 2
	kindBlob = 3
)

var kindNames = map[int]string{kindTree: "tree", kindBlob: "blob"}

func newPack(name string) (*pack, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	p := &pack{file: file, out: bufio.NewWriter(file), added: map[string]bool{}}
	if p.z, err = zlib.NewWriterLevel(p.out, zlib.BestSpeed); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	_, err = p.out.Write(packHeader(0))
	return p, err
}

func packHeader(count uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), count)
}

func (p *pack) close() { _ = p.file.Close() }

// add takes an object and returns its id.
func (p *pack) add(kind int, data []byte) (id string, err error) {
	if id = objectID(kindNames[kind], data); p.added[id] {
		return id, nil
	}
	p.added[id] = true
	p.count++
	// The type and the lowest 4 bits of the size, then 7 bits a byte.
	head := []byte{byte(kind<<4 | len(data)&0xf)}
	for size := len(data) >> 4; size > 0; size >>= 7 {
		head[len(head)-1] |= 0x80
		head = append(head, byte(size&0x7f))
	}
	_, err = p.out.Write(head)
	p.z.Reset(p.out)
	if err == nil {
		_, err = p.z.Write(data)
	}
	if err == nil {
		err = p.z.Close()
	}
	return id, err
}

// finish writes what stands around the objects and goes to the beginning of the file.
func (p *pack) finish() error {
	if err := p.out.Flush(); err != nil {
		return err
	}
	if _, err := p.file.WriteAt(packHeader(p.count), 0); err != nil {
		return err
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum := sha1.New()
	if _, err := io.Copy(sum, p.file); err != nil {
		return err
	}
	if _, err := p.file.Write(sum.Sum(nil)); err != nil {
		return err
	}
	_, err := p.file.Seek(0, io.SeekStart)
	return err
}

// objectID is the id of an object, not in hex. The store has no other ids: see its guard.
func objectID(kind string, data []byte) string {
	sum := sha1.New()
	fmt.Fprintf(sum, "%s %d\x00", kind, len(data))
	_, _ = bytes.NewReader(data).WriteTo(sum)
	return string(sum.Sum(nil))
}
