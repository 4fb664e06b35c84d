package document

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unknown says what a key that no field takes is.
type Unknown int

// The ways to treat an unknown key.
const (
	UnknownError Unknown = iota
	UnknownWarn
	UnknownIgnore
)

// Options of Decode.
type Options struct {
	Unknown Unknown
	Path    string // of the node inside its document; begins every path
}

// Unmarshaler is a value with a form of its own, such as "text or list". The error
// becomes the text of a problem.
type Unmarshaler interface {
	UnmarshalDocument(n *Node) error
}

// Decode fills v, a pointer, from n and reports every mismatch.
//
// A struct field takes the key of its tag: `doc:"name"`, or `doc:"name,required"`
// when an absent or empty value is a problem; fields without a tag are left alone,
// embedded structs are read as part of the outer one. What a document does not
// mention keeps its value, so defaults are set before. Fields may be string, bool,
// int, int64, float64, time.Duration (as 20m, or 0), slices, map[string]T,
// pointers (nil when empty), structs, any, *Node and Unmarshalers. A nil n decodes
// as an empty document.
func Decode(n *Node, v any, o Options) Problems {
	if n == nil {
		n = &Node{Line: 1}
	}
	d := &decoder{root: n, options: o}
	d.value(n, reflect.ValueOf(v).Elem(), "")
	if o.Path != "" {
		for i := range d.problems {
			d.problems[i].Path = join(o.Path, d.problems[i].Path)
		}
	}
	return d.problems
}

func join(prefix, path string) string {
	if path == "" || strings.HasPrefix(path, "[") {
		return prefix + path
	}
	return prefix + "." + path
}

type decoder struct {
	root     *Node
	layouts  map[reflect.Type]*layout // of structs met before
	options  Options
	problems Problems
}

func (d *decoder) problem(path, format string, args ...any) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, d.root.Problem(path, format, args...))
	}
}

func (d *decoder) expected(n *Node, path, what string) {
	d.problem(path, "expected %s, found %s", what, n.Found())
}

var (
	nodeType     = reflect.TypeFor[*Node]()
	durationType = reflect.TypeFor[time.Duration]()
)

func (d *decoder) value(n *Node, v reflect.Value, path string) {
	if v.Type() == nodeType {
		v.Set(reflect.ValueOf(n))
		return
	}
	if u, ok := v.Addr().Interface().(Unmarshaler); ok {
		if n.Kind == Null {
			return
		}
		if err := u.UnmarshalDocument(n); err != nil {
			d.problem(path, "%s", err)
		}
		return
	}
	if n.Kind == Null {
		if v.Kind() == reflect.Pointer {
			v.SetZero()
		} else if v.Kind() == reflect.Struct {
			d.structure(n, v, path)
		}
		return
	}
	d.set(n, v, path)
}

func (d *decoder) set(n *Node, v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		e := reflect.New(v.Type().Elem())
		d.value(n, e.Elem(), path)
		v.Set(e)
	case reflect.Struct:
		d.structure(n, v, path)
	case reflect.Map:
		d.mapping(n, v, path)
	case reflect.Slice:
		d.list(n, v, path)
	case reflect.Interface:
		v.Set(reflect.ValueOf(n.Plain()))
	default:
		d.scalar(n, v, path)
	}
}

func (d *decoder) scalar(n *Node, v reflect.Value, path string) {
	if v.Type() == durationType {
		d.duration(n, v, path)
		return
	}
	switch v.Kind() {
	case reflect.String:
		if !n.IsText() {
			d.expected(n, path, "text")
			return
		}
		v.SetString(n.Text)
	case reflect.Bool:
		if n.Kind != Scalar || n.Tag != TagBool {
			d.expected(n, path, "true or false")
			return
		}
		v.SetBool(strings.EqualFold(n.Text, "true"))
	case reflect.Int, reflect.Int64:
		i, ok := n.Int()
		if !ok {
			d.expected(n, path, "a whole number")
			return
		}
		v.SetInt(i)
	case reflect.Float64:
		f, err := strconv.ParseFloat(n.Text, 64)
		if n.Kind != Scalar || n.IsText() || err != nil {
			d.expected(n, path, "a number")
			return
		}
		v.SetFloat(f)
	default:
		panic(fmt.Sprintf("document: no way to decode into %s", v.Type()))
	}
}

