package object

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"io"
	"os"
)

// Stream gives the content of a blob to use, which reads it to its end, and never holds all of it.
// What use was given counts only if Stream returns nil: a blob is known to be whole at its end.
// It returns ErrUnread, and has not called use, where only Read finds the content, as for a delta.
func (d *Database) Stream(id string, use func(content io.Reader) error) error {
	raw, err := parse(id)
	if err != nil {
		return err
	}
	r := d.Reader()
	defer r.Close()
	checked := func(kind string, size int64, from io.Reader) error {
		if kind != Blob {
			return ErrUnread
		}
		hash := sha1.New()
		fmt.Fprintf(hash, "%s %d\x00", kind, size)
		left := &io.LimitedReader{R: from, N: size}
		if err := use(io.TeeReader(left, hash)); err != nil {
			return err
		}
		// The sum of the compressed data comes with the end.
		more, err := io.Copy(io.Discard, from)
		if err != nil || more != 0 || left.N != 0 || !bytes.Equal(hash.Sum(nil), raw) {
			return fmt.Errorf("object %s is damaged", id)
		}
		return nil
	}
	return r.locate(raw, func(at place) error {
		f, err := r.open(at.pack)
		if err != nil {
			return err
		}
		e, err := readEntry(f, at.offset)
		if err != nil || kinds[e.kind] == "" {
			return cmpErr(err, ErrUnread)
		}
		return inflate(f, e.data, func(z io.Reader) error { return checked(kinds[e.kind], e.size, z) })
	}, func(f *os.File) error { return looseObject(f, checked) })
}
