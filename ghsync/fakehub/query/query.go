// Package query reads the queries of searches.
package query

import "strings"

// Term is a qualifier of a query. One of its values, in lower case, must hold.
type Term struct {
	Qualifier string
	Values    []string
}

// Parse reads the qualifiers of a query; its other words are ignored.
func Parse(query string) []Term {
	var found []Term
	for query != "" {
		query = strings.TrimLeft(query, " ")
		word := next(query)
		query = query[len(word):]
		name, values, has := strings.Cut(word, ":")
		if !has || name == "" {
			continue
		}
		t := Term{Qualifier: name}
		for _, value := range split(values) {
			t.Values = append(t.Values, strings.ToLower(strings.Trim(value, `"`)))
		}
		found = append(found, t)
	}
	return found
}

// next is text up to a space outside of quotes.
func next(text string) string {
	quoted := false
	for i := range len(text) {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ' ' && !quoted:
			return text[:i]
		}
	}
	return text
}

// split cuts at commas outside of quotes.
func split(text string) []string {
	var values []string
	quoted, start := false, 0
	for i := range len(text) {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ',' && !quoted:
			values, start = append(values, text[start:i]), i+1
		}
	}
	return append(values, text[start:])
}
