package redact

import (
	"bytes"
	"slices"
)

const (
	// window is how many characters of a value in a row count as the value.
	window = 12
	// block is the length of the pieces the index holds of a form, at such
	// distances that whatever is long enough to be found contains one.
	block = 6
	// maxDepth is how often what is hidden in decoded text may be so again.
	maxDepth = 3

	blockMask = 1<<(8*block) - 1
)

// form is a value as it is searched for.
type form struct {
	rule string
	text []byte
	// part is what counts of the text. The rest is taken out together with it
	// but is not searched for.
	part
	// least is how many bytes of the part in a row count.
	least int
}

// ref is a place of a form where a block is.
type ref struct {
	form, at int32
	next     int32 // the next ref with the same block, or -1
}

// index finds the forms of all values: it looks up every block of a text and
// compares around it only where one is known.
type index struct {
	forms  []form
	refs   []ref
	blocks map[uint64]int32 // the bytes of a block, folded -> its first ref
	filter filter
	alike  alike
	traits [256]traits
}

// add adds value, which is found by any of its parts, in both directions, with
// and without its separators, and encoded.
func (x *index) add(rule, value string, parts []part) {
	texts := [][]byte{[]byte(value)}
	if bare := strip(value); len(bare) != len(value) {
		texts = append(texts, bare)
	}
	for n, text := range texts {
		backward := slices.Clone(text)
		slices.Reverse(backward)
		for _, p := range parts {
			if n > 0 {
				p = part{len(strip(value[:p.lo])), len(strip(value[:p.hi]))}
			}
			x.addForm(form{rule: rule, text: text, part: p, least: window})
			if bytes.Equal(backward, text) {
				continue // a poor value; twice the places to look at
			}
			x.addForm(form{rule: rule, text: backward, part: part{len(text) - p.hi, len(text) - p.lo}, least: window})
		}
	}
	for _, p := range parts {
		for _, f := range encodedForms(rule, []byte(value), p) {
			x.addForm(f)
		}
	}
}

func (x *index) addForm(f form) {
	if f.hi-f.lo < f.least {
		return
	}
	if x.blocks == nil {
		x.blocks, x.alike = make(map[uint64]int32), newAlike()
		for b := range x.traits {
			x.traits[b] = traitsOf(byte(b), x.alike.fold[b])
		}
	}
	f.text = x.alike.lower(f.text)
	number := int32(len(x.forms))
	x.forms = append(x.forms, f)
	for at := f.lo; at+block <= f.hi; at += f.least - block + 1 {
		key := x.alike.key(f.text[at:])
		next, ok := x.blocks[key]
		if !ok {
			next = -1
			x.mark(f.text[at : at+block])
		}
		x.blocks[key] = int32(len(x.refs))
		x.refs = append(x.refs, ref{form: number, at: int32(at), next: next})
		x.filter.set(key)
	}
	if x.filter.full(len(x.blocks)) {
		x.filter = newFilter(len(x.blocks))
		for key := range x.blocks {
			x.filter.set(key)
		}
	}
}

// mark notes that the bytes of a block occur in the index.
func (x *index) mark(text []byte) {
	for _, b := range text {
		if x.traits[b]&traitInside != 0 {
			continue
		}
		for other := range x.traits {
			if x.alike.fold[other] == x.alike.fold[b] {
				x.traits[other] |= traitInside
			}
		}
	}
}

// alike tells which bytes of a text may mean which of a value: letters
// are the same in both cases, and all of them may be moved by half the alphabet.
type alike struct {
	readings [2][256]byte // byte of a text -> that of a form
	fold     [256]byte    // one byte for all that may be the same
}

func newAlike() alike {
	var a alike
	for i := range 256 {
		b := byte(i)
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		turned := b
		if b >= 'a' && b <= 'z' {
			turned = 'a' + (b-'a'+13)%26
		}
		a.readings[0][i], a.readings[1][i], a.fold[i] = b, turned, min(b, turned)
	}
	return a
}

