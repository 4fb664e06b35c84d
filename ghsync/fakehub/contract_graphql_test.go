package fakehub_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// TestContractGraphQL holds the documents of recorded requests, their variables and what
// the fake answered against GitHub's schema.
func TestContractGraphQL(t *testing.T) {
	schema := readSchema(t)
	g := &exchangeCheck{schema: schema, documents: map[string]*ast.QueryDocument{}, problems: map[string]int{}}
	names := map[string]int{}
	for _, e := range exchanges(t) {
		if e.URL != "/graphql" || e.Agent != product {
			continue
		}
		var in struct {
			Query         string
			Variables     map[string]any
			OperationName string
		}
		if err := json.Unmarshal([]byte(e.Body), &in); err != nil {
			t.Errorf("%v in %s", err, e.Body)
			continue
		}
		names[in.OperationName]++
		doc := g.document(in.Query, in.OperationName)
		if doc == nil {
			continue
		}
		op := doc.Operations.ForName(in.OperationName)
		if _, err := validator.VariableValues(schema, op, in.Variables); err != nil {
			g.problem(in.OperationName, "variables: %v", err)
		}
		if !e.Fault && e.Status == 200 {
			g.answer(op, e.Answer)
		}
	}
	for _, problem := range slices.Sorted(maps.Keys(g.problems)) {
		t.Errorf("%s (%d times)", problem, g.problems[problem])
	}
	if want := []string{"Comments", "Gate", "MarkReady", "React", "RequiredChecks", "Viewer"}; !slices.Equal(slices.Sorted(maps.Keys(names)), want) {
		t.Errorf("documents %v, want each of %v", names, want)
	}
}

// TestContractSchema holds the schema that the fake serves against GitHub's: each type, field,
// argument and value of it is there with the same type.
func TestContractSchema(t *testing.T) {
	theirs := readSchema(t)
	text, err := os.ReadFile("schema.graphql")
	if err != nil {
		t.Fatal(err)
	}
	served, err := gqlparser.LoadSchema(&ast.Source{Input: string(text)})
	if err != nil {
		t.Fatal(err)
	}
	for name, def := range served.Types {
		if def.BuiltIn {
			continue
		}
		known := theirs.Types[name]
		if known == nil || known.Kind != def.Kind {
			t.Errorf("GitHub has no %s %s", def.Kind, name)
			continue
		}
		for _, f := range def.Fields {
			if !strings.HasPrefix(f.Name, "__") {
				sameField(t, name, f, known.Fields.ForName(f.Name))
			}
		}
		for _, v := range def.EnumValues {
			if known.EnumValues.ForName(v.Name) == nil {
				t.Errorf("GitHub's %s has no value %s", name, v.Name)
			}
		}
		for _, above := range slices.Concat(def.Interfaces, def.Types) {
			if !slices.Contains(slices.Concat(known.Interfaces, known.Types), above) {
				t.Errorf("GitHub's %s is not related to %s", name, above)
			}
		}
	}
}

func sameField(t *testing.T, typ string, f, known *ast.FieldDefinition) {
	t.Helper()
	if known == nil || known.Type.String() != f.Type.String() {
		t.Errorf("GitHub has no %s.%s: %s", typ, f.Name, f.Type)
		return
	}
	for _, a := range f.Arguments {
		other := known.Arguments.ForName(a.Name)
		if other == nil || other.Type.String() != a.Type.String() {
			t.Errorf("GitHub's %s.%s has no argument %s: %s", typ, f.Name, a.Name, a.Type)
		}
	}
	for _, a := range known.Arguments {
		if a.Type.NonNull && a.DefaultValue == nil && f.Arguments.ForName(a.Name) == nil {
			t.Errorf("GitHub's %s.%s needs the argument %s", typ, f.Name, a.Name)
		}
	}
}

