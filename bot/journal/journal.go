// Package journal remembers what the gate decided about the requests of one repository, what was
// started for its rates, which refusals were written, and the commands that came while there was
// no session to keep them. It owns the file journal.jsonl of a managed project.
//
// The file is a log: one JSON line a record, with version, type, time and data. Open reads it and
// folds it into a memory that answers questions. Append writes a line under the lock of the file
// and returns when it is on disk. The bot and agentmux issue may append to one journal: before it
// writes, Append reads what others wrote, and it writes nothing that is known already. The process
// whose record was fresh acts on it.
//
// What is damaged never stops a journal. A line that was torn by a kill is ended and passed over.
// A line that cannot be read is passed over, named by its number, and moved to a file beside the
// journal by Compact. Records of unknown types are kept. A journal in which a newer version has
// written is refused with ErrNewer, and nothing is written to it.
//
// A journal that is lost, or a part of it, never leads to a second start. The claim of an issue,
// its ticket and its session say what runs. A label is off once its request was claimed, and a
// comment that asked for a retry is named by the state of the session it started, where the one
// who starts sessions has to look. A loss costs this: a refusal whose label could not be taken off
// is decided again; rates forget what they counted; one refusal too many may be written, though
// not twice for one trigger, as its comment has a key; a command for an issue without a session
// gets its receipt again; and on a server without GraphQL an edit before the next reading is not
// noticed.
//
// Times are those of this machine, and its clock may be set. Decisions and commands are known by
// their ids, so no clock loses or doubles one. Rates count back from now, and in the order of the
// file: nothing is later than what was written, or asked, after it. So after a clock was set back
// by a day no request waits for a day. A clock that is ahead makes rates forget.
package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/internal/durable"
)

// File is the name of the journal in the directory of a managed project.
const File = "journal.jsonl"

// Options are what a Journal needs besides its directory. All may be left out.
type Options struct {
	Now  func() time.Time // the clock of the records
	Disk durable.Disk
}

// Journal answers from memory. It is safe for concurrent use. There is nothing to close.
type Journal struct {
	path string
	now  func() time.Time
	disk durable.Disk

	mu     sync.Mutex
	m      *memory
	damage Damage
	file   fs.FileInfo // that was read, nil for a missing one
	offset int64       // to which it was read
	lines  int         // in front of offset
}

// Damage is what was found wrong with a journal.
type Damage struct {
	// Torn tells that the last line has no end: its writer was killed. The next Append ends it.
	Torn bool
	// Bad are the first lines that could not be read, and Count how many there are.
	Bad   []BadLine
	Count int
}

// BadLine is a line that was passed over.
type BadLine struct {
	Line   int // from 1
	Reason string
}

// maxBad bounds how many bad lines are named.
const maxBad = 20

// Open reads the journal in the directory of a managed project; a missing file is an empty one.
// The error is ErrNewer if a newer version wrote in it.
func Open(dir string, o Options) (*Journal, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	j := &Journal{path: filepath.Join(dir, File), now: o.Now, disk: o.Disk, m: newMemory()}
	if err := j.Refresh(); err != nil {
		return nil, err
	}
	return j, nil
}

// Refresh reads what other processes have written since. Questions are answered from what
// was read last.
func (j *Journal) Refresh() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.refresh()
}

// Damage returns what was found wrong so far.
func (j *Journal) Damage() Damage {
	j.mu.Lock()
	defer j.mu.Unlock()
	d := j.damage
	d.Bad = slices.Clone(d.Bad)
	return d
}

// Append writes a record. If it is known already nothing is written, and fresh is false. After an
// error it is not known whether the record is there: append it again.
func (j *Journal) Append(r Record) (fresh bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.refresh(); err != nil {
		return false, err
	}
	at := j.clock()
	text, err := encode(r, at)
	if err != nil {
		return false, err
	}
	err = j.disk.Append(j.path, func(durable.Tail) ([]byte, error) {
		if err := j.refresh(); err != nil {
			return nil, err
		}
		if r.known(j.m) {
			return nil, nil
		}
		fresh = true
		return text, nil
	})
	if err != nil {
		return false, fmt.Errorf("journal: %w", err)
	}
	if fresh {
		// The file was read to its end under the lock, and the line is behind it.
		j.m.passed(at)
		r.fold(j.m, at)
		j.offset += int64(len(text))
		j.lines++
	}
	return fresh, nil
}

const firstPause, lastPause = 5 * time.Second, time.Minute // between two tries of Insist

