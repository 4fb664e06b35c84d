package session

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/seal"
)

// Events returns the committed records after the one numbered after, in order, and how many lines in
// between could not be read. Records beyond state.json's seq are not committed and not returned.
func (s *Session) Events(after int) (records []orchestrator.Event, bad int, err error) {
	f := s.Follow(after)
	records, err = f.Read()
	return records, f.Bad, err
}

// Follower reads a session's records as they are committed. It belongs to one
// goroutine. A session that is moved or whose records were lost is read from the
// start again, without repeating a number.
type Follower struct {
	// After is the number of the last record that was returned.
	After int
	// Bad counts lines that could not be read so far.
	Bad int

	s      *Session
	offset int64
	decode func(line []byte) (orchestrator.Event, error) // nil = orchestrator.ReadEvent
}

// Follow returns a Follower that begins behind the record numbered after.
func (s *Session) Follow(after int) *Follower { return &Follower{After: after, s: s} }

// nearEnd is how far before the end of the records a follower of new ones begins.
const nearEnd = 64 << 10

// FromEnd has the follower begin near the end, for who wants new records only.
func (f *Follower) FromEnd() *Follower {
	if info, err := os.Stat(f.s.Path(EventsFile)); err == nil {
		f.offset = max(0, info.Size()-nearEnd) // perhaps within a line, which does not count
	}
	return f
}

// Read returns the records that were committed since the last Read.
func (f *Follower) Read() ([]orchestrator.Event, error) {
	seq, err := f.s.committed()
	if err != nil {
		return nil, err
	}
	if seq <= f.After {
		return nil, nil
	}
	file, err := openOwn(f.s.Path(EventsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() < f.offset {
		f.offset = 0
	}
	if _, err := file.Seek(f.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return f.read(file, seq)
}

func (f *Follower) read(file io.Reader, seq int) ([]orchestrator.Event, error) {
	var records []orchestrator.Event
	decode := orchestrator.ReadEvent
	if f.decode != nil {
		decode = f.decode
	}
	in := bufio.NewReader(file)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return records, nil // what is left has no end yet
		}
		if err != nil {
			return records, fmt.Errorf("read events: %w", err)
		}
		e, err := decode(line)
		if err != nil || e.Seq <= 0 {
			if len(bytes.TrimSpace(line)) > 0 {
				f.Bad++
			}
			f.offset += int64(len(line))
			continue
		}
		if e.Seq > seq {
			return records, nil
		}
		f.offset += int64(len(line))
		if e.Seq > f.After {
			f.After = e.Seq
			records = append(records, e)
		}
	}
}

// committed returns state.json's seq without judging the rest of the file.
func (s *Session) committed() (int, error) {
	data, err := readOwn(s.Path(StateFile), orchestrator.MaxStateBytes+1)
	if err != nil {
		return 0, fmt.Errorf("read state: %w", err)
	}
	seq, err := seal.Seq(data)
	if err != nil {
		return 0, &CorruptError{Name: s.Name(), Reason: "state.json: " + err.Error(), cause: err}
	}
	return seq, nil
}
