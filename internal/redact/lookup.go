package redact

import "strings"

// lookup finds the places of a text where one of many words begins, in one pass: the first
// three bytes of all words are in a small table, in which most places of a text are not.
type lookup struct {
	mayBegin [1 << 13]uint8   // a bit for each value of begin
	of       [1 << 10][]*clue // by the upper bits of begin
}

// clue is one of them and the patterns it is of.
type clue struct {
	text     string
	patterns []int
}

// begin makes of three bytes, the last one lowest, a number of 16 bits.
func begin(three uint32) uint32 { return three * 0x9e3779b1 >> 16 }

func (l *lookup) add(text string, pattern int) {
	three := uint32(text[0])<<16 | uint32(text[1])<<8 | uint32(text[2])
	b := begin(three)
	some := &l.of[b>>6]
	for _, w := range *some {
		if w.text == text {
			w.patterns = append(w.patterns, pattern)
			return
		}
	}
	l.mayBegin[b>>3] |= 1 << (b & 7)
	*some = append(*some, &clue{text, []int{pattern}})
}

// find calls found with each word at each of its places, in their order.
func (l *lookup) find(text string, found func(at int, w *clue)) {
	if len(text) < leastWord {
		return
	}
	three := uint32(text[0])<<8 | uint32(text[1])
	for i := 2; i < len(text); i++ {
		three = (three<<8 | uint32(text[i])) & 0xffffff
		b := begin(three)
		if l.mayBegin[b>>3]>>(b&7)&1 == 0 {
			continue
		}
		for _, w := range l.of[b>>6] {
			if strings.HasPrefix(text[i-2:], w.text) {
				found(i-2, w)
			}
		}
	}
}
