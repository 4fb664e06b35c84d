package fakehub

import (
	"net/http"
	"slices"
	"time"
)

func (v viewer) commentJSON(m *comment) any {
	api := v.url("repos", m.issue.repo.fullName(), "issues/comments", m.id)
	body := obj{
		"id": m.id, "node_id": nodeID("IC", m.id), "body": m.body, "user": v.userJSON(m.author),
		"created_at": stamp(m.created), "updated_at": stamp(m.updated),
		"author_association": v.association(m.author, m.issue.repo),
		"issue_url":          v.url("repos", m.issue.repo.fullName(), "issues", m.issue.number),
		"html_url":           m.htmlURL(v.URL()), "url": api,
		"reactions": reactionSummary(m.reactions, api), "performed_via_github_app": nil,
	}
	if m.app != "" {
		body["performed_via_github_app"] = obj{"slug": m.app, "name": m.app}
	}
	return body
}

func (m *comment) htmlURL(server string) string {
	return m.issue.htmlURL(server) + "#issuecomment-" + itoa(int(m.id))
}

// findComment returns the comment of the route.
func (c *call) findComment() (*comment, *reply) {
	id := c.param("id")
	for _, i := range c.repo.issues {
		for _, m := range i.comments {
			if m.id == id && !i.deleted && i.movedTo == nil && !c.tooYoung(m.created) {
				return m, nil
			}
		}
	}
	out := notFound()
	return nil, &out
}

func getComment(c *call) reply {
	m, out := c.findComment()
	if out != nil {
		return *out
	}
	return ok(c.commentJSON(m))
}

func postComment(c *call) reply {
	i, out := c.findIssue()
	if out != nil {
		return *out
	}
	var in struct{ Body string }
	if out := c.decode(&in); out != nil {
		return *out
	}
	switch {
	case i.locked && !c.maySpeakLocked():
		return fail(http.StatusForbidden, "Unable to create comment because issue is locked.")
	case in.Body == "":
		return missing("IssueComment", "body")
	case tooLong(in.Body, maxText):
		return bodyTooLong("IssueComment")
	}
	m := c.addComment(i, c.actor, in.Body)
	if c.token.perms != nil && !c.token.personal {
		m.app = appSlug(c.actor.login)
	}
	return created(c.commentJSON(m).(obj))
}

// maySpeakLocked: on a locked issue only people who may write can comment, no app.
func (c *call) maySpeakLocked() bool {
	return c.token.perms == nil && c.roleOf(c.actor, c.repo).atLeast(Write)
}

func (h *hub) addComment(i *issue, by *user, body string) *comment {
	m := &comment{id: h.newID(), issue: i, author: by, body: body, created: h.now(), updated: h.now()}
	i.comments = append(i.comments, m)
	i.touch(h.now())
	h.emitComment("created", m, by)
	return m
}

// mayEdit: the author, or who may write.
func (c *call) mayEdit(author *user) *reply {
	if c.actor == author || c.roleOf(c.actor, c.repo).atLeast(Write) || (c.token.perms != nil && c.can(Write, "issues")) {
		return nil
	}
	out := fail(http.StatusForbidden, "Must have admin rights to Repository.")
	return &out
}

func patchComment(c *call) reply {
	m, out := c.findComment()
	if out != nil {
		return *out
	}
	var in struct{ Body string }
	if out := c.decode(&in); out != nil {
		return *out
	}
	if out := c.mayEdit(m.author); out != nil {
		return *out
	}
	if in.Body == "" {
		return missing("IssueComment", "body")
	}
	if tooLong(in.Body, maxText) {
		return bodyTooLong("IssueComment")
	}
	c.editComment(m, c.actor, in.Body)
	return ok(c.commentJSON(m))
}

func (h *hub) editComment(m *comment, by *user, body string) {
	if m.body == body {
		return
	}
	m.body, m.updated = body, h.now()
	m.edits = append(m.edits, edit{editor: by, at: h.now(), text: body})
	m.issue.touch(h.now())
	h.emitComment("edited", m, by)
}

func deleteComment(c *call) reply {
	m, out := c.findComment()
	if out != nil {
		return *out
	}
	if out := c.mayEdit(m.author); out != nil {
		return *out
	}
	c.dropComment(m, c.actor)
	return noContent()
}

func (h *hub) dropComment(m *comment, by *user) {
	m.issue.comments = slices.DeleteFunc(m.issue.comments, func(have *comment) bool { return have == m })
	m.issue.touch(h.now())
	h.emitComment("deleted", m, by)
}

// listComments is one issue's comments, the oldest first.
func listComments(c *call) reply {
	i, out := c.findIssue()
	if out != nil {
		return *out
	}
	return page(c, c.recent(i.comments), c.commentJSON)
}

// recent applies since (by the last change) and staleness.
func (c *call) recent(all []*comment) []*comment {
	since := parseTime(c.query.Get("since"))
	var list []*comment
	for _, m := range all {
		if c.lists(m.created) && !m.updated.Truncate(time.Second).Before(since) {
			list = append(list, m)
		}
	}
	return list
}

// listRepoComments is the comments of all issues and pull requests: by id, or by sort,
// then the newest first unless direction says asc.
func listRepoComments(c *call) reply {
	var all []*comment
	for _, i := range c.repo.issues {
		if !i.deleted && i.movedTo == nil {
			all = append(all, i.comments...)
		}
	}
	list := c.recent(all)
	by := c.query.Get("sort")
	slices.SortFunc(list, func(a, b *comment) int {
		n := 0
		if by == "updated" {
			n = a.updated.Compare(b.updated)
		}
		if n == 0 {
			n = int(a.id - b.id)
		}
		if by != "" && c.query.Get("direction") != "asc" {
			n = -n
		}
		return n
	})
	return page(c, list, c.commentJSON)
}
