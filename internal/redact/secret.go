package redact

import (
	"fmt"
	"io"
	"log/slog"
)

// shown is what is printed in place of a Secret.
const shown = "[token]"

// Secret holds a token, password or key that must not be printed. Every verb of
// fmt, slog, encoding/json and encoding.TextMarshaler shows "[token]" instead,
// also when the Secret is an unexported field of something printed. Only Reveal
// gives the value. The zero Secret is empty.
type Secret struct {
	// A pointer, because fmt prints unexported fields without asking their
	// methods and shows of a pointer nothing but the address.
	value *string
}

// NewSecret makes a Secret of value.
func NewSecret(value string) Secret { return Secret{value: &value} }

// Reveal returns the value, to be sent to the service it belongs to.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero reports whether the value is absent or empty.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// String returns "[token]".
func (Secret) String() string { return shown }

// GoString returns "[token]".
func (Secret) GoString() string { return shown }

// Format prints "[token]" for every verb.
func (Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, shown) }

// LogValue is "[token]".
func (Secret) LogValue() slog.Value { return slog.StringValue(shown) }

// MarshalJSON gives "[token]".
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + shown + `"`), nil }

// MarshalText gives [token].
func (Secret) MarshalText() ([]byte, error) { return []byte(shown), nil }
