package object

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/crash"
)

// maxHeader bounds "<type> <size> NUL" of a loose object.
const maxHeader = 64

// looseObject reads what a loose object says of itself, and gives its content to use.
func looseObject(f *os.File, use func(kind string, size int64, content io.Reader) error) error {
	return inflate(f, 0, func(z io.Reader) error {
		in := bufio.NewReaderSize(z, 4*maxHeader)
		head, err := in.Peek(maxHeader)
		if err != nil && !errors.Is(err, io.EOF) {
			return unread(err)
		}
		head, _, ok := bytes.Cut(head, []byte{0})
		name, number, ok2 := bytes.Cut(head, []byte(" "))
		size, err := strconv.ParseInt(string(number), 10, 64)
		if !ok || !ok2 || err != nil || size < 0 {
			return fmt.Errorf("loose object with header %q: %w", head, ErrUnread)
		}
		kind := string(name)
		if _, err := in.Discard(len(head) + 1); err != nil {
			return err
		}
		return use(kind, size, in)
	})
}

func loose(f *os.File, max int64) (kind string, data []byte, err error) {
	err = looseObject(f, func(name string, size int64, from io.Reader) error {
		if size > max {
			return ErrTooLarge
		}
		kind = name
		data, err = content(from, size)
		return err
	})
	return kind, data, err
}

// content reads size bytes, which must be all there are.
func content(from io.Reader, size int64) ([]byte, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(from, data); err != nil {
		return nil, unread(err)
	}
	// The sum of the compressed data comes with the end.
	if n, err := from.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("content does not end after %d bytes: %w", size, ErrUnread)
	}
	return data, nil
}

func unread(err error) error { return fmt.Errorf("%w: %w", ErrUnread, err) }

// Write adds an object and returns its id, in hex. One that is there already is kept, and
// counts as new for "git gc".
func (d *Database) Write(kind string, data []byte) (id string, err error) {
	id = ID(kind, data)
	there, err := d.freshen(id)
	if err == nil && !there {
		err = d.writeLoose(id, kind, data)
	}
	if err != nil {
		return "", fmt.Errorf("write %s: %w", kind, err)
	}
	return id, nil
}

// freshen reports whether the object is there.
func (d *Database) freshen(id string) (bool, error) {
	raw, err := parse(id)
	if err != nil {
		return false, err
	}
	now := time.Now()
	if at, ok := d.find(raw); ok && os.Chtimes(at.pack.name+".pack", now, now) == nil {
		return true, nil
	}
	return os.Chtimes(d.loosePath(id), now, now) == nil, nil
}

func (d *Database) writeLoose(id, kind string, data []byte) error {
	dir := filepath.Dir(d.loosePath(id))
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
		if err := d.syncDir(d.dir); err != nil {
			return err
		}
	case !errors.Is(err, os.ErrExist):
		return err
	}
	// "git gc" removes old files of this name.
	f, err := os.CreateTemp(dir, "tmp_obj_")
	if err != nil {
		return err
	}
	err = deflate(f, fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data)
	crash.Point("write object", kind)
	if err = errors.Join(err, d.finish(f), f.Close()); err == nil {
		err = os.Rename(f.Name(), d.loosePath(id))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	crash.Point("rename object", kind)
	return d.syncDir(dir)
}

// deflaters are used again: one is large.
var deflaters = sync.Pool{New: func() any {
	z, err := zlib.NewWriterLevel(nil, zlib.BestSpeed)
	if err != nil {
		panic(err) // of the level, which is one
	}
	return z
}}

func deflate(to io.Writer, parts ...[]byte) error {
	z := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(z)
	z.Reset(to)
	for _, part := range parts {
		if _, err := z.Write(part); err != nil {
			return err
		}
	}
	return z.Close()
}

// finish brings a file to disk that is written.
func (d *Database) finish(f *os.File) error {
	err := f.Chmod(0o444)
	if d.lazy {
		return err
	}
	return errors.Join(err, f.Sync())
}

func (d *Database) syncDir(dir string) error {
	if d.lazy {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
