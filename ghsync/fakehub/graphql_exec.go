package fakehub

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// object is a value with fields. A field is a value or a func(args) any; values are
// scalars, object, []any of object, nil or error. When a schema offers the object as an
// interface or union (face), only that type's own fields may be asked without a fragment.
type object struct {
	typ, face string
	fields    map[string]any
}

type args map[string]any

// faceFields are the fields of interfaces and unions.
var faceFields = map[string][]string{
	"Actor":                    {"login", "url"},
	"Node":                     {"id"},
	"IssueTimelineItems":       {},
	"PullRequestTimelineItems": {},
	"IssueOrPullRequest":       {},
	"StatusCheckRollupContext": {},
	"RequirableByPullRequest":  {"isRequired"},
	"Comment":                  {"id", "author", "authorAssociation", "body", "createdAt", "updatedAt", "lastEditedAt", "editor"},
	"Closable":                 {"closedAt"},
	"Lockable":                 {"locked", "activeLockReason"},
	"RepositoryOwner":          {"id", "login", "url"},
	"UniformResourceLocatable": {"url"},
	"RepositoryNode":           {"repository"},
	"Labelable":                {"labels"},
}

// implements names the interfaces and unions a type belongs to.
func implements(typ string) []string {
	switch typ {
	case "User", "Bot", "Mannequin", "Organization", "EnterpriseUserAccount":
		return []string{"Actor", "Node", "RepositoryOwner", "UniformResourceLocatable"}
	case "Issue", "PullRequest":
		return []string{"Node", "Comment", "Closable", "Lockable", "IssueOrPullRequest", "UniformResourceLocatable", "RepositoryNode", "Labelable"}
	case "IssueComment":
		return []string{"Node", "Comment", "IssueTimelineItems", "PullRequestTimelineItems", "RepositoryNode"}
	case "CheckRun", "StatusContext":
		return []string{"Node", "StatusCheckRollupContext", "RequirableByPullRequest"}
	}
	if strings.HasSuffix(typ, "Event") {
		return []string{"Node", "IssueTimelineItems", "PullRequestTimelineItems"}
	}
	return []string{"Node"}
}

// gqlFault is an error with GitHub's type, such as NOT_FOUND.
type gqlFault struct{ kind, message string }

func (e *gqlFault) Error() string { return e.message }

// execution is the run of one operation.
type execution struct {
	doc       *gqlDocument
	variables map[string]any
	errs      []any
	invalid   bool // the query itself is wrong: no data at all
}

func postGraphQL(c *call) reply {
	c.write = ""
	if c.opt.NoGraphQL {
		return notFound()
	}
	if c.actor == nil {
		return fail(http.StatusUnauthorized, "This endpoint requires you to be authenticated.")
	}
	var in struct {
		Query         string
		Variables     map[string]any
		OperationName string
	}
	if out := c.decode(&in); out != nil {
		return *out
	}
	doc, err := parseQuery(in.Query)
	if err != nil {
		return ok(obj{"errors": []any{obj{"message": err.Error()}}})
	}
	op, err := doc.choose(in.OperationName)
	if err != nil {
		return ok(obj{"errors": []any{obj{"message": err.Error()}}})
	}
	x := &execution{doc: doc, variables: in.Variables}
	x.declare(op)
	if x.invalid {
		return ok(obj{"errors": x.errs})
	}
	root := c.queryRoot()
	if op.kind == "mutation" {
		root = c.mutationRoot()
	}
	data := x.object(root, root.typ, op.selections, nil)
	body := obj{"data": data}
	if x.invalid {
		delete(body, "data")
	}
	if len(x.errs) > 0 {
		body["errors"] = x.errs
		c.write = ""
	}
	return ok(body)
}

func (d *gqlDocument) choose(name string) (*operation, error) {
	for _, op := range d.operations {
		if name == "" || op.name == name {
			if name == "" && len(d.operations) > 1 {
				return nil, errors.New("An operation name is required")
			}
			return op, nil
		}
	}
	return nil, fmt.Errorf("No operation named %q", name)
}

// declare judges the variables: each one declared is used, each one needed is given.
func (x *execution) declare(op *operation) {
	declared := map[string]bool{}
	if x.variables == nil {
		x.variables = map[string]any{}
	}
	for _, def := range op.variables {
		declared[def.name] = true
		if !x.doc.used[def.name] {
			x.reject(fmt.Sprintf("Variable $%s is declared by %s but not used", def.name, op.name), "variableNotUsed")
		}
		if x.variables[def.name] == nil {
			x.variables[def.name] = def.fallback
		}
		if x.variables[def.name] == nil && def.required {
			x.reject(fmt.Sprintf("Variable $%s was provided invalid value", def.name), "")
		}
	}
	for name := range x.doc.fragments {
		if !x.doc.spreads[name] {
			x.reject(fmt.Sprintf("Fragment %s was defined, but not used", name), "useAndDefineFragment")
		}
	}
	for name := range x.doc.used {
		if !declared[name] {
			x.reject(fmt.Sprintf("Variable $%s is used by %s but not declared", name, op.name), "variableNotDefined")
		}
	}
}

