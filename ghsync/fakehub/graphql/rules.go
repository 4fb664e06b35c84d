package graphql

import (
	"cmp"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// githubRules are the rules of the GraphQL specification. Those that clients meet say it in
// the words of GitHub's server, whose library is graphql-ruby.
func githubRules() *rules.Rules {
	all := rules.NewDefaultRules()
	for name, rule := range map[string]validator.RuleFunc{
		"FieldsOnCorrectType":       fieldsAreDefined,
		"KnownArgumentNames":        argumentsAreDefined,
		"ProvidedRequiredArguments": argumentsAreGiven,
		"ScalarLeafs":               selectionsFit,
		"NoUnusedVariables":         variablesAreUsed,
		"NoUndefinedVariables":      variablesAreDeclared,
		"NoUnusedFragments":         fragmentsAreUsed,
		"KnownFragmentNames":        fragmentsAreDefined,
	} {
		all.ReplaceRule(name, rule)
	}
	return all
}

// coded adds GitHub's code of an error, and pairs of a key and a name that belong to it.
func coded(code string, pairs ...string) validator.ErrorOption {
	return func(err *gqlerror.Error) {
		err.Extensions = map[string]any{"code": code}
		for i := 0; i < len(pairs); i += 2 {
			err.Extensions[pairs[i]] = pairs[i+1]
		}
	}
}

func at(position *ast.Position) validator.ErrorOption {
	return func(err *gqlerror.Error) {
		err.Locations = append(err.Locations, gqlerror.Location{Line: position.Line, Column: position.Column})
	}
}

func fieldsAreDefined(observers *validator.Events, addError validator.AddErrFunc) {
	observers.OnField(func(_ *validator.Walker, f *ast.Field) {
		if f.ObjectDefinition == nil || f.ObjectDefinition.IsLeafType() || f.Definition != nil {
			return // what is below a scalar is selectionsFit's
		}
		typ := f.ObjectDefinition.Name
		addError(validator.Message("Field '%s' doesn't exist on type '%s'", f.Name, typ),
			coded("undefinedField", "typeName", typ, "fieldName", f.Name), at(f.Position))
	})
}

func argumentsAreDefined(observers *validator.Events, addError validator.AddErrFunc) {
	refuse := func(kind, name string, known ast.ArgumentDefinitionList, given ast.ArgumentList) {
		for _, arg := range given {
			if known.ForName(arg.Name) == nil {
				addError(validator.Message("%s '%s' doesn't accept argument '%s'", kind, name, arg.Name),
					coded("argumentNotAccepted", "name", name, "typeName", kind, "argumentName", arg.Name), at(arg.Position))
			}
		}
	}
	observers.OnField(func(_ *validator.Walker, f *ast.Field) {
		if f.Definition != nil && f.ObjectDefinition != nil {
			refuse("Field", f.Name, f.Definition.Arguments, f.Arguments)
		}
	})
	observers.OnDirective(func(_ *validator.Walker, d *ast.Directive) {
		if d.Definition != nil {
			refuse("Directive", d.Name, d.Definition.Arguments, d.Arguments)
		}
	})
}

func argumentsAreGiven(observers *validator.Events, addError validator.AddErrFunc) {
	refuse := func(kind, name string, known ast.ArgumentDefinitionList, given ast.ArgumentList, position *ast.Position) {
		for _, def := range known {
			if def.Type.NonNull && def.DefaultValue == nil && given.ForName(def.Name) == nil {
				addError(validator.Message("%s '%s' is missing required arguments: %s", kind, name, def.Name),
					coded("missingRequiredArguments", "className", kind, "name", name, "arguments", def.Name), at(position))
			}
		}
	}
	observers.OnField(func(_ *validator.Walker, f *ast.Field) {
		if f.Definition != nil {
			refuse("Field", f.Name, f.Definition.Arguments, f.Arguments, f.Position)
		}
	})
	observers.OnDirective(func(_ *validator.Walker, d *ast.Directive) {
		if d.Definition != nil {
			refuse("Directive", d.Name, d.Definition.Arguments, d.Arguments, d.Position)
		}
	})
}

func selectionsFit(observers *validator.Events, addError validator.AddErrFunc) {
	observers.OnField(func(walker *validator.Walker, f *ast.Field) {
		if f.Definition == nil {
			return
		}
		typ := walker.Schema.Types[f.Definition.Type.Name()]
		message := "Field must have selections (field '%s' returns %s but has no selections)"
		switch {
		case typ == nil || typ.IsLeafType() == (len(f.SelectionSet) == 0):
			return
		case typ.IsLeafType():
			message = "Selections can't be made on scalars (field '%s' returns %s but has selections)"
		}
		addError(validator.Message(message, f.Name, typ.Name),
			coded("selectionMismatch", "nodeName", "field '"+f.Name+"'", "typeName", typ.Name), at(f.Position))
	})
}

// called is the name of an operation in a message.
func called(op *ast.OperationDefinition) string {
	return cmp.Or(op.Name, "anonymous "+string(op.Operation))
}

func variablesAreUsed(observers *validator.Events, addError validator.AddErrFunc) {
	observers.OnOperation(func(_ *validator.Walker, op *ast.OperationDefinition) {
		for _, def := range op.VariableDefinitions {
			if !def.Used {
				addError(validator.Message("Variable $%s is declared by %s but not used", def.Variable, called(op)),
					coded("variableNotUsed", "variableName", def.Variable), at(def.Position))
			}
		}
	})
}

func variablesAreDeclared(observers *validator.Events, addError validator.AddErrFunc) {
	observers.OnValue(func(walker *validator.Walker, value *ast.Value) {
		op := walker.CurrentOperation
		if op != nil && value.Kind == ast.Variable && value.VariableDefinition == nil {
			addError(validator.Message("Variable $%s is used by %s but not declared", value.Raw, called(op)),
				coded("variableNotDefined", "variableName", value.Raw), at(value.Position))
		}
	})
}

func fragmentsAreUsed(observers *validator.Events, addError validator.AddErrFunc) {
	used, defining := map[string]bool{}, false
	observers.OnFragmentSpread(func(_ *validator.Walker, spread *ast.FragmentSpread) {
		if !defining {
			used[spread.Name] = true
		}
	})
	observers.OnFragment(func(_ *validator.Walker, fragment *ast.FragmentDefinition) {
		defining = true // operations are walked first, with the fragments they spread
		if !used[fragment.Name] {
			addError(validator.Message("Fragment %s was defined, but not used", fragment.Name),
				coded("useAndDefineFragment", "fragmentName", fragment.Name), at(fragment.Position))
		}
	})
}

func fragmentsAreDefined(observers *validator.Events, addError validator.AddErrFunc) {
	observers.OnFragmentSpread(func(_ *validator.Walker, spread *ast.FragmentSpread) {
		if spread.Definition == nil {
			addError(validator.Message("Fragment %s was used, but not defined", spread.Name),
				coded("useAndDefineFragment", "fragmentName", spread.Name), at(spread.Position))
		}
	})
}
