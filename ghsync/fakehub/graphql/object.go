package graphql

import (
	"fmt"
	"reflect"
	"strconv"
)

// Object is a struct whose tags `graphql:"name"` name fields of a type of the schema. A field
// holds a value or is a Resolver. Values are scalars, an Object, a slice of either, nil or an
// error. Structs it embeds give it their fields.
type Object interface {
	// TypeName is the object type of the schema that it has.
	TypeName() string
}

// Resolver computes a field from its arguments, which are valid.
type Resolver = func(Args) any

// Fault is an error with GitHub's type, such as NOT_FOUND.
type Fault struct{ Kind, Message string }

func (e *Fault) Error() string { return e.Message }

// Fields are the tagged fields of an object by the name of the schema.
func Fields(o Object) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(o)) {
		if name := f.Tag.Get("graphql"); name != "" {
			fields[name] = f
		}
	}
	return fields
}

// Args are the arguments of a field.
type Args map[string]any

// Has reports whether the argument has a value other than null.
func (a Args) Has(name string) bool { return a[name] != nil }

// Text returns a string, an ID or the name of an enum value, "" if there is none.
func (a Args) Text(name string) string {
	text, _ := a[name].(string)
	return text
}

// Number returns an Int, 0 if there is none. Those of a document and those of variables have
// different types.
func (a Args) Number(name string) int {
	switch n := a[name].(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	case string:
		value, _ := strconv.Atoi(n) // the validator lets digits pass
		return value
	}
	return 0
}

// List returns a list of texts. One value is a list of one.
func (a Args) List(name string) []string {
	var texts []string
	switch value := a[name].(type) {
	case []any:
		for _, item := range value {
			texts = append(texts, fmt.Sprint(item))
		}
	case []string:
		texts = value
	case string:
		texts = append(texts, value)
	}
	return texts
}

// Input returns an input object, empty if there is none.
func (a Args) Input(name string) Args {
	fields, _ := a[name].(map[string]any)
	return fields
}
