package fakehub

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// queryRoot is the type Query.
func (c *call) queryRoot() object {
	return object{typ: "Query", fields: map[string]any{
		"viewer": func(args) any { return c.viewerObject() },
		"repository": func(a args) any {
			r := c.names[key(a.text("owner")+"/"+a.text("name"))]
			if r == nil || !c.sees(r) {
				return &gqlFault{"NOT_FOUND", fmt.Sprintf("Could not resolve to a Repository with the name '%s/%s'.", a.text("owner"), a.text("name"))}
			}
			return c.repoObject(r)
		},
		"node":      func(a args) any { return c.nodeObject(a.text("id")) },
		"rateLimit": func(args) any { return c.rateObject() },
	}}
}

// viewerObject: here a bot's login keeps its [bot], unlike in an Actor.
func (c *call) viewerObject() object {
	o := c.actorObject(c.actor, "").(object)
	o.typ = "User"
	o.fields["login"], o.fields["name"] = c.actor.login, orNull(c.actor.name)
	return o
}

func (c *call) rateObject() object {
	b := c.bucket("graphql")
	return object{typ: "RateLimit", fields: map[string]any{
		"limit": b.max, "used": b.used, "remaining": b.max - b.used, "resetAt": stamp(b.reset), "cost": 1, "nodeCount": 1,
	}}
}

// actorObject is null for a deleted account.
func (c *call) actorObject(u *user, face string) any {
	if u == nil || u.deleted {
		return nil
	}
	fields := map[string]any{
		"id": nodeID("U", u.id), "databaseId": u.id, "login": strings.TrimSuffix(u.login, "[bot]"),
		"url": c.URL() + "/" + strings.TrimSuffix(u.login, "[bot]"),
	}
	if u.kind == "User" {
		fields["name"] = orNull(u.name)
	}
	return object{typ: u.kind, face: face, fields: fields}
}

func (c *call) repoObject(r *repo) object {
	visibility := "PUBLIC"
	if r.private {
		visibility = "PRIVATE"
	}
	fields := map[string]any{
		"id": nodeID("R", r.id), "databaseId": r.id, "name": r.name, "nameWithOwner": r.fullName(), "url": c.URL() + "/" + r.fullName(),
		"owner": c.actorObject(r.owner, "RepositoryOwner"), "isPrivate": r.private, "isFork": r.parent != nil,
		"isArchived": r.archived, "isDisabled": r.disabled, "isLocked": false, "visibility": visibility,
		"hasIssuesEnabled": !r.noIssues, "viewerPermission": c.viewerPermission(r), "parent": nil, "defaultBranchRef": nil,
	}
	if r.parent != nil {
		fields["parent"] = func(args) any { return c.repoObject(r.parent) }
	}
	if sha := r.refs["refs/heads/"+r.defaultBranch]; sha != "" {
		fields["defaultBranchRef"] = object{typ: "Ref", fields: map[string]any{
			"name": r.defaultBranch, "prefix": "refs/heads/",
			"target": object{typ: "Commit", face: "GitObject", fields: map[string]any{"oid": sha, "id": nodeID("C", r.id)}},
		}}
	}
	byNumber := func(kind string, fits func(*issue) bool) func(args) any {
		return func(a args) any {
			i := r.issues[a.number("number")]
			if i == nil || i.deleted || i.movedTo != nil || !fits(i) || c.tooYoung(i.created) {
				return &gqlFault{"NOT_FOUND", fmt.Sprintf("Could not resolve to %s with the number of %d.", kind, a.number("number"))}
			}
			return c.issueObject(i, "")
		}
	}
	fields["issue"] = byNumber("an Issue", func(i *issue) bool { return i.pull == nil })
	fields["pullRequest"] = byNumber("a PullRequest", func(i *issue) bool { return i.pull != nil })
	either := byNumber("an issue or pull request", func(*issue) bool { return true })
	fields["issueOrPullRequest"] = func(a args) any {
		value := either(a)
		if o, isObject := value.(object); isObject {
			o.face = "IssueOrPullRequest"
			return o
		}
		return value
	}
	return object{typ: "Repository", fields: fields}
}

func (c *call) viewerPermission(r *repo) any {
	role := c.roleOf(c.actor, r)
	if c.token.perms != nil && !c.token.personal {
		return nil // an App's
	}
	if role == None && !r.private {
		return "READ"
	}
	if role == None {
		return nil
	}
	return strings.ToUpper(string(role.base()))
}

// issueObject is an Issue or a PullRequest.
func (c *call) issueObject(i *issue, face string) object {
	fields := map[string]any{
		"id": nodeID(i.kind(), i.id), "databaseId": i.id, "fullDatabaseId": strconv.FormatInt(i.id, 10), "number": i.number,
		"title": i.title, "body": i.body, "state": strings.ToUpper(i.state), "locked": i.locked, "activeLockReason": nil,
		"url": i.htmlURL(c.URL()), "createdAt": stamp(i.created), "updatedAt": stamp(i.updated), "closedAt": stamp(i.closed),
		"lastEditedAt": lastEdit(i.edits), "editor": c.editorObject(i.edits), "author": c.actorObject(i.author, "Actor"),
		"authorAssociation": c.association(i.author, i.repo), "repository": func(args) any { return c.repoObject(i.repo) },
		"labels":           c.labelConnection(i),
		"comments":         c.commentConnection(i),
		"timelineItems":    c.timelineConnection(i),
		"userContentEdits": c.editConnection(i.edits, edit{editor: i.author, at: i.created}),
	}
	typ := "Issue"
	if i.pull == nil {
		fields["stateReason"] = orNull(strings.ToUpper(i.reason))
	} else {
		typ = "PullRequest"
		c.pullFields(i, fields)
	}
	return object{typ: typ, face: face, fields: fields}
}

