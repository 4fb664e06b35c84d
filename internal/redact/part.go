package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// part bounds what is secret of a value: the bytes from lo up to hi.
type part struct{ lo, hi int }

// secretParts returns for each line of a value the parts that only it has. The
// rest, the header of a JWT or the frame of a private key, is the same in the
// values of others; searching for it would find every example of such a value.
func secretParts(lines []string, isKey bool) [][]part {
	all := make([][]part, len(lines))
	var key []part
	if isKey {
		key = keyParts(strings.Join(lines, ""))
	}
	start := 0
	for i, line := range lines {
		end := start + len(line)
		for _, p := range key {
			if lo, hi := max(p.lo, start), min(p.hi, end); lo < hi {
				all[i] = append(all[i], part{lo - start, hi - start})
			}
		}
		if key == nil {
			all[i] = []part{{jwtHead(line), len(line)}}
		}
		start = end
	}
	return all
}

// jwtHead returns the length of the header of the JWT that value is, of what
// precedes it ("ghs_<app>_"), and of the payload up to its first value.
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
	head := len(header) + 1 + base64.RawURLEncoding.EncodedLen(bytes.IndexByte(claims, ':')+2)
	if len(value)-head < minSecret {
		return 0
	}
	return head
}

// ASN.1 tags, X.690 section 8.
const (
	tagInteger     = 0x02
	tagBitString   = 0x03
	tagOctetString = 0x04
	tagConstructed = 0x20 // a bit of the tags that hold others
)

// keyParts returns the parts of a DER key in base64 that are long numbers or
// strings, nil for anything else. What is between them are versions, algorithms and
// lengths.
func keyParts(body string) []part {
	der, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(body, "="))
	if err != nil || len(der) == 0 || der[0]&tagConstructed == 0 {
		return nil
	}
	var parts []part
	for at := 0; at+2 <= len(der); {
		tag := der[at]
		size, header := derLength(der[at+1:])
		at += 1 + header
		size = min(size, len(der)-at)
		if tag&tagConstructed != 0 || tag == tagOctetString && isElement(der[at:at+size]) {
			continue // look inside
		}
		if size >= minSecret && (tag == tagInteger || tag == tagOctetString || tag == tagBitString) {
			// The first two bytes say the sign of a number, the form of a point.
			parts = append(parts, part{(at + 2) * 4 / 3, (at + size) * 4 / 3})
		}
		at += size
	}
	return parts
}

// isElement reports whether content is one ASN.1 element.
func isElement(content []byte) bool {
	if len(content) < 2 {
		return false
	}
	size, header := derLength(content[1:])
	return size > 0 && 1+header+size == len(content) && (content[0] == tagOctetString || content[0]&tagConstructed != 0)
}

// derLength reads a length and returns it with the bytes it took. A length that
// cannot be read is 0 and takes all.
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
