package session

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/agentmux/agentmux/orchestrator"
)

// Limits of a line file.
const (
	MaxLine    = 256 << 10 // one line
	MaxPayload = 64 << 10  // its payload
	MaxPass    = 8 << 20   // what one call of Lines reads, unless told otherwise
)

// Lines returns what file (ToolEvents, Commands or MessageIndex) holds behind cursor, at most
// about limit bytes of it (0 = MaxPass), and whether more is there. Every line
// carries the cursor that consuming it leads to. A line whose writer has not
// finished is not returned; blank lines are passed over; a line that is none is
// returned with Corrupt set. If the file is not the one the cursor was made for,
// the first line returned has Rewound set and the rest comes from the start of the
// file. A missing file is an empty one.
func (s *Session) Lines(file string, cursor orchestrator.Cursor, limit int64) (lines []orchestrator.Line, more bool, err error) {
	if limit <= 0 {
		limit = MaxPass
	}
	f, size, err := openLines(s.Path(file))
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", file, err)
	}
	if f != nil {
		defer f.Close()
	}
	reason, err := misfit(f, size, cursor)
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", file, err)
	}
	if reason != "" {
		lines = append(lines, orchestrator.Line{
			File: file, Rewound: &orchestrator.Rewind{From: cursor.Offset, To: 0, Reason: reason},
		})
		cursor = orchestrator.Cursor{}
	}
	if f == nil || cursor.Offset == size {
		return lines, false, nil
	}
	r := lineReader{file: file, in: bufio.NewReaderSize(io.NewSectionReader(f, cursor.Offset, size-cursor.Offset), 64<<10), cursor: cursor}
	if more, err = r.read(limit); err == nil {
		err = r.number(f)
	}
	return append(lines, r.lines...), more, err
}

// number tells equal lines without an id apart by how many precede them in the file, so
// that the clock need not have moved on between them, and reading again finds the same ids.
func (r *lineReader) number(f io.ReaderAt) error {
	before := map[string]int{}
	for i := range r.lines {
		if l := &r.lines[i]; l.Same != "" {
			before[l.Same] = 0
		}
	}
	if len(before) == 0 {
		return nil
	}
	first := r.lines[0].Cursor.LineStart
	earlier := lineReader{file: r.file, in: bufio.NewReaderSize(io.NewSectionReader(f, 0, first), 64<<10)}
	for {
		_, same, _, err := earlier.cut()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", r.file, err)
		}
		if n, asked := before["sha:"+same]; asked {
			before["sha:"+same] = n + 1
		}
	}
	for i := range r.lines {
		l := &r.lines[i]
		if l.Same == "" {
			continue
		}
		if n := before[l.Same]; n > 0 {
			l.ID = fmt.Sprintf("%s:%d", l.Same, n)
		}
		before[l.Same]++
	}
	return nil
}

// openLines opens a line file; a missing one is nil and 0.
func openLines(path string) (*os.File, int64, error) {
	f, err := openOwn(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// misfit says why the cursor was not made for this file, or nothing.
func misfit(f io.ReaderAt, size int64, c orchestrator.Cursor) (string, error) {
	switch {
	case c.Offset == 0:
		return "", nil
	case c.Offset < 0:
		return "the cursor is negative", nil
	case size < c.Offset:
		return fmt.Sprintf("the file has %d bytes", size), nil
	}
	before := make([]byte, 1)
	if _, err := f.ReadAt(before, c.Offset-1); err != nil {
		return "", err
	}
	if before[0] != '\n' {
		return "the cursor is inside a line", nil
	}
	if c.LineSHA256 == "" {
		return "", nil // the cursor of an earlier tool
	}
	if c.LineStart < 0 || c.LineStart >= c.Offset {
		return "the cursor names no line", nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, c.LineStart, c.Offset-1-c.LineStart)); err != nil {
		return "", err
	}
	if hex.EncodeToString(sum.Sum(nil)) != c.LineSHA256 {
		return "the last line read is another one now", nil
	}
	return "", nil
}

// lineReader cuts the bytes behind a cursor into lines.
type lineReader struct {
	file   string
	in     *bufio.Reader
	cursor orchestrator.Cursor
	lines  []orchestrator.Line
}

// read stops behind limit bytes, but not before it has found a line.
func (r *lineReader) read(limit int64) (more bool, err error) {
	for used := int64(0); used < limit || len(r.lines) == 0; {
		n, err := r.next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read %s: %w", r.file, err)
		}
		used += n
	}
	_, err = r.in.ReadByte()
	return err == nil, nil
}

