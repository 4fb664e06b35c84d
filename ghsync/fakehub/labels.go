package fakehub

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
)

var colour = regexp.MustCompile(`^[0-9a-fA-F]{6}$`)

func (v viewer) labelJSON(l *label) any {
	return obj{
		"id": l.id, "node_id": nodeID("LA", l.id), "name": l.name, "color": l.color, "default": false,
		"description": orNull(l.description), "url": v.url("repos", v.repo.fullName(), "labels", pathEscape(l.name)),
	}
}

func (v viewer) labelsJSON(i *issue) []any {
	list := []any{}
	inner := viewer{hub: v.hub, repo: i.repo}
	for _, l := range i.labels {
		list = append(list, inner.labelJSON(l))
	}
	return list
}

func listLabels(c *call) reply {
	var list []*label
	for _, l := range c.repo.labels {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *label) int { return int(a.id - b.id) })
	return page(c, list, c.labelJSON)
}

func (c *call) checkLabel(name, color string) *reply {
	var out reply
	switch {
	case name == "":
		out = missing("Label", "name")
	case tooLong(name, maxLabelName):
		out = invalid(fieldError{Resource: "Label", Code: "custom", Field: "name", Message: "name is too long (maximum is 50 characters)"})
	case color != "" && !colour.MatchString(color):
		out = invalid(fieldError{Resource: "Label", Code: "invalid", Field: "color"})
	default:
		return nil
	}
	return &out
}

func postLabel(c *call) reply {
	var in struct{ Name, Color, Description string }
	if out := c.decode(&in); out != nil {
		return *out
	}
	if out := c.checkLabel(in.Name, in.Color); out != nil {
		return *out
	}
	if tooLong(in.Description, 100) {
		return invalid(fieldError{Resource: "Label", Code: "custom", Field: "description", Message: "description is too long (maximum is 100 characters)"})
	}
	if c.repo.labels[key(in.Name)] != nil {
		return invalid(fieldError{Resource: "Label", Code: "already_exists", Field: "name"})
	}
	l := c.makeLabel(c.repo, in.Name)
	l.description = in.Description
	if in.Color != "" {
		l.color = in.Color
	}
	return created(c.labelJSON(l).(obj))
}

// makeLabel returns the repository's label of that name, made when missing.
func (h *hub) makeLabel(r *repo, name string) *label {
	l := r.labels[key(name)]
	if l == nil {
		l = &label{id: h.newID(), name: name, color: "ededed"}
		r.labels[key(name)] = l
	}
	return l
}

func getLabel(c *call) reply {
	l := c.repo.labels[key(c.params["name"])]
	if l == nil {
		return notFound()
	}
	return ok(c.labelJSON(l))
}

func patchLabel(c *call) reply {
	var in struct {
		NewName     string  `json:"new_name"`
		Color       string  `json:"color"`
		Description *string `json:"description"`
	}
	if out := c.decode(&in); out != nil {
		return *out
	}
	l := c.repo.labels[key(c.params["name"])]
	if l == nil {
		return notFound()
	}
	if in.NewName == "" {
		in.NewName = l.name
	}
	if out := c.checkLabel(in.NewName, in.Color); out != nil {
		return *out
	}
	delete(c.repo.labels, key(l.name))
	l.name = in.NewName
	c.repo.labels[key(l.name)] = l
	if in.Color != "" {
		l.color = in.Color
	}
	if in.Description != nil {
		l.description = *in.Description
	}
	return ok(c.labelJSON(l))
}

func deleteLabel(c *call) reply {
	l := c.repo.labels[key(c.params["name"])]
	if l == nil {
		return notFound()
	}
	delete(c.repo.labels, key(l.name))
	for _, i := range c.repo.issues {
		i.labels = slices.DeleteFunc(i.labels, func(have *label) bool { return have == l })
	}
	return noContent()
}

func listIssueLabels(c *call) reply {
	i, out := c.findIssue()
	if out != nil {
		return *out
	}
	return page(c, i.labels, c.labelJSON)
}

// readNames reads {"labels": [...]} or a bare list.
func (c *call) readNames() ([]string, *reply) {
	var in struct{ Labels []string }
	if json.Unmarshal(c.body, &in.Labels) == nil {
		return in.Labels, nil
	}
	out := c.decode(&in)
	return in.Labels, out
}

func addIssueLabels(c *call) reply {
	i, out := c.findIssue()
	if out != nil {
		return *out
	}
	names, out := c.readNames()
	if out != nil {
		return *out
	}
	if len(names) == 0 {
		return missing("Label", "name")
	}
	for _, name := range names {
		if out := c.checkLabel(name, ""); out != nil {
			return *out
		}
	}
	for _, name := range names {
		if out := c.addLabel(i, name); out != nil {
			return *out
		}
	}
	return ok(c.labelsJSON(i))
}

// addLabel puts a label on. One that does not exist yet is created if the actor may write.
func (c *call) addLabel(i *issue, name string) *reply {
	if out := c.checkLabel(name, ""); out != nil {
		return out
	}
	if c.repo.labels[key(name)] == nil && !c.can(Write, "issues") {
		out := notFound()
		return &out
	}
	c.putLabel(i, c.actor, name)
	return nil
}

func (h *hub) putLabel(i *issue, by *user, name string) {
	if i.hasLabel(name) {
		return
	}
	l := h.makeLabel(i.repo, name)
	i.labels = append(i.labels, l)
	h.addEvent(i, event{kind: "labeled", actor: by, label: *l})
	h.emitIssue("labeled", i, by, l)
}

// takeLabel reports whether the label was there.
func (h *hub) takeLabel(i *issue, by *user, name string) bool {
	at := slices.IndexFunc(i.labels, func(l *label) bool { return key(l.name) == key(name) })
	if at < 0 {
		return false
	}
	l := i.labels[at]
	i.labels = slices.Delete(slices.Clone(i.labels), at, at+1)
	h.addEvent(i, event{kind: "unlabeled", actor: by, label: *l})
	h.emitIssue("unlabeled", i, by, l)
	return true
}

func removeIssueLabel(c *call) reply {
	i, out := c.findIssue()
	if out != nil {
		return *out
	}
	if !c.takeLabel(i, c.actor, c.params["name"]) {
		return fail(http.StatusNotFound, "Label does not exist")
	}
	return ok(c.labelsJSON(i))
}

func setIssueLabels(c *call) reply {
	i, out := c.findIssue()
	if out != nil {
		return *out
	}
	names, out := c.readNames()
	if out != nil {
		return *out
	}
	if out := c.replaceLabels(i, names); out != nil {
		return *out
	}
	return ok(c.labelsJSON(i))
}

func (c *call) replaceLabels(i *issue, names []string) *reply {
	if !c.can(Triage, "issues") {
		return nil // GitHub drops the labels silently
	}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[key(name)] = true
	}
	for _, l := range slices.Clone(i.labels) {
		if !wanted[key(l.name)] {
			c.takeLabel(i, c.actor, l.name)
		}
	}
	for _, name := range names {
		if out := c.addLabel(i, name); out != nil {
			return out
		}
	}
	return nil
}

func clearIssueLabels(c *call) reply {
	i, out := c.findIssue()
	if out != nil {
		return *out
	}
	for _, l := range slices.Clone(i.labels) {
		c.takeLabel(i, c.actor, l.name)
	}
	return noContent()
}
