package replay

import (
	"bytes"

	"github.com/agentmux/agentmux/orchestrator"
)

// Read reads a line of events.jsonl for [Of].
func Read(line []byte) (orchestrator.Event, error) {
	if seq, kind, ok := Head(line); ok && folds[kind] == nil {
		return orchestrator.Event{Seq: seq, Type: kind}, nil
	}
	return orchestrator.ReadEvent(line)
}

// Head returns the number and the type of a record without reading the rest of its line. ok is false unless the line
// begins as a host writes it.
func Head(line []byte) (seq int, kind string, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	number, rest, found := bytes.Cut(rest, []byte(`,"ts":"`))
	if !ok || !found || len(number) == 0 || number[0] == '0' || len(number) > 18 {
		return 0, "", false
	}
	for _, digit := range number {
		if digit < '0' || digit > '9' {
			return 0, "", false
		}
		seq = 10*seq + int(digit-'0')
	}
	_, rest, found = bytes.Cut(rest, []byte(`","type":"`))
	name, _, ended := bytes.Cut(rest, []byte(`"`))
	return seq, string(name), found && ended && !bytes.Contains(name, []byte(`\`))
}
