package redact

import "fmt"

// Kind is a line of tokens.txt.
type Kind struct {
	ID, Expression, Source string
	After                  []string
}

// Kinds are the lines of tokens.txt.
func Kinds() (all []Kind, err error) {
	kinds, err := readKinds(tokensFile)
	for _, k := range kinds {
		all = append(all, Kind{k.id, k.expression, k.source, k.after})
	}
	return all, err
}

// ReadKinds reads text of the form of tokens.txt into patterns.
func ReadKinds(text string) error {
	kinds, err := readKinds(text)
	for _, k := range kinds {
		if _, err := newExpression(k.expression); err != nil {
			return err
		}
		if _, err := k.pattern(); err != nil {
			return err
		}
	}
	return err
}

// Words are what places of an expression are found by: as they are read ahead of the rest of it,
// which may be nothing, and by all of it.
func Words(expression string) (leads string, all []string, err error) {
	e, err := newExpression(expression)
	if err != nil {
		return "", nil, err
	}
	if leads = leading(expression); leads != "" && e.anchor != 0 {
		return "", nil, fmt.Errorf("%s: a text leads, and places are found by part %d", expression, e.anchor)
	}
	return leads, e.words(), nil
}

// Places returns how many places of text, as it is and in each of its views, hold a value or are
// searched like a text of their own: in the views that a glance leaves, and in all of them.
func (r *Redactor) Places(text string) (glanced, all int) {
	count := func(glance func([]byte) hints) (n int) {
		for v := range views(view{text: []byte(text)}, glance) {
			n += len(r.index.findIn(v, 0, nil))
			if v.decoded {
				for range runs(v) {
					n++
				}
			}
		}
		return n
	}
	return count(r.index.glance), count(func([]byte) hints { return ^hints(0) })
}
