package postbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
)

// File adds messages that have ended to the log of a session. A lost tail of it costs no more than
// what is told of them.
func File(log string, ended []orchestrator.Message) error {
	if len(ended) == 0 {
		return nil
	}
	var lines bytes.Buffer
	for i := range ended {
		line, err := json.Marshal(&ended[i])
		if err != nil {
			return fmt.Errorf("file message: %w", err)
		}
		lines.Write(append(line, '\n'))
	}
	return durable.Log(log, lines.Bytes())
}

// Archive is the log of the messages of a session that have ended, for its only writer. It remembers
// their files and how far their readers are, so that the log is read once.
type Archive struct {
	Log string
	Now func() time.Time // nil = time.Now

	files   map[string]int    // the number of the message; nil before the log was read
	readers map[string]reader // by their addresses
}

// File adds messages that have ended.
func (a *Archive) File(ended []orchestrator.Message) error {
	if a.files != nil {
		for i := range ended {
			a.take(&ended[i])
		}
	}
	return File(a.Log, ended)
}

// Holds reports whether a file is that of a message in the log with a number up to last. One with a
// higher number was filed for a commit that was not made.
func (a *Archive) Holds(file string, last int) (bool, error) {
	if err := a.read(); err != nil {
		return false, err
	}
	seq, ok := a.files[file]
	return ok && seq <= last, nil
}

// read reads the log, unless it was read.
func (a *Archive) read() error {
	if a.files != nil {
		return nil
	}
	b := Archive{Now: a.Now, files: map[string]int{}, readers: map[string]reader{}}
	for e, err := range backwards[ending](a.Log) {
		if err != nil {
			return err
		}
		if _, later := b.files[e.File]; !later && e.File != "" {
			b.take(&orchestrator.Message{Seq: e.Seq, File: e.File, To: e.To, State: e.State, Attempts: e.Attempts, DeliveredAt: e.DeliveredAt})
		}
	}
	a.files, a.readers = b.files, b.readers
	return nil
}

// ending is what an archive takes of a message: a host that begins reads them all.
type ending struct {
	Seq         int               `json:"seq"`
	File        string            `json:"file"`
	To          string            `json:"to"`
	State       string            `json:"state"`
	Attempts    int               `json:"attempts"`
	DeliveredAt orchestrator.Time `json:"delivered_at"`
}

// take keeps of a message what an archive remembers.
func (a *Archive) take(m *orchestrator.Message) {
	a.files[m.File] = m.Seq
	if !queued(m) {
		return
	}
	now := time.Now
	if a.Now != nil {
		now = a.Now
	}
	r := a.readers[m.To]
	r.take(m, now())
	a.readers[m.To] = r
}

// filed names a message of the log. After a kill between the log and the state it is there twice.
type filed struct {
	seq  int
	file string
}

// Ended returns the messages in the log of a session, in the order in which they ended, each once. A
// line that is not one is passed over, and a missing log is an empty one.
func Ended(log string) ([]orchestrator.Message, error) {
	return Last(log, -1, func(orchestrator.Message) bool { return true })
}

// Last returns the last messages in the log of a session that are wanted, at most limit of them, in the
// order in which they ended. It reads no more of the log than it needs. A negative limit is none.
func Last(log string, limit int, wanted func(orchestrator.Message) bool) ([]orchestrator.Message, error) {
	var list []orchestrator.Message
	seen := map[filed]bool{}
	for m, err := range backwards[orchestrator.Message](log) {
		if err != nil || len(list) == limit {
			return upright(list), err
		}
		if key := (filed{m.Seq, m.File}); m.File != "" && !seen[key] && wanted(m) {
			seen[key] = true
			list = append(list, m)
		}
	}
	return upright(list), nil
}

func upright(list []orchestrator.Message) []orchestrator.Message {
	slices.Reverse(list)
	return list
}

// block is how much of a log is read at a time.
const block = 64 << 10

// maxRecord bounds a line of the log: a message has far less.
const maxRecord = 1 << 20

// backwards returns what a T takes of the lines of a log from its end. After an error there are no more.
func backwards[T any](log string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := readBackwards(log, func(line []byte) bool {
			var m T
			return json.Unmarshal(line, &m) != nil || yield(m, nil)
		})
		if err != nil {
			var none T
			yield(none, fmt.Errorf("read ended messages: %w", err))
		}
	}
}

// readBackwards calls each with the lines of a file from its end until that returns false. What is
// behind the last newline is not a line yet; a line that is too long is left out.
func readBackwards(file string, each func(line []byte) bool) error {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", file)
	}
	var rest []byte // the end of the line that begins before what was read
	for at := info.Size(); at > 0; {
		n := min(at, block)
		at -= n
		data := make([]byte, n, int(n)+len(rest))
		if _, err := f.ReadAt(data, at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		data = append(data, rest...)
		for at == 0 || bytes.IndexByte(data, '\n') >= 0 {
			i := bytes.LastIndexByte(data[:max(0, len(data)-1)], '\n')
			if i < 0 && at > 0 {
				break
			}
			if !each(data[i+1:]) {
				return nil
			}
			if data = data[:i+1]; i < 0 {
				return nil
			}
		}
		if rest = data; len(rest) > maxRecord {
			rest = rest[:0]
		}
	}
	return nil
}