// cut reads one line: its length, the hash of its bytes and, of one that is too long, only
// its beginning; or io.EOF if there is no whole one.
func (r *lineReader) cut() (length int64, hash string, head []byte, err error) {
	sum := sha256.New()
	for {
		part, err := r.in.ReadSlice('\n')
		whole := err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return 0, "", nil, err
		}
		length += int64(len(part))
		if whole {
			part = part[:len(part)-1]
		}
		sum.Write(part)
		if room := MaxLine + 1 - len(head); room > 0 {
			head = append(head, part[:min(room, len(part))]...)
		}
		if whole {
			return length, hex.EncodeToString(sum.Sum(nil)), head, nil
		}
	}
}

// next reads one line and returns its length, or io.EOF if there is no whole one.
func (r *lineReader) next() (int64, error) {
	length, hash, head, err := r.cut()
	if err != nil {
		return 0, err
	}
	start := r.cursor.Offset
	r.cursor = orchestrator.Cursor{
		Offset: start + length, LineStart: start, LineSHA256: hash, Seq: r.cursor.Seq,
	}
	if len(bytes.TrimSpace(head)) > 0 {
		r.cursor.Seq++
		line := ParseLine(head)
		line.File, line.Cursor = r.file, r.cursor
		if line.ID == "" {
			line.ID = "sha:" + hash
			line.Same = line.ID
		}
		r.lines = append(r.lines, line)
	}
	return length, nil
}

// wireLine is a line as writers spell it.
type wireLine struct {
	Tool      string              `json:"tool"`
	Timestamp string              `json:"timestamp"`
	Payload   json.RawMessage     `json:"payload"`
	Version   int                 `json:"v,omitempty"`
	ID        string              `json:"id,omitempty"`
	Role      string              `json:"role,omitempty"`
	Task      string              `json:"task,omitempty"`
	Launch    orchestrator.Launch `json:"launch,omitempty"`
	Session   string              `json:"session,omitempty"`
	Phase     string              `json:"phase,omitempty"`
	Visit     *int                `json:"visit,omitempty"`

	at orchestrator.Time // Timestamp, read leniently
}

// ParseLine reads one line without its end; Corrupt tells why it is not one. Its
// File and Cursor are empty, and its ID if it has none of its own.
func ParseLine(data []byte) orchestrator.Line {
	wire, reason := decodeLine(data)
	if reason != "" {
		return orchestrator.Line{Corrupt: reason, Excerpt: strings.ToValidUTF8(string(data), "\uFFFD")}
	}
	line := orchestrator.Line{
		Tool: wire.Tool, ID: wire.ID, Role: wire.Role, Task: wire.Task, Launch: wire.Launch,
		Session: wire.Session, Visit: wire.Visit, At: wire.at, Payload: wire.Payload,
	}
	line.Signed, line.MAC = unsealed(data)
	return line
}

// lineKeys are the keys a line is judged by, in exactly these letters. An invalid time
// counts as missing, so the timestamp is not among them.
var lineKeys = []string{"tool", "id", "role", "task", "launch", "session", "phase", "visit"}

func decodeLine(data []byte) (wire wireLine, reason string) {
	if len(data) > MaxLine {
		return wire, "longer than 256 KiB"
	}
	if !utf8.Valid(data) {
		return wire, "not UTF-8"
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		if json.Valid(data) {
			return wire, "no object"
		}
		return wire, "bad JSON"
	}
	var tool string
	if json.Unmarshal(fields["tool"], &tool) != nil || tool == "" {
		return wire, "no tool"
	}
	payload := bytes.TrimSpace(fields["payload"])
	switch {
	case len(payload) == 0:
		payload = []byte("{}")
	case payload[0] != '{':
		return wire, "payload is not an object"
	case len(payload) > MaxPayload:
		return wire, "payload longer than 64 KiB"
	}
	rest := map[string]json.RawMessage{}
	for _, key := range lineKeys {
		if raw, ok := fields[key]; ok {
			rest[key] = raw
		}
	}
	data, err := json.Marshal(rest)
	if err == nil {
		err = json.Unmarshal(data, &wire)
	}
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return wire, wrong.Field + ": found " + wrong.Value
	case err != nil:
		return wire, err.Error()
	}
	wire.Payload = json.RawMessage(bytes.Clone(payload))
	_ = wire.at.UnmarshalJSON(fields["timestamp"]) // an invalid time counts as missing
	return wire, ""
}
