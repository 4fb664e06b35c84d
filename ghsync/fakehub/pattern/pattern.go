// Package pattern fits paths to the patterns of a table of resources.
package pattern

import "strings"

// onlyDigits are the placeholders that match numbers alone.
var onlyDigits = map[string]bool{"number": true, "id": true, "rid": true}

// Match returns the values of the placeholders when segments fit the pattern. A last
// placeholder {x...} takes the rest.
func Match(pattern string, segments []string) (map[string]string, bool) {
	want := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	params := map[string]string{}
	for i, part := range want {
		name, isParam := strings.CutPrefix(part, "{")
		name = strings.TrimSuffix(name, "}")
		if rest, all := strings.CutSuffix(name, "..."); all && i < len(segments) {
			params[rest] = strings.Join(segments[i:], "/")
			return params, true
		}
		if i >= len(segments) {
			return nil, false
		}
		switch {
		case !isParam && part != segments[i]:
			return nil, false
		case isParam && onlyDigits[name] && !digits(segments[i]):
			return nil, false
		case isParam:
			params[name] = segments[i]
		}
	}
	return params, len(want) == len(segments)
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
