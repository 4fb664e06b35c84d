package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/internal/durable"
)

// DamagedFile is where Compact puts the lines that could not be read.
const DamagedFile = "journal.damaged"

const (
	// rateTime is how long what rates count is kept: two days more than the longest of them
	// looks back, so that a clock that is off by a day drops nothing that counts when it is
	// right again.
	rateTime = 72 * time.Hour
	// commandTime is how long a command is known after it was done. A comment of a day
	// ago is refused at first sight, but one that is edited comes into view again.
	commandTime = 30 * 24 * time.Hour
)

// Compact replaces the journal by one without the records that nothing asks for any more: what is
// older than all rates, unless its trigger can be met again. met reports that for a trigger of an
// issue: the request label is still on, so that the same event would be judged again. It may not
// ask the journal, which is locked, for other processes too. Lines that could not be read go to
// DamagedFile. Compact returns how many lines went; without any, the file stays as it is.
func (j *Journal) Compact(met func(issue int, t gate.Trigger) bool) (dropped int, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.refresh(); err != nil {
		return 0, err
	}
	err = j.disk.Append(j.path, func(tail durable.Tail) ([]byte, error) {
		data, err := tail.Since(0)
		if err != nil {
			return nil, err
		}
		s := &sieve{now: j.clock(), met: met}
		if err := s.read(data); err != nil {
			return nil, err
		}
		kept, bad := s.sift()
		if dropped = len(s.lines) - len(kept); dropped == 0 {
			return nil, nil
		}
		if len(bad) > 0 {
			// They are there before they are gone here; a kill in between leaves them twice.
			damaged := filepath.Join(filepath.Dir(j.path), DamagedFile)
			if err := j.disk.Append(damaged, func(durable.Tail) ([]byte, error) { return joined(bad), nil }); err != nil {
				return nil, err
			}
		}
		return nil, j.disk.Replace(j.path, joined(kept))
	})
	if err != nil {
		return 0, fmt.Errorf("compact journal: %w", err)
	}
	return dropped, j.refresh()
}

func joined(lines [][]byte) []byte {
	if len(lines) == 0 {
		return nil
	}
	return append(bytes.Join(lines, []byte{'\n'}), '\n')
}

// A sieve sorts the lines of a journal into those to keep and the others.
type sieve struct {
	now time.Time
	met func(int, gate.Trigger) bool

	lines    []sifted
	m        *memory
	decided  map[key]bool      // decisions that are kept
	commands map[string]sifted // the last line of each
}

// sifted is a line with what it says; the record is nil for a type that is not known.
type sifted struct {
	text []byte
	line
	record Record
	bad    bool
	known  bool // an earlier line says the same
}

// read takes the lines apart. It fails for one of a newer version.
func (s *sieve) read(data []byte) error {
	s.m, s.decided, s.commands = newMemory(), map[key]bool{}, map[string]sifted{}
	for text := range bytes.Lines(data) {
		text = bytes.TrimSuffix(text, []byte{'\n'})
		l := sifted{text: text}
		if len(bytes.TrimSpace(text)) > 0 {
			var err error
			l.line, l.record, err = parseLine(text)
			if errors.Is(err, ErrNewer) {
				return err
			}
			l.bad = err != nil
		}
		if l.record != nil {
			if l.known = l.record.known(s.m); !l.known {
				l.record.fold(s.m, l.At)
			}
		}
		s.lines = append(s.lines, l)
	}
	s.order()
	for _, l := range s.lines {
		if r, ok := l.record.(Decided); ok && s.keepsDecided(r, l) {
			s.decided[key{r.Issue, r.Trigger}] = true
		}
		if r, ok := l.record.(Command); ok && !l.known {
			s.commands[r.Source] = l
		}
	}
	return nil
}

// order makes the times what memory.passed makes of them, so that they stay so when the lines
// that say it are gone.
func (s *sieve) order() {
	later := s.now
	for i := range slices.Backward(s.lines) {
		l := &s.lines[i]
		switch {
		case l.At.IsZero():
		case l.At.After(later):
			l.At = later
			if text, err := json.Marshal(l.line); err == nil {
				l.text = text
			}
		default:
			later = l.At
		}
	}
}

// young reports whether a line is not older than d. One without a time is old.
func (s *sieve) young(l sifted, d time.Duration) bool { return l.At.After(s.now.Add(-d)) }

func (s *sieve) keepsDecided(r Decided, l sifted) bool {
	return s.young(l, rateTime) || r.refused() && !s.m.told[key{r.Issue, r.Trigger}] ||
		slices.ContainsFunc(r.triggers(), func(t gate.Trigger) bool { return s.met(r.Issue, t) })
}

// sift returns the lines to keep, and those that cannot be read.
func (s *sieve) sift() (kept, bad [][]byte) {
	for _, l := range s.lines {
		switch {
		case l.bad:
			bad = append(bad, l.text)
		case s.keeps(l):
			kept = append(kept, l.text)
		}
	}
	return kept, bad
}

func (s *sieve) keeps(l sifted) bool {
	if l.known || l.Type == "" {
		return false
	}
	switch r := l.record.(type) {
	case Decided:
		return s.decided[key{r.Issue, r.Trigger}]
	case Told: // goes with its decision, which would be owed again without it
		return s.decided[key{r.Issue, r.Trigger}] || s.young(l, rateTime)
	case Started:
		return s.young(l, rateTime)
	case Seen:
		return s.young(l, rateTime) || s.met(r.Issue, r.Trigger)
	case Command:
		last := s.commands[r.Source]
		return !s.m.commands[r.Source].State.final() || s.young(last, commandTime)
	}
	return true
}
