package object

import (
	"bufio"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
)

// open returns the file of a pack.
func (r *Reader) open(p *pack) (*os.File, error) {
	if f := r.files[p.name]; f != nil {
		return f, nil
	}
	f, err := os.Open(p.name + ".pack")
	if err != nil {
		return nil, err
	}
	if r.files == nil {
		r.files = map[string]*os.File{}
	}
	r.files[p.name] = f
	return f, nil
}

// packed reads an object from a pack: its base, and the deltas that lead from there to it.
func (r *Reader) packed(at place, max int64, nested int) (kind string, data []byte, err error) {
	f, err := r.open(at.pack)
	if err != nil {
		return "", nil, err
	}
	var deltas [][]byte // that of the object first
	var places []place  // of what each of them makes
	for data == nil {
		if known, ok := r.bases[at]; ok {
			kind, data = known.kind, known.data
			break
		}
		e, err := readEntry(f, at.offset)
		if err != nil {
			return "", nil, err
		}
		if e.size > maxObject || len(deltas) == 0 && e.base == nil && e.back == 0 && e.size > max {
			return "", nil, ErrTooLarge
		}
		text, err := inflated(f, e)
		if err != nil {
			return "", nil, err
		}
		if e.kind != kindOfsDelta && e.kind != kindRefDelta {
			kind, data = kinds[e.kind], text
			r.keep(at, kind, data)
			break
		}
		if _, size, _, err := deltaHeader(text); err != nil || len(deltas) == 0 && size > max {
			return "", nil, cmpErr(err, ErrTooLarge)
		}
		deltas, places = append(deltas, text), append(places, at)
		switch {
		case e.kind == kindRefDelta:
			kind, data, err = r.read(e.base, maxObject, nested+1)
			if err != nil {
				return "", nil, err
			}
		case e.back <= 0 || e.back > at.offset-packHeader:
			return "", nil, fmt.Errorf("base of an object before the pack: %w", ErrUnread)
		default:
			at.offset -= e.back
		}
	}
	for i, delta := range slices.Backward(deltas) {
		if data, err = applied(data, delta); err != nil {
			return "", nil, err
		}
		r.keep(places[i], kind, data)
	}
	return kind, slices.Clone(data), nil
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// keep remembers an object that may be the base of the next one.
func (r *Reader) keep(at place, kind string, data []byte) {
	if len(data) > maxKept/8 {
		return
	}
	if r.bases == nil || r.kept+len(data) > maxKept {
		r.bases, r.kept = map[place]based{}, 0
	}
	r.bases[at] = based{kind, data}
	r.kept += len(data)
}

// statPacked follows the heads alone: a delta says how large what it makes is.
func (r *Reader) statPacked(at place) (kind string, size int64, err error) {
	f, err := r.open(at.pack)
	if err != nil {
		return "", 0, err
	}
	size = -1
	for {
		e, err := readEntry(f, at.offset)
		if err != nil {
			return "", 0, err
		}
		if size < 0 {
			if size = e.size; e.kind == kindOfsDelta || e.kind == kindRefDelta {
				if size, err = deltaSize(f, e); err != nil {
					return "", 0, err
				}
			}
		}
		switch {
		case e.kind == kindRefDelta:
			kind, _, err = r.Stat(fmt.Sprintf("%x", e.base))
			return kind, size, err
		case e.kind != kindOfsDelta:
			return kinds[e.kind], size, nil
		case e.back <= 0 || e.back > at.offset-packHeader:
			return "", 0, fmt.Errorf("base of an object before the pack: %w", ErrUnread)
		}
		at.offset -= e.back
	}
}

// inflaters are used again: one is large.
var inflaters sync.Pool

type inflater struct {
	in *bufio.Reader
	z  io.ReadCloser
}

// inflate gives what is compressed from an offset on to use.
func inflate(f io.ReaderAt, from int64, use func(io.Reader) error) error {
	section := io.NewSectionReader(f, from, math.MaxInt64-from)
	x, ok := inflaters.Get().(*inflater)
	var err error
	if ok {
		x.in.Reset(section)
		err = x.z.(zlib.Resetter).Reset(x.in, nil)
	} else {
		x = &inflater{in: bufio.NewReader(section)}
		x.z, err = zlib.NewReader(x.in)
	}
	if err != nil {
		return unread(err)
	}
	defer inflaters.Put(x)
	return use(x.z)
}

func inflated(f io.ReaderAt, e entry) (data []byte, err error) {
	err = inflate(f, e.data, func(z io.Reader) error {
		data, err = content(z, e.size)
		return err
	})
	return data, err
}

// deltaSize reads the size of what a delta makes.
func deltaSize(f io.ReaderAt, e entry) (size int64, err error) {
	head := make([]byte, min(e.size, 2*binary.MaxVarintLen64))
	err = inflate(f, e.data, func(z io.Reader) error {
		_, err := io.ReadFull(z, head)
		return err
	})
	if err != nil {
		return 0, unread(err)
	}
	_, size, _, err = deltaHeader(head)
	return size, err
}
