package document

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Problem is one thing wrong with a document. A Warning does not stop its use.
type Problem struct {
	File    string // as given to Parse; may be empty
	Line    int    // from 1; 0 = unknown
	Path    string // as groups[2].mode; empty = the document as a whole
	Text    string
	Warning bool
}

// String is `file:line: path: text`; without a file `path: text`.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			b.WriteByte(':')
			b.WriteString(strconv.Itoa(p.Line))
		}
		b.WriteString(": ")
	}
	if p.Path != "" {
		b.WriteString(p.Path)
		b.WriteString(": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Problems is everything found in one or more documents.
type Problems []Problem

// Error is the error form of Problems; it holds no warnings.
type Error struct{ Problems Problems }

// Error is one problem per line.
func (e *Error) Error() string { return strings.Join(e.Problems.Lines(), "\n") }

// Err is nil when ps holds nothing but warnings, else an *Error.
func (ps Problems) Err() error {
	if errs := ps.Errors(); len(errs) > 0 {
		return &Error{Problems: errs}
	}
	return nil
}

// Errors returns the problems that stop the use of the document.
func (ps Problems) Errors() Problems { return ps.filter(false) }

// Warnings returns the others.
func (ps Problems) Warnings() Problems { return ps.filter(true) }

func (ps Problems) filter(warning bool) Problems {
	var out Problems
	for _, p := range ps {
		if p.Warning == warning {
			out = append(out, p)
		}
	}
	return out
}

// Lines renders each problem as one line.
func (ps Problems) Lines() []string {
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = strings.ReplaceAll(p.String(), "\n", " ")
	}
	return out
}

// Has reports whether a problem at path is known already, so that a check of the
// meaning need not repeat one of the type.
func (ps Problems) Has(path string) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Path == path })
}

// Sort orders by file, then line; problems of one line keep their order.
func (ps Problems) Sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}