func lastEdit(edits []edit) any {
	if len(edits) == 0 {
		return nil
	}
	return stamp(edits[len(edits)-1].at)
}

func (c *call) editorObject(edits []edit) any {
	if len(edits) == 0 {
		return nil
	}
	return c.actorObject(edits[len(edits)-1].editor, "Actor")
}

func (c *call) labelConnection(i *issue) func(args) any {
	at := func(n int) int64 { return int64(n + 1) }
	return connect("Label", i.labels, at, func(l *label) any {
		return object{typ: "Label", fields: map[string]any{
			"id": nodeID("LA", l.id), "name": l.name, "color": l.color, "description": orNull(l.description),
		}}
	})
}

func (c *call) commentConnection(i *issue) func(args) any {
	var list []*comment
	for _, m := range i.comments {
		if c.lists(m.created) {
			list = append(list, m)
		}
	}
	return connect("IssueComment", list, func(n int) int64 { return list[n].id }, func(m *comment) any { return c.commentObject(m, "") })
}

func (c *call) commentObject(m *comment, face string) object {
	reason := any(nil)
	if m.minimized {
		reason = "off-topic"
	}
	return object{typ: "IssueComment", face: face, fields: map[string]any{
		"id": nodeID("IC", m.id), "databaseId": m.id, "fullDatabaseId": strconv.FormatInt(m.id, 10), "body": m.body,
		"url": m.htmlURL(c.URL()), "author": c.actorObject(m.author, "Actor"), "authorAssociation": c.association(m.author, m.issue.repo),
		"createdAt": stamp(m.created), "updatedAt": stamp(m.updated), "lastEditedAt": lastEdit(m.edits), "editor": c.editorObject(m.edits),
		"isMinimized": m.minimized, "minimizedReason": reason,
		"issue":            func(args) any { return c.issueObject(m.issue, "") },
		"repository":       func(args) any { return c.repoObject(m.issue.repo) },
		"userContentEdits": c.editConnection(m.edits, edit{editor: m.author, at: m.created}),
	}}
}

// editConnection is the newest first; the oldest entry is the writing itself.
func (c *call) editConnection(edits []edit, first edit) func(args) any {
	if len(edits) == 0 {
		return connect("UserContentEdit", []edit(nil), nil, nil)
	}
	list := []edit{}
	for n := len(edits) - 1; n >= 0; n-- {
		list = append(list, edits[n])
	}
	list = append(list, first)
	return connect("UserContentEdit", list, func(n int) int64 { return int64(n + 1) }, func(e edit) any {
		return object{typ: "UserContentEdit", fields: map[string]any{
			"id": nodeID("UCE", e.at.UnixNano()), "createdAt": stamp(e.at), "editedAt": stamp(e.at), "updatedAt": stamp(e.at),
			"deletedAt": nil, "diff": orNull(e.text), "editor": c.actorObject(e.editor, "Actor"),
		}}
	})
}

// eventTypes maps our kinds to the types of timeline items.
var eventTypes = map[string]string{
	"labeled": "LabeledEvent", "unlabeled": "UnlabeledEvent", "renamed": "RenamedTitleEvent", "closed": "ClosedEvent",
	"reopened": "ReopenedEvent", "locked": "LockedEvent", "unlocked": "UnlockedEvent", "merged": "MergedEvent",
	"review_requested": "ReviewRequestedEvent", "ready_for_review": "ReadyForReviewEvent",
}

// enumOf is the name of a type in itemTypes: LabeledEvent is LABELED_EVENT.
func enumOf(typ string) string {
	var b strings.Builder
	for n, letter := range typ {
		if n > 0 && letter >= 'A' && letter <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(letter)
	}
	return strings.ToUpper(b.String())
}

func (m moment) typ() string {
	if m.event == nil {
		return "IssueComment"
	}
	return eventTypes[m.event.kind]
}

func (c *call) timelineConnection(i *issue) func(args) any {
	return func(a args) any {
		wanted := map[string]bool{}
		for _, name := range a.list("itemTypes") {
			wanted[name] = true
		}
		since := parseTime(a.text("since"))
		var list []moment
		for _, m := range i.timeline() {
			if (len(wanted) == 0 || wanted[enumOf(m.typ())]) && !m.at.Truncate(time.Second).Before(since) && c.lists(m.at) {
				list = append(list, m)
			}
		}
		face := "IssueTimelineItems"
		if i.pull != nil {
			face = "PullRequestTimelineItems"
		}
		show := func(m moment) any { return c.momentObject(m, face) }
		return connect(face, list, func(n int) int64 { return list[n].id }, show)(a)
	}
}

func (c *call) momentObject(m moment, face string) object {
	if m.event == nil {
		return c.commentObject(m.text, face)
	}
	e := m.event
	fields := map[string]any{"id": nodeID("EV", e.id), "createdAt": stamp(e.at), "actor": c.actorObject(e.actor, "Actor")}
	switch e.kind {
	case "labeled", "unlabeled":
		fields["label"] = object{typ: "Label", fields: map[string]any{"id": nodeID("LA", e.label.id), "name": e.label.name, "color": e.label.color}}
	case "renamed":
		fields["previousTitle"], fields["currentTitle"] = e.from, e.to
	}
	return object{typ: m.typ(), face: face, fields: fields}
}
