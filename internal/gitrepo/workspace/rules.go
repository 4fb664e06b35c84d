package workspace

import (
	"bytes"
	"errors"
	"os"
)

// rules are the rule files of a workspace that were read. Each is read once, by descriptor.
type rules struct {
	reader   *reader
	texts    map[string][]byte // by path; nil for one that is gone or was refused
	refusals []Refusal
}

// text returns a rule file and whether it is one that git may read.
func (r *rules) text(p string) ([]byte, bool) {
	if !r.reader.walker.rules[p] {
		return nil, false
	}
	text, ok := r.texts[p]
	if !ok {
		c, err := r.reader.read(file{path: p, size: maxRuleFile})
		switch {
		case errors.Is(err, errGone):
		case err != nil || c.mode == modeSymlink || c.data == nil:
			r.refusals = append(r.refusals, Refusal{p, reasonChanging})
			_ = os.Remove(r.reader.large.path(p))
		default:
			text = c.data
		}
		r.texts[p] = text
	}
	return text, text != nil
}

// above returns the rule files of that name which count for a path.
func above(name, p string) []string {
	list := []string{name}
	for i, c := range p {
		if c == '/' {
			list = append(list, p[:i+1]+name)
		}
	}
	return list
}

// copy gives git the rule files that count for a path, and reports whether there are any.
func (r *rules) copy(name, p string, to scratch) (any bool, err error) {
	for _, file := range above(name, p) {
		text, ok := r.text(file)
		if !ok {
			continue
		}
		any = true
		if err := to.file(file, bytes.NewReader(text), int64(len(text)), modeFile); err != nil {
			return any, err
		}
	}
	return any, nil
}

// convert reports whether git may store other bytes than those of a file because of attributes:
// it knows line ends, which need a CR, ident, which needs its word, and encodings. No filter is
// configured.
func (r *rules) convert(p string, data []byte) bool {
	special := bytes.IndexByte(data, '\r') >= 0 || bytes.Contains(data, []byte("$Id"))
	for _, file := range above(".gitattributes", p) {
		text, ok := r.text(file)
		switch {
		case ok && (special || bytes.Contains(text, []byte("working-tree-encoding"))):
			return true
		case !ok && r.inBase(file):
			return true
		}
	}
	return false
}

// inBase reports a file that git finds in its index where the workspace shows none that it may
// read: a masked one, a symlink.
func (r *rules) inBase(p string) bool {
	w := r.reader.walker
	at := w.base.place(p)
	return at >= 0 && (w.present[at] || w.masked(p))
}
