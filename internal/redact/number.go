package redact

// yieldNumbers yields the characters that the numbers of plain mean, each taken for one
// character, when those without a sign of their base are decimal, octal or
// binary.
func yieldNumbers(plain view, yield func(view) bool) bool {
	words := words(plain)
	if len(words) == 0 {
		return true
	}
	out := newView(len(words))
	for _, read := range []func([]byte, *view, word){decimal, octal, binary} {
		out = view{text: out.text[:0], from: out.from[:0], to: out.to[:0], decoded: true}
		for _, w := range words {
			read(plain.text[w.from:w.to], &out, w)
		}
		for i := range out.text {
			start, _ := plain.span(int(out.from[i]), int(out.from[i])+1)
			_, end := plain.span(int(out.to[i])-1, int(out.to[i]))
			out.from[i], out.to[i] = int32(start), int32(end)
		}
		if !yield(out) {
			return false
		}
	}
	return true
}

// word is a place of a view where letters and digits, the first a digit, are
// together.
type word struct{ from, to int32 }

func words(v view) []word {
	var all []word
	for i := 0; i < len(v.text); i++ {
		if b := v.text[i]; b < '0' || b > '9' {
			continue
		}
		start := i
		for i < len(v.text) && isAlnum(v.text[i]) {
			i++
		}
		all = append(all, word{int32(start), int32(i)})
	}
	return all
}

// decimal and octal read one number, or many of three digits each.
func decimal(digits []byte, out *view, w word) { putNumbers(digits, 3, 10, out, w) }

func octal(digits []byte, out *view, w word) { putNumbers(digits, 3, 8, out, w) }

// binary reads one number of seven bits, or many of eight.
func binary(digits []byte, out *view, w word) {
	if len(digits) == 7 {
		putNumber(digits, 2, out, w)
		return
	}
	putNumbers(digits, 8, 2, out, w)
}

// putNumbers puts the numbers of so many digits, or the one that is shorter or
// has its base before it.
func putNumbers(digits []byte, size int32, base int, out *view, w word) {
	switch n := int32(len(digits)); {
	case prefixed(digits, out, w):
	case n < size:
		putNumber(digits, base, out, w)
	case n%size == 0:
		for at := int32(0); at < n; at += size {
			putNumber(digits[at:at+size], base, out, word{w.from + at, w.from + at + size})
		}
	}
}

// prefixed puts the number whose digits tell their base.
func prefixed(digits []byte, out *view, w word) bool {
	if len(digits) < 3 || digits[0] != '0' {
		return false
	}
	base := map[byte]int{'x': 16, 'o': 8, 'b': 2}[digits[1]|0x20]
	if base == 0 {
		return false
	}
	putNumber(digits[2:], base, out, w)
	return true
}

// putNumber puts the number if it is that of a character of ASCII.
func putNumber(digits []byte, base int, out *view, w word) {
	const most = 8 // digits
	if len(digits) > most {
		return
	}
	if r, n := number(digits, 0, len(digits), base); n > 0 && r >= ' ' && r <= '~' {
		out.putText(byte(r), w.from, w.to)
	}
}
