package session

import (
	"crypto/rand"
	"encoding/hex"
	"regexp"
)

// NewIdentity tells one creation of a session from every other, of whatever name and in
// whatever clone.
func NewIdentity() string {
	return randomHex(8)
}

// NewSecret is what a state holds to be known by the note of its session.
func NewSecret() string { return randomHex(16) }

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails since Go 1.24
	return hex.EncodeToString(b)
}

var identityRule = regexp.MustCompile(`^[0-9a-f]{8}([0-9a-f]{8})?$`)

// ValidIdentity reports whether a text, which may be of a file that somebody made, can be an
// identity.
func ValidIdentity(id string) bool { return identityRule.MatchString(id) }
