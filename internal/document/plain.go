package document

import (
	"strconv"
	"strings"
)

// Int returns the whole number n holds.
func (n *Node) Int() (int64, bool) {
	if n == nil || n.Kind != Scalar || n.Tag != TagInt {
		return 0, false
	}
	i, err := strconv.ParseInt(strings.ReplaceAll(n.Text, "_", ""), 0, 64)
	return i, err == nil
}

// Plain returns n as string, int64, float64, bool, []any, map[string]any or nil.
func (n *Node) Plain() any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case List:
		out := make([]any, len(n.Items))
		for i, item := range n.Items {
			out[i] = item.Plain()
		}
		return out
	case Map:
		out := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			out[f.Key] = f.Value.Plain()
		}
		return out
	case Scalar:
		return n.plainScalar()
	}
	return nil
}

func (n *Node) plainScalar() any {
	switch n.Tag {
	case TagBool:
		return strings.EqualFold(n.Text, "true")
	case TagInt:
		if i, ok := n.Int(); ok {
			return i
		}
	case TagFloat:
		if f, err := strconv.ParseFloat(n.Text, 64); err == nil {
			return f
		}
	}
	return n.Text
}
