package fakehub

import (
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// Limits of GitHub, in characters.
const (
	maxText      = 65536
	maxLabelName = 50
	maxTitle     = 256
)

func tooLong(text string, limit int) bool { return len(utf16.Encode([]rune(text))) > limit }

// findIssue returns the issue of the route, or the answer in its place: 404, 410 or 301.
func (c *call) findIssue() (*issue, *reply) {
	i := c.repo.issues[int(c.param("number"))]
	var out reply
	switch {
	case i == nil || c.tooYoung(i.created):
		out = notFound()
	case i.movedTo != nil:
		target := c.url("repositories", i.movedTo.repo.id, "issues", i.movedTo.number)
		if segments := split(c.request.URL.EscapedPath()); len(segments) > 5 {
			target += "/" + strings.Join(segments[5:], "/")
		}
		out = fail(http.StatusMovedPermanently, "Moved Permanently").with("Location", target)
		out.body.(obj)["url"] = target
	case i.deleted:
		out = fail(http.StatusGone, "This issue was deleted")
	case c.repo.noIssues && i.pull == nil:
		out = fail(http.StatusGone, "Issues are disabled for this repo")
	default:
		return i, nil
	}
	return nil, &out
}

// tooYoung reports whether a fault hides what was made then.
func (c *call) tooYoung(made time.Time) bool {
	return c.hidden > 0 && c.at.Sub(made) < c.hidden
}

// lists reports whether a list shows what was made then; a stale list does not.
func (c *call) lists(made time.Time) bool {
	return c.stale == 0 || c.at.Sub(made) >= c.stale
}

func (v viewer) issueJSON(i *issue) any {
	api := v.url("repos", i.repo.fullName(), "issues", i.number)
	body := obj{
		"id": i.id, "node_id": nodeID(i.kind(), i.id), "number": i.number, "title": i.title, "body": orNull(i.body),
		"user": v.userJSON(i.author), "state": i.state, "state_reason": orNull(i.reason), "locked": i.locked,
		"labels": v.labelsJSON(i), "assignee": nil, "assignees": []any{}, "milestone": nil, "comments": len(i.comments),
		"created_at": stamp(i.created), "updated_at": stamp(i.updated), "closed_at": stamp(i.closed),
		"author_association": v.association(i.author, i.repo), "active_lock_reason": nil, "reactions": reactionSummary(i.reactions, api),
		"url": api, "repository_url": v.url("repos", i.repo.fullName()), "labels_url": api + "/labels{/name}",
		"comments_url": api + "/comments", "events_url": api + "/events", "timeline_url": api + "/timeline",
		"html_url": i.htmlURL(v.URL()), "performed_via_github_app": nil,
	}
	if i.pull != nil {
		html := i.htmlURL(v.URL())
		body["draft"] = i.pull.draft
		body["pull_request"] = obj{
			"url": v.url("repos", i.repo.fullName(), "pulls", i.number), "html_url": html,
			"diff_url": html + ".diff", "patch_url": html + ".patch", "merged_at": stamp(i.pull.mergedAt),
		}
	}
	return body
}

func (i *issue) kind() string {
	if i.pull != nil {
		return "PR"
	}
	return "I"
}

func (i *issue) htmlURL(server string) string {
	part := "/issues/"
	if i.pull != nil {
		part = "/pull/"
	}
	return server + "/" + i.repo.fullName() + part + itoa(i.number)
}

// newIssue adds an issue, or the issue side of a pull request.
func (h *hub) newIssue(r *repo, author *user, title, body string) *issue {
	r.nextNumber++
	i := &issue{
		id: h.newID(), number: r.nextNumber, repo: r, title: title, body: body, author: author,
		state: "open", created: h.now(), updated: h.now(),
	}
	r.issues[i.number] = i
	return i
}

func getIssue(c *call) reply {
	i, out := c.findIssue()
	if out != nil {
		return *out
	}
	return ok(c.issueJSON(i))
}

func postIssue(c *call) reply {
	var in struct {
		Title, Body string
		Labels      []string
	}
	if out := c.decode(&in); out != nil {
		return *out
	}
	switch {
	case c.repo.noIssues:
		return fail(http.StatusGone, "Issues are disabled for this repo")
	case in.Title == "":
		return missing("Issue", "title")
	case tooLong(in.Body, maxText):
		return bodyTooLong("Issue")
	}
	i := c.newIssue(c.repo, c.actor, in.Title, in.Body)
	c.emitIssue("opened", i, c.actor, nil)
	if c.can(Triage, "issues") {
		for _, name := range in.Labels {
			if out := c.addLabel(i, name); out != nil {
				return *out
			}
		}
	}
	return created(c.issueJSON(i).(obj))
}

func bodyTooLong(resource string) reply {
	return invalid(fieldError{
		Resource: resource, Code: "unprocessable", Field: "data", Message: "Body is too long (maximum is 65536 characters)",
	})
}

func listIssues(c *call) reply {
	if c.repo.noIssues {
		return fail(http.StatusGone, "Issues are disabled for this repo")
	}
	list := c.selectIssues(c.repo)
	return page(c, list, c.issueJSON)
}

// selectIssues applies the filters and the order of a list of issues.
func (c *call) selectIssues(r *repo) []*issue {
	state := c.query.Get("state")
	since := parseTime(c.query.Get("since"))
	var list []*issue
	for _, i := range r.issues {
		wrongState := state != "all" && i.state != state && (state != "" || i.state != "open")
		if wrongState || i.deleted || i.movedTo != nil || !c.lists(i.created) || i.updated.Truncate(time.Second).Before(since) {
			continue
		}
		if creator := c.query.Get("creator"); creator != "" && key(creator) != key(i.author.login) {
			continue
		}
		if i.hasLabels(c.query.Get("labels")) {
			list = append(list, i)
		}
	}
	c.order(list)
	return list
}

func (i *issue) hasLabels(names string) bool {
	for name := range strings.SplitSeq(names, ",") {
		if name != "" && !i.hasLabel(name) {
			return false
		}
	}
	return true
}

// order sorts by created, updated or comments; the newest first unless told otherwise.
func (c *call) order(list []*issue) {
	field := func(i *issue) time.Time { return i.created }
	switch c.query.Get("sort") {
	case "updated":
		field = func(i *issue) time.Time { return i.updated }
	case "comments":
		field = func(i *issue) time.Time { return time.Unix(int64(len(i.comments)), 0) }
	}
	slices.SortFunc(list, func(a, b *issue) int {
		n := field(a).Compare(field(b))
		if n == 0 {
			n = a.number - b.number
		}
		if c.query.Get("direction") != "asc" {
			n = -n
		}
		return n
	})
}

func patchIssue(c *call) reply {
	i, out := c.findIssue()
	if out != nil {
		return *out
	}
	var in struct {
		Title, Body, State *string
		StateReason        string    `json:"state_reason"`
		Labels             *[]string `json:"labels"`
	}
	if out := c.decode(&in); out != nil {
		return *out
	}
	if c.actor != i.author && !c.can(Triage, "issues") {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	if in.Body != nil && tooLong(*in.Body, maxText) {
		return bodyTooLong("Issue")
	}
	if in.Title != nil && *in.Title == "" {
		return missing("Issue", "title")
	}
	if (in.Title != nil || in.Body != nil) && c.actor != i.author && !c.can(Write, "issues") {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	c.edit(i, c.actor, in.Title, in.Body)
	if in.State != nil {
		if *in.State != "open" && *in.State != "closed" {
			return invalid(fieldError{Resource: "Issue", Code: "invalid", Field: "state"})
		}
		c.setState(i, c.actor, *in.State, in.StateReason)
	}
	if in.Labels != nil {
		if out := c.replaceLabels(i, *in.Labels); out != nil {
			return *out
		}
	}
	return ok(c.issueJSON(i))
}

// edit changes title and body and keeps who did it.
func (h *hub) edit(i *issue, by *user, title, body *string) {
	if title != nil && *title != i.title {
		h.addEvent(i, event{kind: "renamed", actor: by, from: i.title, to: *title})
		i.title = *title
		h.emitIssue("edited", i, by, nil)
	}
	if body != nil && *body != i.body {
		i.body = *body
		i.edits = append(i.edits, edit{editor: by, at: h.now(), text: *body})
		i.touch(h.now())
		h.emitIssue("edited", i, by, nil)
	}
}

// setState opens or closes.
func (h *hub) setState(i *issue, by *user, state, reason string) {
	if i.state == state || (i.pull != nil && i.pull.merged) {
		return
	}
	i.state, i.reason = state, reason
	kind := "reopened"
	i.closed = time.Time{}
	if state == "closed" {
		kind = "closed"
		i.closed = h.now()
		if reason == "" && i.pull == nil {
			i.reason = "completed"
		}
	} else if i.pull == nil {
		i.reason = "reopened"
	}
	h.addEvent(i, event{kind: kind, actor: by})
	h.emitIssue(kind, i, by, nil)
}

func lockIssue(c *call) reply   { return c.setLock(true) }
func unlockIssue(c *call) reply { return c.setLock(false) }

func (c *call) setLock(locked bool) reply {
	i, out := c.findIssue()
	if out != nil {
		return *out
	}
	i.locked = locked
	c.addEvent(i, event{kind: map[bool]string{true: "locked", false: "unlocked"}[locked], actor: c.actor})
	return noContent()
}
