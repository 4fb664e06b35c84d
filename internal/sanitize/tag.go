package sanitize

import (
	"strings"
	"sync"
)

// treatment says what becomes of an HTML element.
type treatment int

const (
	unknown treatment = iota // no element of HTML
	// kept without attributes: shows its content as text, a table or a list.
	kept
	// dropped: the tags go, the content stays.
	dropped
	// emptied: the content goes too, if it ends.
	emptied
	// pictured: replaced by a note.
	pictured
)

// elements is the table of treatments by element name.
var elements = sync.OnceValue(treatments)

func treatments() map[string]treatment {
	all := make(map[string]treatment)
	for what, names := range map[treatment]string{
		kept: `a abbr b blockquote br cite code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li mark ol p
			pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var`,
		dropped: `acronym address applet area article aside base basefont bdi bdo bgsound big blink body button
			caption center col colgroup command content data dfn dir element embed fieldset
			figcaption figure font footer form frame frameset head header hgroup html input isindex keygen label legend
			link main map marquee menu menuitem meta multicol nav nobr optgroup option
			output param picture plaintext rb rt rtc ruby search section select shadow slot source spacer
			strike time track tt wbr xmp`,
		emptied: `audio canvas datalist dialog iframe math meter noembed noframes noscript object progress rp script style svg
			template textarea title video`,
		pictured: `image img`,
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = what
		}
	}
	return all
}

// tag is a start or end tag of a text.
type tag struct {
	name  string // lower case
	shown string // as it is in the text
	end   bool
	// size is the length of the whole tag, attributes the part after the name.
	size       int
	attributes string
}

// state of reading the attributes of a tag, after the HTML standard.
type state uint8

const (
	between state = iota // the attributes
	inName
	afterName
	beforeValue
	unquoted
	doubleQuoted
	singleQuoted
	ended
)

// next returns the state after b.
func (s state) next(b byte) state {
	switch s {
	case doubleQuoted, singleQuoted:
		if s == doubleQuoted && b == '"' || s == singleQuoted && b == '\'' {
			return between
		}
		return s
	}
	space := b == ' ' || b == '\t' || b == '\n' || b == '\f'
	switch {
	case b == '>':
		return ended
	case s == beforeValue && b == '"':
		return doubleQuoted
	case s == beforeValue && b == '\'':
		return singleQuoted
	case s == beforeValue && space:
		return beforeValue
	case s == beforeValue, s == unquoted && !space:
		return unquoted
	case s == inName && b == '=', s == afterName && b == '=':
		return beforeValue
	case space && (s == inName || s == afterName):
		return afterName
	case space, b == '/':
		return between
	default:
		return inName
	}
}

// tagReader reads the tags of a text.
type tagReader struct {
	text string
	// failed has for each place the states in which no tag ends any more before
	// the next blank line. It keeps hostile text linear.
	failed []uint8
}

// read reads the tag that starts with the "<" at i. In an HTML block a tag ends
// at a blank line at the latest, or with the text when that comes inside
// quotes; elsewhere what has no end is not a tag.
func (r *tagReader) read(i int, htmlBlock bool) (tag, bool) {
	at := i + 1
	t := tag{end: r.text[at] == '/'}
	if t.end {
		at++
	}
	start := at
	for at < len(r.text) && strings.IndexByte(" \t\n\f/<>", r.text[at]) < 0 {
		at++
	}
	t.shown = r.text[start:at]
	t.name = strings.ToLower(t.shown)
	end, ok := r.attributes(at, htmlBlock)
	if !ok {
		return tag{}, false
	}
	t.size = end - i
	t.attributes = strings.Trim(strings.TrimSuffix(r.text[at:end], ">"), " \t\n\f/")
	return t, true
}

// attributes returns where the tag ends whose name ends at start.
func (r *tagReader) attributes(start int, htmlBlock bool) (int, bool) {
	s := between
	for at := start; at < len(r.text); at++ {
		quotes := s == doubleQuoted || s == singleQuoted
		switch {
		case r.text[at] != '\n' || !blankAfter(r.text, at):
		case htmlBlock && !quotes:
			return at, true
		case !htmlBlock:
			return r.fail(start, at)
		}
		if !htmlBlock && r.failed != nil && r.failed[at]&(1<<s) != 0 {
			return r.fail(start, at)
		}
		if s = s.next(r.text[at]); s == ended {
			return at + 1, true
		}
	}
	if htmlBlock {
		return len(r.text), true
	}
	return r.fail(start, len(r.text))
}

// fail notes the states of the way from start to end, which led nowhere.
func (r *tagReader) fail(start, end int) (int, bool) {
	if r.failed == nil {
		r.failed = make([]uint8, len(r.text))
	}
	s := between
	for at := start; at < end; at++ {
		r.failed[at] |= 1 << s
		s = s.next(r.text[at])
	}
	return 0, false
}

// blankAfter reports whether the line after the line end at i is blank. The end
// of the text is not blank.
func blankAfter(text string, i int) bool {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\n':
			return true
		case ' ', '\t':
		default:
			return false
		}
	}
	return false
}

// isGeneric reports whether an unknown tag is the parameter of a type, as in
// Vec<u8> or Map<String, List<T>>, and no text that hides in a tag.
func isGeneric(text string) bool {
	const most = 64
	inside := strings.TrimSuffix(text[1:], ">")
	if len(inside) > most {
		return false
	}
	for i := range len(inside) {
		switch b := inside[i]; {
		case isAlnum(b), strings.IndexByte("_:.,&*[]<'?/", b) >= 0:
		case b == ' ' && inside[i-1] == ',':
		default:
			return false
		}
	}
	return true
}
