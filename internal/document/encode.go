package document

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"
)

// Encode renders v as YAML, by the same tags that Decode reads, fields in the order
// of their struct and map keys sorted, so equal values give equal bytes. A field
// with `doc:"name,omitempty"` is left out when it is empty. Durations become text
// such as 20m0s. A *Node is written as it was read, without its comments.
func Encode(v any) ([]byte, error) {
	y, err := encodeValue(reflect.ValueOf(v))
	if err != nil {
		return nil, fmt.Errorf("encode document: %w", err)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(y); err != nil {
		return nil, fmt.Errorf("encode document: %w", err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("encode document: %w", err)
	}
	return b.Bytes(), nil
}

func encodeValue(v reflect.Value) (*yaml.Node, error) {
	if !v.IsValid() {
		return scalarNode("!!null", "null"), nil
	}
	if n, ok := v.Interface().(*Node); ok {
		return encodeNode(n), nil
	}
	if t, ok := v.Interface().(time.Duration); ok {
		return textNode(t.String()), nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return scalarNode("!!null", "null"), nil
		}
		return encodeValue(v.Elem())
	case reflect.Struct:
		return encodeStruct(v)
	case reflect.Map:
		return encodeMap(v)
	case reflect.Slice, reflect.Array:
		return encodeList(v)
	}
	return encodeScalar(v)
}

func encodeScalar(v reflect.Value) (*yaml.Node, error) {
	switch v.Kind() {
	case reflect.String:
		return textNode(v.String()), nil
	case reflect.Bool:
		return scalarNode(TagBool, strconv.FormatBool(v.Bool())), nil
	case reflect.Int, reflect.Int64:
		return scalarNode(TagInt, strconv.FormatInt(v.Int(), 10)), nil
	case reflect.Float64:
		return scalarNode(TagFloat, strconv.FormatFloat(v.Float(), 'g', -1, 64)), nil
	}
	return nil, fmt.Errorf("no form for %s", v.Type())
}

func encodeStruct(v reflect.Value) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range layoutOf(v.Type()).fields {
		value := v.FieldByIndex(f.index)
		if f.omit && empty(value) {
			continue
		}
		y, err := encodeValue(value)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, textNode(f.name), y)
	}
	return out, nil
}

func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

func encodeMap(v reflect.Value) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.MappingNode}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range keys {
		y, err := encodeValue(v.MapIndex(k))
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, textNode(k.String()), y)
	}
	return out, nil
}

func encodeList(v reflect.Value) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range v.Len() {
		y, err := encodeValue(v.Index(i))
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, y)
	}
	return out, nil
}

func encodeNode(n *Node) *yaml.Node {
	switch {
	case n == nil || n.Kind == Null:
		return scalarNode("!!null", "null")
	case n.Kind == Scalar && n.Tag == TagText:
		return textNode(n.Text)
	case n.Kind == Scalar:
		return scalarNode(n.Tag, n.Text)
	}
	out := &yaml.Node{Kind: yaml.SequenceNode}
	for _, item := range n.Items {
		out.Content = append(out.Content, encodeNode(item))
	}
	if n.Kind == Map {
		out.Kind = yaml.MappingNode
	}
	for _, f := range n.Fields {
		out.Content = append(out.Content, textNode(f.Key), encodeNode(f.Value))
	}
	return out
}

func textNode(text string) *yaml.Node {
	y := &yaml.Node{}
	y.SetString(text)
	// A block scalar loses leading breaks and cannot hold control characters. The library
	// leaves the word of a merge bare.
	if text == "<<" || strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n") || strings.HasSuffix(text, "\n\n") || strings.ContainsFunc(text, awkward) {
		y.Style = yaml.DoubleQuotedStyle
	}
	return y
}

func awkward(r rune) bool {
	return r != '\n' && r != ' ' && (unicode.IsControl(r) || unicode.IsSpace(r) || !unicode.IsPrint(r))
}

func scalarNode(tag, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}
