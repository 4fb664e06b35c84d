// Package lenient reads JSON that others wrote in a form of their own: numbers as text, texts as
// numbers, values of a wrong type beside good ones.
package lenient

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Read reads as much of data into a value, given by a pointer, as has the right type. A number is
// cut to its whole part; a list keeps the items of the right type.
func Read[T any](data []byte, into *T) { read(data, reflect.ValueOf(into).Elem()) }

// read is Read of one value, and reports whether any of it has the right type.
func read(data []byte, v reflect.Value) bool {
	whole := reflect.New(v.Type())
	if json.Unmarshal(data, whole.Interface()) == nil {
		v.Set(whole.Elem())
		return true
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		var number float64
		if json.Unmarshal(data, &number) != nil {
			return false
		}
		v.SetInt(int64(number))
		return true
	case reflect.Struct:
		var fields map[string]json.RawMessage
		if json.Unmarshal(data, &fields) != nil {
			return false
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if field, ok := fields[name]; ok {
				read(field, v.Field(i))
			}
		}
		return true
	case reflect.Slice:
		var items []json.RawMessage
		if json.Unmarshal(data, &items) != nil {
			return false
		}
		for _, item := range items {
			if one := reflect.New(v.Type().Elem()).Elem(); read(item, one) {
				v.Set(reflect.Append(v, one))
			}
		}
		return true
	}
	return false
}

// Number turns "42" into 42; anything else stays as it is.
func Number(raw json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return raw
	}
	if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil {
		return json.RawMessage(strconv.Itoa(n))
	}
	return raw
}

// Int returns the number that an object has under a key, without judging the rest of it; 0 if there
// is none.
func Int(data []byte, key string) (n int, err error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object[key] == nil {
		return 0, err
	}
	err = json.Unmarshal(Number(object[key]), &n)
	return n, err
}

// Text turns 42 into "42".
func Text(raw json.RawMessage) json.RawMessage {
	var n json.Number
	if len(raw) > 0 && raw[0] != '"' && json.Unmarshal(raw, &n) == nil && n != "" {
		return json.RawMessage(strconv.Quote(n.String()))
	}
	return raw
}

// Texts turns each number in a list into text.
func Texts(raw json.RawMessage) json.RawMessage {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return raw
	}
	for i := range items {
		items[i] = Text(items[i])
	}
	out, err := json.Marshal(items)
	if err != nil {
		return raw
	}
	return out
}

// Bare turns each item of a list into text without a prefix: [1, "plan_2"] into ["1", "2"].
func Bare(prefix string) func(json.RawMessage) json.RawMessage {
	return func(raw json.RawMessage) json.RawMessage {
		var items []string
		if json.Unmarshal(Texts(raw), &items) != nil {
			return raw
		}
		for i := range items {
			items[i] = strings.TrimPrefix(items[i], prefix)
		}
		out, err := json.Marshal(items)
		if err != nil {
			return raw
		}
		return out
	}
}

// Index is a number or a text; 1 and "1" are the same.
type Index string

// UnmarshalJSON takes a number or a text.
func (i *Index) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(Text(b), &s); err != nil {
		return err
	}
	*i = Index(s)
	return nil
}

// MarshalJSON writes a number where it is one.
func (i Index) MarshalJSON() ([]byte, error) {
	if raw := Number([]byte(`"` + string(i) + `"`)); raw[0] != '"' {
		return raw, nil
	}
	return json.Marshal(string(i))
}

// List is a list of texts that may be written as one text.
type List []string

// UnmarshalJSON takes a text or a list of them.
func (l *List) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = List{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// Append returns an object with more keys, sorted, whose values stay as they are.
func Append(object []byte, more map[string]json.RawMessage) ([]byte, error) {
	object = object[:len(object)-1]
	for _, key := range slices.Sorted(maps.Keys(more)) {
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		object = append(object, ',')
		object = append(object, name...)
		object = append(object, ':')
		object = append(object, more[key]...)
	}
	return append(object, '}'), nil
}

// Object returns the JSON of an object with known keys, which need no quoting.
func Object(keys map[string]json.RawMessage) []byte {
	body := []byte{'{'}
	for i, key := range slices.Sorted(maps.Keys(keys)) {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(append(body, `"`+key+`":`...), keys[key]...)
	}
	return append(body, '}')
}

// Others takes the keys that are not known out of an object, and returns them; nil if it has only known ones.
func Others(keys map[string]json.RawMessage, known map[string]bool) (others map[string]json.RawMessage) {
	for key, raw := range keys {
		if known[key] {
			continue
		}
		if others == nil {
			others = map[string]json.RawMessage{}
		}
		others[key] = raw
		delete(keys, key)
	}
	return others
}

// Cause is an error of encoding/json in words for a person.
func Cause(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Sprintf("%s: found %s", wrong.Field, wrong.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
