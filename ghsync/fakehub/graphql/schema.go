// Package graphql answers GraphQL requests against a schema as GitHub's server does.
//
// A document is parsed and validated before anything is answered: a field, an argument or a
// fragment that the schema does not have is refused, in GitHub's words and with its codes
// where clients know them (see rules.go). Then the selections are answered from objects,
// which are structs of the caller: a tag `graphql:"name"` names the field of the schema.
//
// A field that fails is null and has an entry in the answer's errors with GitHub's type and
// the path. When the schema promises a value there, the object around it is null instead.
//
// Connect makes the field of a list that is read page by page.
//
// The package stores nothing. A Schema may be used by several goroutines; what an object's
// resolvers touch is the caller's to guard.
package graphql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// Schema is what may be asked.
type Schema struct {
	types *ast.Schema
	rules *rules.Rules
}

// Parse reads a schema. It has no introspection: __schema and __type are unknown fields.
func Parse(text string) (*Schema, error) {
	types, err := gqlparser.LoadSchema(&ast.Source{Input: text})
	if err != nil {
		return nil, fmt.Errorf("load the schema: %w", err)
	}
	types.Query.Fields = slices.DeleteFunc(types.Query.Fields, func(f *ast.FieldDefinition) bool {
		return strings.HasPrefix(f.Name, "__")
	})
	return &Schema{types: types, rules: githubRules()}, nil
}

// Types are the object types of the schema with the names of their fields.
func (s *Schema) Types() map[string][]string {
	fields := map[string][]string{}
	for name, def := range s.types.Types {
		if def.Kind != ast.Object || def.BuiltIn {
			continue
		}
		fields[name] = []string{}
		for _, f := range def.Fields {
			fields[name] = append(fields[name], f.Name)
		}
	}
	return fields
}

// Request is the body of a request.
type Request struct {
	Query         string         `json:"query"`
	Variables     map[string]any `json:"variables"`
	OperationName string         `json:"operationName"`
}

// Roots are the objects that a document starts from.
type Roots struct {
	Query, Mutation Object
}

// Answer is the body of an answer. Data is nil when the document was refused.
type Answer struct {
	Data   map[string]any `json:"data,omitempty"`
	Errors []Error        `json:"errors,omitempty"`
}

// Error is an entry of an answer's errors. Type is GitHub's, such as NOT_FOUND; a document
// that was refused has none.
type Error struct {
	Type       string              `json:"type,omitempty"`
	Path       []any               `json:"path,omitempty"`
	Extensions map[string]any      `json:"extensions,omitempty"`
	Locations  []gqlerror.Location `json:"locations,omitempty"`
	Message    string              `json:"message"`
}

// Execute answers a request. No resolver is called unless the whole document is valid.
func (s *Schema) Execute(in Request, roots Roots) Answer {
	doc, err := parser.ParseQuery(&ast.Source{Input: in.Query})
	if err != nil {
		return refusal(parseError(err))
	}
	if wrong := validator.ValidateWithRules(s.types, doc, s.rules); len(wrong) > 0 {
		errs := make([]Error, len(wrong))
		for i, e := range wrong {
			errs[i] = Error{Message: e.Message, Locations: e.Locations, Extensions: e.Extensions}
		}
		return refusal(errs...)
	}
	op, err := choose(doc, in.OperationName)
	if err != nil {
		return refusal(Error{Message: err.Error()})
	}
	variables, wrong := s.variables(op, in.Variables)
	if wrong != nil {
		return refusal(*wrong)
	}
	x := &execution{schema: s.types, variables: variables}
	root := roots.Query
	if op.Operation == ast.Mutation {
		root = roots.Mutation
	}
	data, _ := x.object(root, op.SelectionSet, nil)
	return Answer{Data: data, Errors: x.errs}
}

func refusal(errs ...Error) Answer { return Answer{Errors: errs} }

// parseError is the error of a text that is not GraphQL.
func parseError(err error) Error {
	var at *gqlerror.Error
	if !errors.As(err, &at) {
		return Error{Message: "Parse error on query: " + err.Error()}
	}
	return Error{Message: "Parse error on query: " + at.Message, Locations: at.Locations}
}

// choose finds the operation that the request names, or the only one.
func choose(doc *ast.QueryDocument, name string) (*ast.OperationDefinition, error) {
	if name == "" && len(doc.Operations) > 1 {
		return nil, errors.New("An operation name is required")
	}
	for _, op := range doc.Operations {
		if name == "" || op.Name == name {
			return op, nil
		}
	}
	return nil, fmt.Errorf("No operation named %q", name)
}

// variables judges the values of the request by the types that the document declares.
func (s *Schema) variables(op *ast.OperationDefinition, given map[string]any) (map[string]any, *Error) {
	for _, def := range op.VariableDefinitions {
		one := *op
		one.VariableDefinitions = ast.VariableDefinitionList{def}
		if _, err := validator.VariableValues(s.types, &one, given); err != nil {
			return nil, &Error{
				Message:    fmt.Sprintf("Variable $%s of type %s was provided invalid value", def.Variable, def.Type),
				Locations:  []gqlerror.Location{{Line: def.Position.Line, Column: def.Position.Column}},
				Extensions: map[string]any{"value": given[def.Variable]},
			}
		}
	}
	values, err := validator.VariableValues(s.types, op, given)
	if err != nil {
		return nil, &Error{Message: err.Error()}
	}
	return values, nil
}
