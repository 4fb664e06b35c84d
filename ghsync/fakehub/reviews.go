package fakehub

import (
	"net/http"
	"slices"
)

func (v viewer) reviewJSON(i *issue, r *review) obj {
	return obj{
		"id": r.id, "node_id": nodeID("PRR", r.id), "user": v.userJSON(r.user), "body": r.body, "state": r.state,
		"commit_id": r.commit, "submitted_at": stamp(r.at), "author_association": v.association(r.user, i.repo),
		"html_url":         i.htmlURL(v.URL()) + "#pullrequestreview-" + itoa(int(r.id)),
		"pull_request_url": v.url("repos", i.repo.fullName(), "pulls", i.number),
	}
}

// listReviews is in the order of submission.
func listReviews(c *call) reply {
	i, out := c.findPull()
	if out != nil {
		return *out
	}
	list := slices.DeleteFunc(slices.Clone(i.pull.reviews), func(v *review) bool { return !c.lists(v.at) })
	return page(c, list, func(v *review) any { return c.reviewJSON(i, v) })
}

// InlineComment is a comment of a review in the code. GitHub tells its place by the hunk.
type InlineComment struct{ Path, Hunk, Body string }

// listInline is without lines, as GitHub's list of one review is.
func listInline(c *call) reply {
	i, out := c.findPull()
	if out != nil {
		return *out
	}
	at := slices.IndexFunc(i.pull.reviews, func(v *review) bool { return v.id == c.param("id") })
	if at < 0 {
		return notFound()
	}
	v, pull := i.pull.reviews[at], c.url("repos", i.repo.fullName(), "pulls", i.number)
	n := 0
	return page(c, v.inline, func(k InlineComment) any {
		n++
		id, html := v.id*1000+int64(n), i.htmlURL(c.URL())
		self := c.url("repos", i.repo.fullName(), "pulls/comments", id)
		link := func(to string) obj { return obj{"href": to} }
		return obj{
			"id": id, "node_id": nodeID("PRRC", id), "pull_request_review_id": v.id, "user": c.userJSON(v.user), "path": k.Path, "diff_hunk": k.Hunk, "body": k.Body,
			"position": 1, "original_position": 1, "commit_id": v.commit, "original_commit_id": v.commit, "created_at": stamp(v.at), "updated_at": stamp(v.at),
			"author_association": c.association(v.user, i.repo), "url": self, "html_url": html, "pull_request_url": pull,
			"_links": obj{"self": link(self), "html": link(html), "pull_request": link(pull)},
		}
	})
}

func postReview(c *call) reply {
	i, out := c.findPull()
	if out != nil {
		return *out
	}
	var in struct{ Body, Event string }
	if out := c.decode(&in); out != nil {
		return *out
	}
	state := map[string]string{"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}[in.Event]
	switch {
	case c.actor == i.author && state != "COMMENTED":
		out := fail(http.StatusUnprocessableEntity, "Unprocessable Entity")
		out.body.(obj)["errors"] = []string{"Can not approve your own pull request"}
		return out
	case state == "":
		return invalid(fieldError{Resource: "PullRequestReview", Code: "invalid", Field: "event"})
	case in.Body == "" && state != "APPROVED":
		return missing("PullRequestReview", "body")
	}
	return ok(c.reviewJSON(i, c.addReview(i, c.actor, state, in.Body)))
}

func (h *hub) addReview(i *issue, by *user, state, body string) *review {
	v := &review{id: h.newID(), user: by, state: state, body: body, commit: i.pull.head(), at: h.now()}
	i.pull.reviews = append(i.pull.reviews, v)
	i.touch(h.now())
	h.emit(i.repo, "pull_request_review", "submitted", obj{"pull_request": obj{"number": i.number}, "sender": h.userJSON(by)})
	return v
}

func listRequested(c *call) reply {
	i, out := c.findPull()
	if out != nil {
		return *out
	}
	return ok(obj{"users": c.usersJSON(i.pull.requested), "teams": []any{}})
}

// reviewers reads the accounts of the body.
func (c *call) reviewers() (*issue, []*user, *reply) {
	i, out := c.findPull()
	if out != nil {
		return nil, nil, out
	}
	var in struct{ Reviewers []string }
	if out := c.decode(&in); out != nil {
		return nil, nil, out
	}
	var users []*user
	for _, login := range in.Reviewers {
		u := c.users[key(login)]
		if u == nil || c.repo.roles[u.id] == "" && u != c.repo.owner {
			out := fail(http.StatusUnprocessableEntity, "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the "+c.repo.fullName()+" repository.")
			return nil, nil, &out
		}
		users = append(users, u)
	}
	return i, users, nil
}

func postRequested(c *call) reply {
	i, users, out := c.reviewers()
	if out != nil {
		return *out
	}
	if slices.Contains(users, i.author) {
		return fail(http.StatusUnprocessableEntity, "Review cannot be requested from pull request author.")
	}
	for _, u := range users {
		if !i.pull.isRequested(u) {
			i.pull.requested = append(i.pull.requested, u)
			c.addEvent(i, event{kind: "review_requested", actor: c.actor})
		}
	}
	return reply{status: http.StatusCreated, body: c.pullJSON(i)}
}

func deleteRequested(c *call) reply {
	i, users, out := c.reviewers()
	if out != nil {
		return *out
	}
	i.pull.requested = slices.DeleteFunc(slices.Clone(i.pull.requested), func(u *user) bool { return slices.Contains(users, u) })
	return ok(c.pullJSON(i))
}
