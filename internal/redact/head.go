package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// publicHead returns how many leading bytes of a value are the same in the
// values of others: the header of a JWT, the frame of a private key. Searching
// for them would find every example of such a value. isKey says that value is a
// line of a private key.
func publicHead(value string, isKey bool) int {
	head := jwtHead(value)
	if isKey {
		head = keyHead(value)
	}
	if len(value)-head < minSecret {
		return 0
	}
	return head
}

// jwtHead returns the length of the header of the JWT in value, of what stands
// before it ("ghs_<app>_"), and of the payload up to its first value.
func jwtHead(value string) int {
	start := strings.Index(value, "eyJ")
	header, rest, ok := strings.Cut(value, ".")
	if start < 0 || !ok || start > len(header) {
		return 0
	}
	payload, _, ok := strings.Cut(rest, ".")
	if !ok {
		return 0
	}
	claims, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return 0
	}
	return len(header) + 1 + base64.RawURLEncoding.EncodedLen(bytes.IndexByte(claims, ':')+2)
}

// ASN.1 tags, X.690 section 8.
const (
	tagInteger     = 0x02
	tagOctetString = 0x04
	tagSequence    = 0x30
)

// keyHead returns the length of the part of a base64 line that frames the first
// long number of a DER key: versions, algorithms and lengths.
func keyHead(line string) int {
	der, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(line, "="))
	if err != nil || len(der) == 0 || der[0] != tagSequence {
		return 0
	}
	for at := 0; at+2 <= len(der); {
		tag := der[at]
		size, header := derLength(der[at+1:])
		at += 1 + header
		if tag == tagSequence || tag == tagOctetString && framesMore(der, at) {
			continue
		}
		if size >= minSecret && (tag == tagInteger || tag == tagOctetString) {
			return base64.RawStdEncoding.EncodedLen(at + 1)
		}
		at += size
	}
	return 0
}

// framesMore reports whether the content at starts with a tag of its own.
func framesMore(der []byte, at int) bool {
	return at < len(der) && (der[at] == tagSequence || der[at] == tagOctetString)
}

// derLength reads a length and returns it with the bytes it took.
func derLength(der []byte) (size, n int) {
	if der[0] < 0x80 {
		return int(der[0]), 1
	}
	n = 1 + int(der[0]&0x7f)
	if n > 4 || n > len(der) {
		return 0, len(der)
	}
	for _, b := range der[1:n] {
		size = size<<8 | int(b)
	}
	return size, n
}
