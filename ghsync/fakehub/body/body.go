// Package body writes the JSON of an answer. It writes the bytes of encoding/json, and does not ask reflection
// for the kinds of values that almost all answers have: most of the time of a long list went there.
package body

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// JSON returns what json.Marshal returns for v, which is made of values that can be encoded.
func JSON(v any) []byte { return add(nil, v) }

// add appends v to out.
func add(out []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return strconv.AppendBool(out, v)
	case int:
		return strconv.AppendInt(out, int64(v), 10)
	case int64:
		return strconv.AppendInt(out, v, 10)
	case string:
		return text(out, v)
	case map[string]any:
		if v != nil {
			return object(out, v)
		}
	case []any:
		if v != nil {
			return list(out, v)
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("fakehub: encode %T: %v", v, err))
	}
	return append(out, data...)
}

func object(out []byte, v map[string]any) []byte {
	out = append(out, '{')
	for i, name := range slices.Sorted(maps.Keys(v)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(text(out, name), ':')
		out = add(out, v[name])
	}
	return append(out, '}')
}

func list(out []byte, v []any) []byte {
	out = append(out, '[')
	for i, inner := range v {
		if i > 0 {
			out = append(out, ',')
		}
		out = add(out, inner)
	}
	return append(out, ']')
}

// text leaves to encoding/json what it escapes.
func text(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			data, _ := json.Marshal(s) // there is no string that it refuses
			return append(out, data...)
		}
	}
	return append(append(append(out, '"'), s...), '"')
}
