package redact

// hints are the views of a text that may hold something: those in which a block of the index
// occurs, or which may hide more. A view costs an allocation and the places of all of its
// bytes, and of nearly every text no view is worth that.
type hints uint16

const (
	hintPlain  hints          = 1 << iota // the text as it is
	hintBare                              // its letters and digits
	hintHex                               // as hex from the first digit on; the next bit: from the second
	hintBase64 = hintHex << 2             // as base64 from the first digit on, and so on up to the fourth
)

// traits are what a byte of a text is, in one word, so that a glance reads memory once a byte.
type traits uint32

const (
	traitFold   traits = 0xff   // the byte itself, folded
	traitInside traits = 1 << 8 // it occurs in a block of the index
	traitAlnum  traits = 1 << 9
	traitText   traits = 1 << 10
	hexShift           = 11 // its value as a digit of hex, plus one, in 5 bits
	base64Shift        = 16 // as a digit of base64, plus one, in 7 bits
)

func traitsOf(b, folded byte) traits {
	t := traits(folded) | traits(hexValue(b)+1)<<hexShift | traits(base64Value(b)+1)<<base64Shift
	if isAlnum(b) {
		t |= traitAlnum
	}
	if isText(b) {
		t |= traitText
	}
	return t
}

// track is the end of one view that a glance reads. Its methods return the next one, because
// a glance keeps its tracks in registers.
type track struct {
	key    uint64 // of the last bytes
	inside int    // how many of the last bytes occur in a block of the index
	text   int    // how many of the last bytes can be read
}

// put adds a byte.
func (k track) put(t traits) track {
	if t&traitInside == 0 {
		k.inside = 0
		return k
	}
	k.key = (k.key<<8 | uint64(t&traitFold)) & blockMask
	k.inside++
	return k
}

// putDecoded is put for a byte of decoded text, from which NUL is left out.
func (k track) putDecoded(b byte, t traits) track {
	if b == 0 {
		return k
	}
	k = k.put(t)
	k.text++
	if t&traitText == 0 {
		k.text = 0
	}
	return k
}

// may reports whether the track ends with a block, or with text that is searched like one of
// its own.
func (x *index) may(k track) bool {
	return k.text >= leastRun || k.inside >= block && x.has(k.key)
}

// glance returns which views of text may hold something.
func (x *index) glance(text []byte) hints {
	var found hints
	var plain, bare track
	for _, b := range text {
		t := x.traits[b]
		if plain = plain.put(t); plain.inside >= block && x.has(plain.key) {
			found |= hintPlain
		}
		if t&traitAlnum == 0 {
			continue
		}
		if bare = bare.put(t); bare.inside >= block && x.has(bare.key) {
			found |= hintBare
		}
	}
	return found | x.glanceHex(text) | x.glanceBase64(text)
}

func (x *index) glanceHex(text []byte) (found hints) {
	var this, other track // the one whose byte the next digit ends, and the other
	var last byte
	digits := 0
	for i, b := range text {
		value := x.traits[b] >> hexShift & 0x1f
		if value == 0 || b == '0' && i+1 < len(text) && text[i+1]|0x20 == 'x' {
			continue
		}
		digit := byte(value - 1)
		both := last<<4 | digit
		if this = this.putDecoded(both, x.traits[both]); x.may(this) {
			found |= hintHex << ((digits + 1) % 2)
		}
		this, other = other, this
		last = digit
		digits++
	}
	return found
}

func (x *index) glanceBase64(text []byte) (found hints) {
	var first, second, third, none track // those of which the next digit ends this byte of a group
	var last byte
	digits := 0
	for _, b := range text {
		value := x.traits[b] >> base64Shift & 0x7f
		if value == 0 {
			continue
		}
		digit := byte(value - 1)
		both := last<<2 | digit>>4
		if first = first.putDecoded(both, x.traits[both]); x.may(first) {
			found |= hintBase64 << ((digits + 3) % 4)
		}
		both = last<<4 | digit>>2
		if second = second.putDecoded(both, x.traits[both]); x.may(second) {
			found |= hintBase64 << ((digits + 2) % 4)
		}
		both = last<<6 | digit
		if third = third.putDecoded(both, x.traits[both]); x.may(third) {
			found |= hintBase64 << ((digits + 1) % 4)
		}
		first, second, third, none = none, first, second, third
		last = digit
		digits++
	}
	return found
}

// has reports whether a block is in the index.
func (x *index) has(key uint64) bool {
	if !x.filter.has(key) {
		return false
	}
	_, ok := x.blocks[key]
	return ok
}
