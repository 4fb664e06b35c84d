package hostile

import (
	"encoding/json"
	"fmt"
	"slices"
)

// people are the fields that hold an account, which is null once it is deleted.
var people = []string{"user", "author", "actor", "editor", "creator", "assignee", "closed_by", "performed_via_github_app"}

const (
	manyLabels = 200
	manyItems  = 150
)

// bender changes the values of a document of one kind.
type bender struct {
	kind Kind
	own  string
}

// value returns v, which is the value of a field, changed.
func (b bender) value(field string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if b.kind == NoUsers && slices.Contains(people, field) && v["login"] != b.own {
			return nil
		}
		for name, inner := range v {
			v[name] = b.value(name, inner)
		}
		return v
	case []any:
		for i, inner := range v {
			v[i] = b.value("", inner)
		}
		return b.list(field, v)
	case json.Number:
		return b.number(field, v)
	}
	return v
}

// number returns an id that is too large.
func (b bender) number(field string, n json.Number) any {
	if !slices.Contains([]string{"id", "databaseId"}, field) {
		return n
	}
	switch b.kind {
	case Huge:
		return json.Number("99999999999999999999999999")
	case Largest:
		return json.Number("9223372036854775807")
	}
	return n
}

// list adds to a list what it did not have.
func (b bender) list(field string, all []any) []any {
	switch {
	case b.kind == Many && field == "labels", b.kind == Many && field == "nodes" && named(all):
		for n := range manyLabels {
			all = append(all, map[string]any{"name": fmt.Sprintf("label %03d <b> `x` of a long name, as people have", n)})
		}
	case b.kind == Many && field == "" && len(all) > 0:
		for n := 0; len(all) < manyItems; n++ {
			all = append(all, all[n])
		}
	case b.kind == NewEvents && timeline(all):
		for _, kind := range []any{"quantum_leap", nil, "labeled", "unlabeled", "renamed"} {
			all = append(all, map[string]any{"event": kind, "actor": nil, "label": nil, "rename": nil, "created_at": nil})
		}
	case b.kind == NewEvents && field == "nodes":
		all = append(all, map[string]any{"__typename": "QuantumEvent"}, map[string]any{"__typename": "LabeledEvent", "actor": nil, "label": nil})
	}
	return all
}

// named reports whether the nodes of a connection are labels: each has a name and nothing else.
func named(all []any) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(v any) bool {
		m, ok := v.(map[string]any)
		return !ok || len(m) != 1 || m["name"] == nil
	})
}

// timeline reports whether a list is one of events.
func timeline(all []any) bool {
	return slices.ContainsFunc(all, func(v any) bool {
		m, ok := v.(map[string]any)
		return ok && m["event"] != nil
	})
}
