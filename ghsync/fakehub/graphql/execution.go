package graphql

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// execution is the run of one operation.
type execution struct {
	schema    *ast.Schema
	variables map[string]any
	errs      []Error
	types     map[reflect.Type]map[string]reflect.StructField
}

// answered are the selections of one name in an answer: a document may select a field of an
// object several times, each time with other fields below it.
type answered struct {
	alias  string
	fields []*ast.Field
}

// object answers a selection. It reports false when a field is null that must not be.
func (x *execution) object(o Object, set ast.SelectionSet, path []any) (map[string]any, bool) {
	out := map[string]any{}
	for _, a := range x.collect(o.TypeName(), set, nil) {
		value := x.field(o, a.fields, append(slices.Clone(path), a.alias))
		if value == nil && a.fields[0].Definition.Type.NonNull {
			return nil, false
		}
		out[a.alias] = value
	}
	return out, true
}

// collect adds the fields that a selection asks of an object type, in the document's order.
func (x *execution) collect(typ string, set ast.SelectionSet, into []answered) []answered {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if x.skips(s.Directives) {
				continue
			}
			i := slices.IndexFunc(into, func(a answered) bool { return a.alias == s.Alias })
			if i < 0 {
				into = append(into, answered{alias: s.Alias})
				i = len(into) - 1
			}
			into[i].fields = append(into[i].fields, s)
		case *ast.InlineFragment:
			if !x.skips(s.Directives) && x.fits(typ, s.TypeCondition) {
				into = x.collect(typ, s.SelectionSet, into)
			}
		case *ast.FragmentSpread:
			if !x.skips(s.Directives) && x.fits(typ, s.Definition.TypeCondition) {
				into = x.collect(typ, s.Definition.SelectionSet, into)
			}
		}
	}
	return into
}

// skips evaluates @skip and @include.
func (x *execution) skips(directives ast.DirectiveList) bool {
	for _, d := range directives {
		condition := d.ArgumentMap(x.variables)["if"]
		if d.Name == "skip" && condition == true || d.Name == "include" && condition == false {
			return true
		}
	}
	return false
}

// fits reports whether an object type has the type of a fragment.
func (x *execution) fits(typ, condition string) bool {
	if condition == "" || condition == typ {
		return true
	}
	return slices.ContainsFunc(x.schema.GetPossibleTypes(x.schema.Types[condition]), func(d *ast.Definition) bool { return d.Name == typ })
}

func (x *execution) field(o Object, fields []*ast.Field, path []any) any {
	f := fields[0] // the others have the same name and arguments, says the validator
	if f.Name == "__typename" {
		return o.TypeName()
	}
	value := x.read(o, f.Name)
	if compute, isResolver := value.(Resolver); isResolver {
		value = compute(f.ArgumentMap(x.variables))
	}
	return x.value(value, fields, path)
}

// read returns the field of the struct. One that is not there is a mistake of the caller's.
func (x *execution) read(o Object, name string) any {
	typ := reflect.TypeOf(o)
	known, seen := x.types[typ]
	if !seen {
		known = Fields(o)
		if x.types == nil {
			x.types = map[reflect.Type]map[string]reflect.StructField{}
		}
		x.types[typ] = known
	}
	f, found := known[name]
	if !found {
		panic(fmt.Sprintf("graphql: %T, a %s, has no field %s", o, o.TypeName(), name))
	}
	return reflect.ValueOf(o).FieldByIndex(f.Index).Interface()
}

// value answers what a field holds.
func (x *execution) value(value any, fields []*ast.Field, path []any) any {
	switch value := value.(type) {
	case nil:
		return nil
	case error:
		x.fail(value, fields[0], path)
		return nil
	case Object:
		var set ast.SelectionSet
		for _, f := range fields {
			set = append(set, f.SelectionSet...)
		}
		out, whole := x.object(value, set, path)
		if !whole {
			return nil
		}
		return out
	}
	list := reflect.ValueOf(value)
	if list.Kind() != reflect.Slice {
		return value
	}
	out := make([]any, list.Len())
	for i := range out {
		out[i] = x.value(list.Index(i).Interface(), fields, append(slices.Clone(path), i))
	}
	return out
}

// fail notes why a field is null.
func (x *execution) fail(err error, f *ast.Field, path []any) {
	entry := Error{
		Message: err.Error(), Path: path,
		Locations: []gqlerror.Location{{Line: f.Position.Line, Column: f.Position.Column}},
	}
	var fault *Fault
	if errors.As(err, &fault) {
		entry.Type = fault.Kind
	}
	x.errs = append(x.errs, entry)
}
