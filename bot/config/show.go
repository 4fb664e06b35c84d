package config

import (
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

// Value is one key with its value, as a file would have it, and its layer.
type Value struct {
	Path  string
	Text  string
	Plain any    // the value as JSON would have it
	Layer string // one of the Layer constants
	File  string // empty for the built-in layer
	Line  int
	// AddsTo is the layer whose items a list has besides those of Layer, if there is one.
	AddsTo    string
	Overruled []Overruled // values of files for this key that do not count
}

// Show lists every key in the order of the documentation. Keys that only the files have are at
// the place of their map.
func (c *Config) Show() []Value {
	base, _ := document.Parse(builtInName, builtIn)
	return c.show(nil, "", c.tree, base)
}

func (c *Config) show(out []Value, path string, n, base *document.Node) []Value {
	if n.Kind == document.Null && base != nil {
		n = base // an empty value means the default
	}
	if n.Kind != document.Map || len(n.Fields) == 0 {
		v := Value{Path: path, Text: flow(n), Plain: n.Plain(), Layer: c.layers[n.File]}
		if v.Layer != LayerBuiltIn {
			v.File, v.Line = n.File, n.Line
		}
		for _, item := range n.Items {
			if layer := c.layers[item.File]; layer != v.Layer {
				v.AddsTo = layer
			}
		}
		v.Overruled = c.overruled[path]
		return append(out, v)
	}
	for _, f := range n.Fields {
		out = c.show(out, document.Key(path, f.Key), f.Value, base.Field(f.Key))
	}
	return out
}

// Layer returns the layer of a key's value.
func (c *Config) Layer(key string) string {
	for _, v := range c.Show() {
		if v.Path == key {
			return v.Layer
		}
	}
	return LayerBuiltIn
}

// Source returns the files that were read, lowest layer first; none = defaults only.
func (c *Config) Source() []string {
	var files []string
	for _, layer := range []string{LayerUser, LayerProject, LayerFlag} {
		for file, l := range c.layers {
			if l == layer {
				files = append(files, file)
			}
		}
	}
	return files
}

// flow returns a node on one line.
func flow(n *document.Node) string {
	switch n.Kind {
	case document.Null:
		return "null"
	case document.List:
		items := make([]string, len(n.Items))
		for i, item := range n.Items {
			items[i] = flow(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case document.Map:
		items := make([]string, len(n.Fields))
		for i, f := range n.Fields {
			items[i] = plain(f.Key) + ": " + flow(f.Value)
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	if n.IsText() {
		return plain(n.Text)
	}
	return n.Text
}

// plain returns text, quoted if YAML would not read it back as the same text.
func plain(text string) string {
	node, problems := document.Parse("", []byte(text))
	if len(problems) == 0 && node.IsText() && node.Text == text && !strings.ContainsAny(text, ",[]{}\n#:") {
		return text
	}
	return strconv.Quote(text)
}
