package session

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// NewIdentity tells one creation of a session from every other, of whatever name and in
// whatever clone.
func NewIdentity() string { return randomHex(8) }

// NewSecret is what a state holds to be known by the note of its session.
func NewSecret() string { return randomHex(16) }

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails since Go 1.24
	return hex.EncodeToString(b)
}

// ValidIdentity reports whether a text, which may be of a file that somebody made, can be an
// identity.
func ValidIdentity(id string) bool { return isHex(id, 8) || isHex(id, 16) }

func isHex(text string, digits int) bool {
	return len(text) == digits && strings.Trim(text, "0123456789abcdef") == ""
}
