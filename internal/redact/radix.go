package redact

import "slices"

// radix is an encoding that writes each group of bytes, taken for one number,
// as digits of an alphabet.
type radix struct {
	bytes, digits int // of a group
	alphabet      string
	backward      bool // its text is looked for in reverse order too
}

const (
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lower = "abcdefghijklmnopqrstuvwxyz"
	tens  = "0123456789"
)

// radixes returns the encodings a value is looked for in as it is encoded. Hex
// and base64 are decoded instead, which finds them after other text and with
// others inside, but only in the order of their digits and, since all of "+/-_"
// are digits, not between those.
func radixes() []radix {
	ascii := make([]byte, 0, '~'-' ')
	for b := byte(' '); b < '~'; b++ {
		ascii = append(ascii, b)
	}
	return []radix{
		{1, 2, tens + "abcdef", true},
		{3, 4, upper + lower + tens + "+/", true},
		{3, 4, upper + lower + tens + "-_", true},
		{3, 4, "`" + string(ascii[1:64]), false}, // uuencode
		{5, 8, upper + tens[2:8], false},
		{5, 8, tens + upper[:22], false},
		{4, 5, string(ascii[1:86]), false}, // ASCII85
		{4, 5, tens + upper + lower + "!#$%&()*+-;<=>?@^_`{|}~", false},
		{4, 5, tens + lower + upper + ".-:+=^!/*?&<>()[]{}@%$#", false},
	}
}

// packed tells whether the digits of a group hold its bits in their order, so
// that part of a group gives some of the digits.
func (r radix) packed() bool { return r.bytes*8%r.digits == 0 }

// encode returns the digits that text gives for certain when skip bytes of a
// group precede it, whatever these are.
func (r radix) encode(text []byte, skip int) []byte {
	var out []byte
	group := make([]byte, r.digits)
	for at := -skip; at < len(text); at += r.bytes {
		var number uint64
		for i := at; i < at+r.bytes; i++ {
			number <<= 8
			if i >= 0 && i < len(text) {
				number |= uint64(text[i])
			}
		}
		base := uint64(len(r.alphabet))
		for i := r.digits - 1; i >= 0; i-- {
			group[i] = r.alphabet[number%base]
			number /= base
		}
		before, after := r.unknown(max(0, -at)), r.unknown(max(0, at+r.bytes-len(text)))
		if before+after < r.digits {
			out = append(out, group[before:r.digits-after]...)
		}
	}
	return out
}

// places returns which of the digits that encode returns the bytes of p give
// for certain.
func (r radix) places(p part, skip int) part {
	lo, hi := p.lo+skip, p.hi+skip
	if r.packed() {
		bits := r.bytes * 8 / r.digits
		lo, hi = (lo*8+bits-1)/bits, hi*8/bits
	} else {
		lo, hi = (lo+r.bytes-1)/r.bytes*r.digits, hi/r.bytes*r.digits
	}
	lost := r.unknown(skip)
	return part{max(0, lo-lost), max(0, hi-lost)}
}

// unknown returns how many digits of a group depend on some bytes at its start
// or end.
func (r radix) unknown(bytes int) int {
	switch {
	case bytes == 0:
		return 0
	case !r.packed():
		return r.digits
	}
	bits := r.bytes * 8 / r.digits
	return (bytes*8 + bits - 1) / bits
}

// least returns how many digits any n bytes give for certain.
func (r radix) least(n int) int {
	if !r.packed() {
		return (n - r.bytes + 1) / r.bytes * r.digits
	}
	bits := r.bytes * 8 / r.digits
	return (n*8 - bits + 1) / bits
}

const (
	// Of a long value that is encoded more than a window must be found: an eighth,
	// but not more than a line of such text holds. That bounds what the index
	// holds of it.
	windowShare = 8
	maxWindow   = 24
)

// encodedForms returns the forms of a text, of which a part is secret, as the
// radixes encode it.
func encodedForms(rule string, text []byte, secret part) []form {
	var forms []form
	seen := map[string]bool{}
	put := func(digits []byte, p part, least int) {
		if !seen[string(digits)] {
			seen[string(digits)] = true
			forms = append(forms, form{rule: rule, text: digits, part: p, least: least})
		}
	}
	n := min(max(window, (secret.hi-secret.lo)/windowShare), maxWindow)
	for _, r := range radixes() {
		for skip := range r.bytes {
			digits, p := r.encode(text, skip), r.places(secret, skip)
			put(digits, p, r.least(n))
			if !r.backward {
				continue
			}
			bare := strip(string(digits))
			q := part{len(strip(string(digits[:p.lo]))), len(strip(string(digits[:p.hi])))}
			put(bare, q, r.least(n))
			digits, bare = slices.Clone(digits), slices.Clone(bare)
			slices.Reverse(digits)
			slices.Reverse(bare)
			put(digits, part{len(digits) - p.hi, len(digits) - p.lo}, r.least(n))
			put(bare, part{len(bare) - q.hi, len(bare) - q.lo}, r.least(n))
		}
	}
	// The words of two bytes that hex dumps are made of on most machines: of the
	// first and the last of n bytes the other half may be missing.
	for start := range 2 {
		pairs := slices.Clone(text[start:])
		for i := 0; i+1 < len(pairs); i += 2 {
			pairs[i], pairs[i+1] = pairs[i+1], pairs[i]
		}
		put(pairs, part{max(0, secret.lo-start), secret.hi - start}, n-2)
	}
	return forms
}
