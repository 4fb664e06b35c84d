// Package stamp is how the files of a session hold moments and spans.
package stamp

import (
	"encoding/json"
	"fmt"
	"time"
)

// Time is a moment as our files hold it: UTC with milliseconds and a Z. The
// zero Time is written as null and means "not set".
type Time struct{ time.Time }

const (
	timeLayout    = "2006-01-02T15:04:05.000Z"
	classicLayout = "2006-01-02T15:04:05+00:00"
)

// At returns t as the files can hold it, so that a value survives a write and a read unchanged.
func At(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{t.UTC().Truncate(time.Millisecond)}
}

// Classic formats t as the earlier tool wrote times: UTC, seconds, "+00:00".
func Classic(t time.Time) string { return t.UTC().Format(classicLayout) }

// Later returns t moved by d; an unset Time stays unset.
func (t Time) Later(d time.Duration) Time {
	if t.IsZero() {
		return t
	}
	return At(t.Add(d))
}

// MarshalJSON writes milliseconds and Z, or null.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + t.UTC().Format(timeLayout) + `"`), nil
}

// UnmarshalJSON takes any RFC 3339 time; anything else counts as missing.
func (t *Time) UnmarshalJSON(b []byte) error {
	*t = Time{}
	if parsed, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(b)); err == nil {
		*t = At(parsed)
	}
	return nil
}

// Duration is a span as the configuration writes it ("20m"); 0 means off.
type Duration time.Duration

// D returns the span for the time package.
func (d Duration) D() time.Duration { return time.Duration(d) }

// MarshalJSON writes the span as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON takes text such as "1h30m" or a number of nanoseconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var n int64
	if json.Unmarshal(b, &n) == nil {
		*d = Duration(n)
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("duration: expected text such as \"20m\", found %s", b)
	}
	parsed, err := time.ParseDuration(s)
	if err != nil {
		return err
	}
	*d = Duration(parsed)
	return nil
}