// readSchema reads GitHub's schema, which describes some fields twice.
func readSchema(t *testing.T) *ast.Schema {
	t.Helper()
	text, err := os.ReadFile(described(t, "graphql-schema/schema.graphql"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := parser.ParseSchemas(validator.Prelude, &ast.Source{Name: "schema.graphql", Input: string(text)})
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range doc.Definitions {
		seen := map[string]bool{}
		def.Fields = slices.DeleteFunc(def.Fields, func(f *ast.FieldDefinition) bool {
			twice := seen[f.Name]
			seen[f.Name] = true
			return twice
		})
	}
	schema, err := validator.ValidateSchemaDocument(doc)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

type exchangeCheck struct {
	schema    *ast.Schema
	documents map[string]*ast.QueryDocument
	problems  map[string]int
}

func (g *exchangeCheck) problem(operation, format string, args ...any) {
	g.problems[operation+": "+fmt.Sprintf(format, args...)]++
}

// document validates a document once; nil is a wrong one.
func (g *exchangeCheck) document(text, operation string) *ast.QueryDocument {
	doc, known := g.documents[text]
	if known {
		return doc
	}
	doc, wrong := gqlparser.LoadQueryWithRules(g.schema, text, rules.NewDefaultRules())
	if len(wrong) > 0 {
		g.problem(operation, "document: %v", wrong)
		doc = nil
	}
	g.documents[text] = doc
	return doc
}

// answer holds the data of an answer against what was selected.
func (g *exchangeCheck) answer(op *ast.OperationDefinition, text string) {
	var out struct {
		Data   json.RawMessage
		Errors []struct{ Message string }
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		g.problem(op.Name, "answer: %v", err)
		return
	}
	var data any
	if len(out.Data) > 0 {
		if err := json.Unmarshal(out.Data, &data); err != nil {
			g.problem(op.Name, "answer: %v", err)
			return
		}
	}
	if data == nil {
		if len(out.Errors) == 0 {
			g.problem(op.Name, "answer: neither data nor errors")
		}
		return
	}
	root := g.schema.Query
	if op.Operation == ast.Mutation {
		root = g.schema.Mutation
	}
	walk := &shape{g: g, operation: op.Name, partial: len(out.Errors) > 0}
	walk.object(root, op.SelectionSet, data, "data")
}

// shape walks an answer beside its selection. A partial one has errors, which make
// anything null.
type shape struct {
	g         *exchangeCheck
	operation string
	partial   bool
}

func (s *shape) object(typ *ast.Definition, selection ast.SelectionSet, value any, at string) {
	fields, ok := value.(map[string]any)
	if !ok {
		s.g.problem(s.operation, "%s is %T, not an object", at, value)
		return
	}
	if typ.IsAbstractType() {
		name, _ := fields["__typename"].(string)
		actual := s.g.schema.Types[name]
		switch {
		case actual == nil:
			// Only what every type has can be told; the documents ask for the type wherever it matters.
			return
		case !slices.Contains(s.g.schema.GetPossibleTypes(typ), actual):
			s.g.problem(s.operation, "%s is %s, which is not a %s", at, name, typ.Name)
			return
		}
		typ = actual
	}
	want := map[string]*ast.Field{}
	s.collect(typ, selection, want)
	for name, field := range want {
		value, there := fields[name]
		if !there {
			s.g.problem(s.operation, "%s lacks %s", at, name)
			continue
		}
		s.value(field.Definition.Type, field, value, at+"."+name)
	}
	for name := range fields {
		if want[name] == nil {
			s.g.problem(s.operation, "%s has %s, which was not selected", at, name)
		}
	}
}

// collect gathers the fields that a type gives, those of fragments included.
func (s *shape) collect(typ *ast.Definition, selection ast.SelectionSet, into map[string]*ast.Field) {
	fits := func(condition string) bool {
		other := s.g.schema.Types[condition]
		return condition == "" || condition == typ.Name || other != nil && slices.Contains(s.g.schema.GetPossibleTypes(other), typ)
	}
	for _, one := range selection {
		switch one := one.(type) {
		case *ast.Field:
			into[one.Alias] = one
		case *ast.InlineFragment:
			if fits(one.TypeCondition) {
				s.collect(typ, one.SelectionSet, into)
			}
		case *ast.FragmentSpread:
			if fits(one.Definition.TypeCondition) {
				s.collect(typ, one.Definition.SelectionSet, into)
			}
		}
	}
}

func (s *shape) value(typ *ast.Type, field *ast.Field, value any, at string) {
	switch {
	case value == nil:
		if typ.NonNull && !s.partial {
			s.g.problem(s.operation, "%s is null", at)
		}
		return
	case typ.Elem != nil:
		list, ok := value.([]any)
		if !ok {
			s.g.problem(s.operation, "%s is %T, not a list", at, value)
		}
		for _, item := range list {
			s.value(typ.Elem, field, item, at+"[]")
		}
		return
	}
	def := s.g.schema.Types[typ.NamedType]
	switch {
	case def.IsCompositeType():
		s.object(def, field.SelectionSet, value, at)
	case def.Kind == ast.Enum:
		if text, ok := value.(string); !ok || def.EnumValues.ForName(text) == nil {
			s.g.problem(s.operation, "%s is %v, which is not a %s", at, value, def.Name)
		}
	case !scalar(def.Name, value):
		s.g.problem(s.operation, "%s is %v, which is not a %s", at, value, def.Name)
	}
}

// scalar reports whether a value of JSON may stand for a scalar of the schema.
func scalar(name string, value any) bool {
	switch value := value.(type) {
	case bool:
		return name == "Boolean"
	case float64:
		return name == "Int" && value == float64(int64(value)) || name == "Float"
	case string:
		return name != "Boolean" && name != "Int" && name != "Float" && (name != "DateTime" || strings.HasSuffix(value, "Z"))
	}
	return false
}
