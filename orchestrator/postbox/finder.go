package postbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/workflows/message"
)

const (
	// listPause is the least time between two listings of the directory.
	listPause = 2 * time.Second
	// settling is for how long after a change of a file another look soon will tell.
	settling = 2 * time.Second
	// againPause is the time after which what was left is looked at again.
	againPause = 30 * time.Second
	// maxLooked bounds the files of one look: the others have their turn after them.
	maxLooked = 100
	maxLog    = 1 << 30
)

// Finder finds the files of a directory of messages that were laid there by hand: no line of a log
// names them. Each look costs one stat while the directory does not change.
type Finder struct {
	Dir  string
	Logs []string // files whose lines name those of the directory, as msgs/NAME

	named   map[string]bool
	read    map[string]int64 // how much of a log was read
	waiting map[string]durable.Look
	turn    []string  // names of those that wait
	left    bool      // files that are empty or too large were left
	changed time.Time // of the directory, at the last listing
	listed  time.Time
	sure    bool // a file cannot have come at the moment of the last listing
}

// Know says that files are not by hand.
func (f *Finder) Know(names ...string) {
	if f.named == nil {
		f.named, f.read, f.waiting = map[string]bool{}, map[string]int64{}, map[string]durable.Look{}
	}
	for _, name := range names {
		f.named[name] = true
		delete(f.waiting, name)
	}
}

// Look returns files by hand that have stopped changing; soon reports whether another look in a moment
// may find more. Larger files than messages may be are never found, nor are links, pipes, hidden files
// and those whose name tells an end.
func (f *Finder) Look(now time.Time) (found []string, soon bool, err error) {
	f.Know()
	info, err := os.Stat(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	same := info.ModTime().Equal(f.changed)
	if !same || !f.sure || f.left && now.Sub(f.listed).Abs() >= againPause {
		if soon = now.Sub(f.listed).Abs() < listPause; !soon {
			if err := f.list(); err != nil {
				return nil, false, err
			}
			f.changed, f.listed, f.sure = info.ModTime(), now, same
			soon = !same
		}
	}
	looked := f.turn[:min(len(f.turn), maxLooked)]
	f.turn = slices.Clone(f.turn[len(looked):])
	for _, name := range looked {
		first, waits := f.waiting[name]
		if !waits {
			continue
		}
		look, err := durable.LookAt(f.Dir, name, now)
		switch {
		case err != nil: // it is gone, or no file any more
			delete(f.waiting, name)
			continue
		case first.At.IsZero() || !look.Same(first):
			f.waiting[name], soon = look, true
		case look.StableSince(first, time.Time{}) && look.Size <= message.MaxFile:
			found = append(found, name)
		case now.Sub(first.At).Abs() < settling:
			soon = true
		default:
			delete(f.waiting, name)
			f.left = true
			continue
		}
		f.turn = append(f.turn, name)
	}
	return found, soon || len(f.turn) > len(found), nil
}

// list makes those files wait that no log names.
func (f *Finder) list() error {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return err
	}
	f.left = false
	var unknown []string
	for _, e := range entries {
		name := e.Name()
		if _, waits := f.waiting[name]; waits || f.named[name] || !e.Type().IsRegular() || !strings.HasSuffix(name, ".md") ||
			strings.HasPrefix(name, ".") || message.ParseName(name, nil).End != "" {
			continue
		}
		unknown = append(unknown, name)
	}
	if len(unknown) == 0 {
		return nil
	}
	if err := f.readLogs(); err != nil {
		return err
	}
	for _, name := range unknown {
		if !f.named[name] {
			f.waiting[name] = durable.Look{}
			f.turn = append(f.turn, name)
		}
	}
	return nil
}

// ByHand reports whether no log names a file now. It is asked while nobody can write to the logs.
func (f *Finder) ByHand(name string) (bool, error) {
	err := f.readLogs()
	return !f.named[name], err
}

// readLogs learns what the logs name since they were read.
func (f *Finder) readLogs() error {
	for _, log := range f.Logs {
		data, err := since(log, f.read[log])
		if err != nil {
			return err
		}
		data = data[:bytes.LastIndexByte(data, '\n')+1]
		f.read[log] += int64(len(data))
		f.Know(namedIn(data)...)
	}
	return nil
}

// namedIn returns the names of files of messages in lines. It does not read all that the lines say: there
// may be ten thousand.
func namedIn(lines []byte) (names []string) {
	key := []byte(`"file":"msgs/`)
	for {
		_, rest, ok := bytes.Cut(lines, key)
		end := bytes.IndexByte(rest, '"')
		if !ok || end < 0 {
			return names
		}
		name := string(rest[:end])
		if !strings.Contains(name, `\`) || json.Unmarshal([]byte(`"`+name+`"`), &name) == nil { // > is written as an escape
			names = append(names, filepath.Base(name))
		}
		lines = rest[end:]
	}
}

// since reads a log from an offset; a missing one is empty, one that was cut is read again.
func since(log string, offset int64) ([]byte, error) {
	f, err := os.OpenFile(log, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() <= offset {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, offset, min(info.Size()-offset, maxLog)))
}
