package fakehub

import (
	"net/http"
	"slices"
)

var statusStates = []string{"error", "failure", "pending", "success"}

func (v viewer) statusJSON(sha string, t *status) obj {
	return obj{
		"id": t.id, "node_id": nodeID("SC", t.id), "state": t.state, "context": t.context, "description": orNull(t.desc),
		"target_url": orNull(t.target), "creator": v.userJSON(t.creator), "created_at": stamp(t.at), "updated_at": stamp(t.at),
		"url": v.url("repos", v.repo.fullName(), "statuses", sha),
	}
}

func postStatus(c *call) reply {
	var in struct {
		State, Context, Description string
		TargetURL                   string `json:"target_url"`
	}
	if out := c.decode(&in); out != nil {
		return *out
	}
	sha := c.params["sha"]
	if len(sha) != 40 || c.repo.resolve(sha) == "" {
		return fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+sha)
	}
	if in.Context == "" {
		in.Context = "default"
	}
	switch {
	case !slices.Contains(statusStates, in.State):
		return invalid(fieldError{Resource: "Status", Code: "invalid", Field: "state"})
	case tooLong(in.Description, 140):
		return invalid(fieldError{Resource: "Status", Code: "custom", Field: "description", Message: "description is too long (maximum is 140 characters)"})
	}
	t := &status{
		id: c.newID(), context: in.Context, state: in.State, desc: in.Description, target: in.TargetURL, creator: c.actor, at: c.at,
	}
	c.repo.statuses[sha] = append(c.repo.statuses[sha], t)
	return created(c.statusJSON(sha, t))
}

// listStatuses is every status of a commit, the newest first.
func listStatuses(c *call) reply {
	sha := c.repo.resolve(c.params["sha"])
	list := slices.Clone(c.repo.statuses[sha])
	slices.Reverse(list)
	return page(c, list, func(t *status) any { return c.statusJSON(sha, t) })
}

// latest is the last status of each context, by context.
func (r *repo) latest(sha string) []*status {
	last := map[string]*status{}
	for _, t := range r.statuses[sha] {
		last[t.context] = t
	}
	return slices.DeleteFunc(slices.Clone(r.statuses[sha]), func(t *status) bool { return last[t.context] != t })
}

func combine(states []string) string {
	switch {
	case slices.Contains(states, "failure") || slices.Contains(states, "error"):
		return "failure"
	case len(states) == 0 || slices.Contains(states, "pending"):
		return "pending"
	}
	return "success"
}

func combinedStatus(c *call) reply {
	sha := c.repo.resolve(c.params["sha"])
	if sha == "" {
		return notFound()
	}
	var states []string
	shown := []any{}
	for _, t := range c.repo.latest(sha) {
		states = append(states, t.state)
		shown = append(shown, c.statusJSON(sha, t))
	}
	return ok(obj{
		"state": combine(states), "statuses": shown, "sha": sha, "total_count": len(shown),
		"repository": c.repoJSON(c.repo), "url": c.url("repos", c.repo.fullName(), "commits", sha, "status"),
	})
}