// reject notes that the query is wrong.
func (x *execution) reject(message, code string) {
	x.invalid = true
	e := obj{"message": message}
	if code != "" {
		e["extensions"] = obj{"code": code}
	}
	x.errs = append(x.errs, e)
}

// object answers a selection; static is the type the query sees the object as.
func (x *execution) object(o object, static string, selections []*selection, path []any) obj {
	out := obj{}
	for _, sel := range selections {
		if x.resolve(sel.skip) == true || (sel.include != nil && x.resolve(sel.include) == false) {
			continue
		}
		if sel.fragment {
			maps.Copy(out, x.fragment(o, static, sel, path))
			continue
		}
		out[sel.alias] = x.field(o, static, sel, append(slices.Clone(path), sel.alias))
	}
	return out
}

func (x *execution) fragment(o object, static string, sel *selection, path []any) obj {
	if sel.spread != "" {
		named := x.doc.fragments[sel.spread]
		if named == nil {
			x.reject(fmt.Sprintf("Fragment %s was used, but not defined", sel.spread), "useAndDefineFragment")
			return nil
		}
		sel = named
	}
	if sel.on == "" {
		return x.object(o, static, sel.selections, path)
	}
	if sel.on == o.typ || slices.Contains(implements(o.typ), sel.on) {
		return x.object(o, sel.on, sel.selections, path)
	}
	return nil
}

func (x *execution) field(o object, static string, sel *selection, path []any) any {
	if sel.name == "__typename" {
		return o.typ
	}
	value, known := o.fields[sel.name]
	if allowed, isFace := faceFields[static]; isFace && !slices.Contains(allowed, sel.name) {
		known = false
	}
	if !known {
		x.reject(fmt.Sprintf("Field '%s' doesn't exist on type '%s'", sel.name, static), "undefinedField")
		return nil
	}
	compute, isFunc := value.(func(args) any)
	for name := range sel.args {
		if !isFunc || !slices.Contains(accepted(sel.name), name) {
			x.reject(fmt.Sprintf("Field '%s' doesn't accept argument '%s'", sel.name, name), "argumentNotAccepted")
			return nil
		}
	}
	if isFunc {
		value = compute(x.args(sel.args))
	}
	return x.value(value, sel, path)
}

// accepted are the arguments of a field that takes some.
func accepted(field string) []string {
	pages := []string{"first", "last", "after", "before"}
	switch field {
	case "repository":
		return []string{"owner", "name", "followRenames"}
	case "issue", "pullRequest", "issueOrPullRequest":
		return []string{"number"}
	case "node":
		return []string{"id"}
	case "rateLimit":
		return []string{"dryRun"}
	case "isRequired":
		return []string{"pullRequestId", "pullRequestNumber"}
	case "markPullRequestReadyForReview":
		return []string{"input"}
	case "timelineItems":
		return append(pages, "itemTypes", "since", "skip")
	case "labels", "comments":
		return append(pages, "orderBy")
	}
	return pages
}

// value answers what a field holds.
func (x *execution) value(value any, sel *selection, path []any) any {
	switch value := value.(type) {
	case error:
		e := obj{"message": value.Error(), "path": path}
		var fault *gqlFault
		if errors.As(value, &fault) {
			e["type"] = fault.kind
		}
		x.errs = append(x.errs, e)
		return nil
	case object:
		if !sel.has {
			x.reject(fmt.Sprintf("Field must have selections (field '%s' returns %s but has no selections)", sel.name, value.typ), "selectionMismatch")
			return nil
		}
		static := value.typ
		if value.face != "" {
			static = value.face
		}
		return x.object(value, static, sel.selections, path)
	case []any:
		list := []any{}
		for i, item := range value {
			list = append(list, x.value(item, sel, append(slices.Clone(path), i)))
		}
		return list
	case nil:
		return nil
	}
	if sel.has {
		x.reject(fmt.Sprintf("Selections can't be made on scalars (field '%s')", sel.name), "selectionMismatch")
	}
	return value
}

// args puts the values of variables into arguments.
func (x *execution) args(raw map[string]any) args {
	out := args{}
	for name, value := range raw {
		if resolved := x.resolve(value); resolved != nil {
			out[name] = resolved
		}
	}
	return out
}

func (x *execution) resolve(value any) any {
	switch value := value.(type) {
	case variable:
		return x.variables[string(value)]
	case []any:
		list := []any{}
		for _, item := range value {
			list = append(list, x.resolve(item))
		}
		return list
	case map[string]any:
		return map[string]any(x.args(value))
	}
	return value
}

// text, number and list read arguments; what is missing is zero.
func (a args) text(name string) string {
	text, _ := a[name].(string)
	return text
}

func (a args) number(name string) int {
	n, _ := a[name].(float64)
	return int(n)
}

func (a args) list(name string) []string {
	var texts []string
	switch value := a[name].(type) {
	case []any:
		for _, item := range value {
			texts = append(texts, fmt.Sprint(item))
		}
	case string:
		texts = append(texts, value) // one value stands for a list of one
	}
	return texts
}