func (d *decoder) duration(n *Node, v reflect.Value, path string) {
	if i, ok := n.Int(); ok && i == 0 {
		v.SetInt(0)
		return
	}
	t, err := time.ParseDuration(n.Text)
	if !n.IsText() || err != nil || t < 0 {
		d.expected(n, path, "a duration such as 20m")
		return
	}
	v.SetInt(int64(t))
}

func (d *decoder) list(n *Node, v reflect.Value, path string) {
	if n.Kind != List {
		d.expected(n, path, "a list")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		at := Index(path, i)
		if item.Kind == Null && out.Index(i).Kind() != reflect.Pointer {
			d.problem(at, "empty list item")
			continue
		}
		d.value(item, out.Index(i), at)
	}
	v.Set(out)
}

func (d *decoder) mapping(n *Node, v reflect.Value, path string) {
	if n.Kind != Map {
		d.expected(n, path, "a map")
		return
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for _, f := range n.Fields {
		e := reflect.New(v.Type().Elem()).Elem()
		key := reflect.ValueOf(f.Key).Convert(v.Type().Key())
		if old := v.MapIndex(key); old.IsValid() {
			e.Set(old)
		}
		d.value(f.Value, e, Key(path, f.Key))
		v.SetMapIndex(key, e)
	}
}

func (d *decoder) structure(n *Node, v reflect.Value, path string) {
	if n.Kind != Map && n.Kind != Null {
		d.expected(n, path, "a map")
		return
	}
	l := d.layouts[v.Type()]
	if l == nil {
		l = layoutOf(v.Type())
		if d.layouts == nil {
			d.layouts = map[reflect.Type]*layout{}
		}
		d.layouts[v.Type()] = l
	}
	for _, f := range n.Fields {
		at := Key(path, f.Key)
		i, ok := l.byName[f.Key]
		if !ok {
			d.unknown(f.Key, at, l)
			continue
		}
		d.value(f.Value, v.FieldByIndex(l.fields[i].index), at)
	}
	for _, f := range l.fields {
		if !f.required {
			continue
		}
		if value := n.Field(f.name); value == nil || value.Kind == Null {
			d.problem(Key(path, f.name), "required key missing")
		}
	}
}

func (d *decoder) unknown(key, path string, l *layout) {
	if d.options.Unknown == UnknownIgnore {
		return
	}
	before := len(d.problems)
	d.problem(path, "%s", UnknownKey(key, l.names()))
	for i := before; i < len(d.problems); i++ {
		d.problems[i].Warning = d.options.Unknown == UnknownWarn
	}
}

// UnknownKey words the problem of a key that is not one of known.
func UnknownKey(key string, known []string) string {
	if near := Nearest(key, known); near != "" {
		return fmt.Sprintf("unknown key, did you mean %q?", near)
	}
	return "unknown key"
}

// layout is the fields of a struct that a document can fill, in their order.
type layout struct {
	fields []structField
	byName map[string]int
}

type structField struct {
	name     string
	index    []int
	required bool
	omit     bool
}

func layoutOf(t reflect.Type) *layout {
	l := &layout{byName: map[string]int{}}
	l.collect(t, nil)
	return l
}

func (l *layout) collect(t reflect.Type, in []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(in), i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct && f.Tag.Get("doc") == "" {
			l.collect(f.Type, index)
			continue
		}
		name, flags, _ := strings.Cut(f.Tag.Get("doc"), ",")
		if name == "" || name == "-" {
			continue
		}
		field := structField{name: name, index: index, required: flags == "required", omit: flags == "omitempty"}
		if at, again := l.byName[name]; again {
			l.fields[at] = field
			continue
		}
		l.byName[name] = len(l.fields)
		l.fields = append(l.fields, field)
	}
}

func (l *layout) names() []string {
	names := make([]string, len(l.fields))
	for i, f := range l.fields {
		names[i] = f.name
	}
	return names
}
