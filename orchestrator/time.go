package orchestrator

import (
	"encoding/json"
	"time"

	"github.com/agentmux/agentmux/orchestrator/stamp"
)

// How the files hold moments and spans.
type (
	Time     = stamp.Time
	Duration = stamp.Duration
)

// At returns t as the files can hold it, so that a value survives a write and a read unchanged.
func At(t time.Time) Time { return stamp.At(t) }

// Classic formats t as the earlier tool wrote times: UTC, seconds, "+00:00".
func Classic(t time.Time) string { return stamp.Classic(t) }

// Optional is text; the files hold null for the empty one.
type Optional string

// MarshalJSON writes null for the empty text.
func (o Optional) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(o))
}