// Insist is Append for a record of what was done already: it is written when the disk takes it, and log
// hears meanwhile why it does not. The error is that of ctx.
func (j *Journal) Insist(ctx context.Context, r Record, log *slog.Logger) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		_, err := j.Append(r)
		if err == nil {
			return nil
		}
		log.Warn("a decision is written later", "wait", pause.String(), "err", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// clock is the time as it is written.
func (j *Journal) clock() time.Time { return j.now().UTC().Round(0).Truncate(time.Millisecond) }

// refresh reads what the file has behind the offset. Another file, or a shorter one, is read from
// its start: what is in the file counts, not what was.
func (j *Journal) refresh() error {
	f, info, err := open(j.path)
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	if f != nil {
		defer f.Close()
	}
	if j.file != nil && (info == nil || !os.SameFile(j.file, info) || info.Size() < j.offset) {
		j.m, j.damage, j.offset, j.lines = newMemory(), Damage{}, 0, 0
	}
	j.file = info
	if f == nil || info.Size() == j.offset {
		return nil
	}
	if err := j.read(io.NewSectionReader(f, j.offset, info.Size()-j.offset)); err != nil {
		return fmt.Errorf("read %s: %w", j.path, err)
	}
	return nil
}

// open opens the journal; a missing one is nil.
func open(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// read folds whole lines. The rest is a line whose writer was killed or is still writing.
func (j *Journal) read(r io.Reader) error {
	in := bufio.NewReaderSize(r, maxLine)
	j.damage.Torn = false
	for {
		text, size, err := next(in)
		if errors.Is(err, io.EOF) {
			j.damage.Torn = size > 0
			return nil
		}
		if err != nil {
			return err
		}
		if err := j.take(text); err != nil {
			return fmt.Errorf("line %d: %w", j.lines+1, err)
		}
		j.lines++
		j.offset += size
	}
}

// next reads a line with its end, and its length. The text of one that is too long is nil.
func next(in *bufio.Reader) (text []byte, size int64, err error) {
	text, err = in.ReadSlice('\n')
	size = int64(len(text))
	for errors.Is(err, bufio.ErrBufferFull) {
		text = nil
		var more []byte
		more, err = in.ReadSlice('\n')
		size += int64(len(more))
	}
	return text, size, err
}

// take folds a line. It fails for one of a newer version alone.
func (j *Journal) take(text []byte) error {
	l, r, err := parseLine(text)
	switch {
	case errors.Is(err, ErrNewer):
		return err
	case err != nil:
		j.damage.Count++
		if len(j.damage.Bad) < maxBad {
			j.damage.Bad = append(j.damage.Bad, BadLine{Line: j.lines + 1, Reason: err.Error()})
		}
		return nil
	}
	if !l.At.IsZero() {
		j.m.passed(l.At)
	}
	if r != nil && !r.known(j.m) {
		r.fold(j.m, l.At)
	}
	return nil
}

// parseLine is parse for any line: one that is too long, which is nil if next returned it, and
// a blank one, which is a line of no type.
func parseLine(text []byte) (line, Record, error) {
	switch {
	case text == nil, len(bytes.TrimSuffix(text, []byte{'\n'})) >= maxLine:
		return line{}, nil, fmt.Errorf("longer than %d KiB", maxLine>>10)
	case len(bytes.TrimSpace(text)) == 0:
		return line{}, nil, nil
	}
	return parse(text)
}

// Decided reports whether a trigger of an issue was decided.
func (j *Journal) Decided(issue int, t gate.Trigger) bool {
	_, ok := j.Decision(issue, t)
	return ok
}

// Decision returns what was decided about a trigger of an issue.
func (j *Journal) Decision(issue int, t gate.Trigger) (Decided, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	d, ok := j.m.decided[key{issue, t}]
	return d, ok
}

// Refused reports whether a trigger of an issue was refused.
func (j *Journal) Refused(issue int, t gate.Trigger) bool {
	d, ok := j.Decision(issue, t)
	return ok && d.refused()
}

// Owed returns the refusals that were decided and not carried out, those of the lowest issues
// first. Carrying one out twice is as once.
func (j *Journal) Owed() []Decided {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.m.owed()
}

// LabelStarts counts the sessions of an issue that a label started.
func (j *Journal) LabelStarts(issue int, within time.Duration) int {
	return j.starts(within, func(s Started) bool { return s.Issue == issue && s.Trigger.Kind == gate.Label })
}

// StartsBy counts the sessions that an account started from GitHub.
func (j *Journal) StartsBy(actor int64, within time.Duration) int {
	return j.starts(within, func(s Started) bool { return s.Actor == actor && s.Trigger.Kind != gate.CLI })
}

func (j *Journal) starts(within time.Duration, counts func(Started) bool) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.clock()
	j.m.passed(now)
	return j.m.starts.count(now.Add(-within), counts)
}

// Refusals counts the comments that refused a request: in the repository, and on one issue.
func (j *Journal) Refusals(within time.Duration) int {
	return j.refusals(within, func(Told) bool { return true })
}

// RefusalsOf counts the comments that refused a request of an issue.
func (j *Journal) RefusalsOf(issue int, within time.Duration) int {
	return j.refusals(within, func(t Told) bool { return t.Issue == issue })
}

// Commented reports whether a comment of the last day says why the request of a trigger was refused.
func (j *Journal) Commented(issue int, trigger gate.Trigger) bool {
	return j.refusals(24*time.Hour, func(t Told) bool { return t.Issue == issue && t.Trigger == trigger }) > 0
}

func (j *Journal) refusals(within time.Duration, counts func(Told) bool) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.clock()
	j.m.passed(now)
	return j.m.comments.count(now.Add(-within), counts)
}

// Command returns the command of a source as it is now.
func (j *Journal) Command(source string) (Command, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c, ok := j.m.commands[source]
	return c, ok
}

// Commands returns the commands of an issue, in the order they came in.
func (j *Journal) Commands(issue int) []Command {
	return j.commands(func(c Command) bool { return c.Issue == issue })
}

// Pending returns the commands that were neither done nor refused, in the order they came in.
func (j *Journal) Pending() []Command {
	return j.commands(func(c Command) bool { return !c.State.final() })
}

// Given counts the commands that came within a time, of those who may give some. counts chooses
// them.
func (j *Journal) Given(within time.Duration, counts func(Command) bool) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.clock()
	j.m.passed(now)
	return j.m.given.count(now.Add(-within), counts)
}

func (j *Journal) commands(match func(Command) bool) []Command {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.m.commandsOf(match)
}

// FirstSeen returns the texts of an issue when a trigger was first seen.
func (j *Journal) FirstSeen(issue int, t gate.Trigger) (gate.Texts, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	texts, ok := j.m.seen[key{issue, t}]
	return texts, ok
}
