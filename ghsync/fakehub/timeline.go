package fakehub

import (
	"net/url"
	"slices"
	"strconv"
	"time"
)

func itoa(n int) string             { return strconv.Itoa(n) }
func pathEscape(text string) string { return url.PathEscape(text) }

// addEvent keeps what happened to an issue.
func (h *hub) addEvent(i *issue, e event) {
	e.id, e.at = h.newID(), h.now()
	i.events = append(i.events, &e)
	i.touch(e.at)
}

func (v viewer) eventJSON(e *event) obj {
	body := obj{
		"id": e.id, "node_id": nodeID("EV", e.id), "event": e.kind, "actor": v.actorJSON(e.actor), "created_at": stamp(e.at),
		"commit_id": nil, "commit_url": nil, "performed_via_github_app": nil,
		"url": v.url("repos", v.repo.fullName(), "issues/events", e.id),
	}
	switch e.kind {
	case "labeled", "unlabeled":
		body["label"] = obj{"name": e.label.name, "color": e.label.color}
	case "renamed":
		body["rename"] = obj{"from": e.from, "to": e.to}
	}
	return body
}

// moment is an entry of a timeline: an event, or a comment.
type moment struct {
	at    time.Time
	id    int64
	event *event
	text  *comment
}

func (i *issue) timeline() []moment {
	var all []moment
	for _, e := range i.events {
		all = append(all, moment{at: e.at, id: e.id, event: e})
	}
	for _, m := range i.comments {
		all = append(all, moment{at: m.created, id: m.id, text: m})
	}
	slices.SortFunc(all, func(a, b moment) int { return int(a.id - b.id) })
	return all
}

func listTimeline(c *call) reply {
	i, out := c.findIssue()
	if out != nil {
		return *out
	}
	list := slices.DeleteFunc(i.timeline(), func(m moment) bool { return !c.lists(m.at) })
	return page(c, list, func(m moment) any {
		if m.event != nil {
			return c.eventJSON(m.event)
		}
		body := c.commentJSON(m.text).(obj)
		body["event"] = "commented"
		body["actor"] = body["user"]
		return body
	})
}

func listEvents(c *call) reply {
	i, out := c.findIssue()
	if out != nil {
		return *out
	}
	return page(c, i.events, func(e *event) any { return c.eventJSON(e) })
}
