package fakehub

import (
	"net/http"
	"slices"

	"github.com/agentmux/agentmux/ghsync/fakehub/graphql"
)

var contents = []string{"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"}

func reactionSummary(list []*reaction, api string) obj {
	summary := obj{"url": api + "/reactions", "total_count": len(list)}
	for _, content := range contents {
		n := 0
		for _, r := range list {
			if r.content == content {
				n++
			}
		}
		summary[content] = n
	}
	return summary
}

func (v viewer) reactionJSON(r *reaction) any {
	return obj{
		"id": r.id, "node_id": nodeID("REA", r.id), "user": v.userJSON(r.user), "content": r.content, "created_at": stamp(r.at),
	}
}

// reacted is where the reactions of the route's comment or issue are kept.
func (c *call) reacted() (*[]*reaction, *issue, *reply) {
	if c.params["number"] != "" {
		i, out := c.findIssue()
		if out != nil {
			return nil, nil, out
		}
		return &i.reactions, i, nil
	}
	m, out := c.findComment()
	if out != nil {
		return nil, nil, out
	}
	return &m.reactions, m.issue, nil
}

func listReactions(c *call) reply {
	list, _, out := c.reacted()
	if out != nil {
		return *out
	}
	shown := slices.Clone(*list)
	if content := c.query.Get("content"); content != "" {
		shown = slices.DeleteFunc(shown, func(r *reaction) bool { return r.content != content })
	}
	return page(c, shown, c.reactionJSON)
}

// postReaction answers 200 when the account has reacted so before.
func postReaction(c *call) reply {
	list, i, out := c.reacted()
	if out != nil {
		return *out
	}
	var in struct{ Content string }
	if out := c.decode(&in); out != nil {
		return *out
	}
	if !slices.Contains(contents, in.Content) {
		return invalid(fieldError{Resource: "Reaction", Code: "invalid", Field: "content"})
	}
	if i.locked && !c.maySpeakLocked() {
		return fail(http.StatusForbidden, "Unable to create reaction because issue is locked.")
	}
	return react(c, list, in.Content)
}

// react adds a reaction of the account unless it is there.
func react(c *call, list *[]*reaction, content string) reply {
	for _, r := range *list {
		if r.user == c.actor && r.content == content {
			return ok(c.reactionJSON(r))
		}
	}
	r := &reaction{id: c.newID(), user: c.actor, content: content, at: c.at}
	*list = append(*list, r)
	return reply{status: http.StatusCreated, body: c.reactionJSON(r)}
}

type graphReacted struct {
	ClientMutationID any `graphql:"clientMutationId"`
}

func (graphReacted) TypeName() string { return "AddReactionPayload" }

// addReaction knows the subjects that have no other way: reviews.
func (g graph) addReaction(in graphql.Args) any {
	kind, id := parseNodeID(in.Text("subjectId"))
	content := map[string]string{"EYES": "eyes", "THUMBS_UP": "+1", "THUMBS_DOWN": "-1"}[in.Text("content")]
	for _, r := range g.repos {
		for _, i := range r.issues {
			if i.pull == nil || kind != "PRR" || content == "" || !g.sees(r) {
				continue
			}
			for _, v := range i.pull.reviews {
				if v.id == id {
					react(g.call, &v.reactions, content)
					return graphReacted{ClientMutationID: orNull(in.Text("clientMutationId"))}
				}
			}
		}
	}
	return noNode(in.Text("subjectId"))
}

func deleteReaction(c *call) reply {
	list, _, out := c.reacted()
	if out != nil {
		return *out
	}
	id := c.param("rid")
	at := slices.IndexFunc(*list, func(r *reaction) bool { return r.id == id && (r.user == c.actor || c.can(Write, "issues")) })
	if at < 0 {
		return notFound()
	}
	*list = slices.Delete(slices.Clone(*list), at, at+1)
	return noContent()
}