// lower returns text as forms hold it.
func (a *alike) lower(text []byte) []byte {
	out := make([]byte, len(text))
	for i, b := range text {
		out[i] = a.readings[0][b]
	}
	return out
}

// key returns the block at the start of text as the index holds it.
func (a *alike) key(text []byte) uint64 {
	var key uint64
	for _, b := range text[:block] {
		key = key<<8 | uint64(a.fold[b])
	}
	return key
}

// find returns the places of text that hold a value in any of its views.
func (x *index) find(text string) []Finding {
	if len(x.forms) == 0 {
		return nil
	}
	var found []Finding
	for start := 0; ; start += pieceSize - pieceOverlap {
		end := min(start+pieceSize, len(text))
		found = x.search(view{text: []byte(text[start:end])}, start, 0, found)
		if end == len(text) {
			return found
		}
	}
}

// search appends the findings of the views of the text that starts at base, and of what can be
// read in them.
func (x *index) search(text view, base, depth int, found []Finding) []Finding {
	for v := range views(text, x.glance) {
		found = x.findIn(v, base, found)
		if v.decoded && depth < maxDepth {
			for run := range runs(v) {
				found = x.search(run, base, depth+1, found)
			}
		}
	}
	return found
}

// findIn appends the findings of one view of the text that starts at base.
func (x *index) findIn(v view, base int, found []Finding) []Finding {
	var key uint64
	covered := 0 // up to here the view is found already
	for i, b := range v.text {
		key = (key<<8 | uint64(x.alike.fold[b])) & blockMask
		if i < block-1 || i < covered || !x.filter.has(key) {
			continue
		}
		first, ok := x.blocks[key]
		if !ok {
			continue
		}
		for n := first; n >= 0; n = x.refs[n].next {
			f := &x.forms[x.refs[n].form]
			for r := range x.alike.readings {
				from, to := f.around(v.text, &x.alike.readings[r], i-block+1, int(x.refs[n].at))
				if from < 0 {
					continue
				}
				start, end := v.span(from, to)
				found = append(found, Finding{Rule: f.rule, Exact: true, start: base + start, end: base + end})
				covered = max(covered, to)
			}
		}
	}
	return found
}

// around returns the longest part of text that equals, as it is read, a part of
// the form, with text[i] at place at of it, or -1 if too little of that is secret.
func (f *form) around(text []byte, read *[256]byte, i, at int) (from, to int) {
	left, right := 0, 0
	for left < i && left < at && read[text[i-left-1]] == f.text[at-left-1] {
		left++
	}
	for i+right < len(text) && at+right < len(f.text) && read[text[i+right]] == f.text[at+right] {
		right++
	}
	if min(at+right, f.hi)-max(at-left, f.lo) < f.least {
		return -1, -1
	}
	return i - left, i + right
}

// filter tells for most blocks that they are not in the index, without the cost
// of a map.
type filter struct {
	bits  []uint64
	shift uint
}

const (
	bitsPerBlock  = 16
	minFilterBits = 15 // log2
)

func newFilter(blocks int) filter {
	size := uint(minFilterBits)
	for 1<<size < blocks*bitsPerBlock*2 {
		size++
	}
	return filter{bits: make([]uint64, 1<<size/64), shift: 64 - size}
}

// full reports whether the filter lets too much through.
func (f *filter) full(blocks int) bool { return len(f.bits)*64 < blocks*bitsPerBlock }

func (f *filter) set(key uint64) {
	if f.bits == nil {
		*f = newFilter(0)
	}
	hash := key * 0x9E3779B97F4A7C15 >> f.shift
	f.bits[hash/64] |= 1 << (hash % 64)
}

func (f *filter) has(key uint64) bool {
	hash := key * 0x9E3779B97F4A7C15 >> f.shift
	return f.bits[hash/64]&(1<<(hash%64)) != 0
}
