package fakehub

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// connection is a list whose ids ascend; they are the cursors.
type connection[T any] struct {
	typ  string
	list []T
	id   func(int) int64
	show func(T) any
}

// connect makes the field of a connection.
func connect[T any](typ string, list []T, id func(int) int64, show func(T) any) func(args) any {
	c := connection[T]{typ, list, id, show}
	return func(a args) any {
		if fault := c.refuses(a); fault != nil {
			return fault
		}
		from, to := 0, len(list)
		for from < to && a["after"] != nil && id(from) <= cursorID(a.text("after")) {
			from++
		}
		for to > from && a["before"] != nil && id(to-1) >= cursorID(a.text("before")) {
			to--
		}
		if a["first"] != nil {
			to = min(to, from+a.number("first"))
		}
		if a["last"] != nil {
			from = max(from, to-a.number("last"))
		}
		return c.page(from, to)
	}
}

// refuses judges the arguments.
func (c connection[T]) refuses(a args) error {
	asked := max(a.number("first"), a.number("last"))
	switch {
	case a["first"] == nil && a["last"] == nil:
		return &gqlFault{"MISSING_PAGINATION_BOUNDARIES", fmt.Sprintf("You must provide a `first` or `last` value to properly paginate the `%s` connection.", c.typ)}
	case asked > most(c.typ):
		return &gqlFault{"EXCESSIVE_PAGINATION", fmt.Sprintf("Requesting %d records on the `%s` connection exceeds the `first` limit of %d records.", asked, c.typ, most(c.typ))}
	}
	for _, name := range []string{"after", "before"} {
		if a[name] != nil && cursorID(a.text(name)) == 0 {
			return &gqlFault{"INVALID_CURSOR_ARGUMENTS", fmt.Sprintf("`%s` does not appear to be a valid cursor.", a.text(name))}
		}
	}
	return nil
}

// most is how many items one page may hold; timelines allow more.
func most(typ string) int {
	if strings.HasSuffix(typ, "TimelineItems") {
		return 250
	}
	return 100
}

// page is the part of the list between two positions.
func (c connection[T]) page(from, to int) object {
	nodes, edges := []any{}, []any{}
	for n := from; n < to; n++ {
		node := c.show(c.list[n])
		nodes = append(nodes, node)
		edges = append(edges, object{typ: c.typ + "Edge", fields: map[string]any{"node": node, "cursor": cursor(c.id(n))}})
	}
	info := map[string]any{"hasNextPage": to < len(c.list), "hasPreviousPage": from > 0, "startCursor": nil, "endCursor": nil}
	if from < to {
		info["startCursor"], info["endCursor"] = cursor(c.id(from)), cursor(c.id(to-1))
	}
	return object{typ: c.typ + "Connection", fields: map[string]any{
		"nodes": nodes, "edges": edges, "totalCount": len(c.list), "filteredCount": len(c.list), "pageCount": len(nodes),
		"pageInfo": object{typ: "PageInfo", fields: info},
	}}
}

func cursor(id int64) string {
	return base64.StdEncoding.EncodeToString([]byte("cursor:" + strconv.FormatInt(id, 10)))
}

func cursorID(text string) int64 {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return 0
	}
	id, _ := strconv.ParseInt(strings.TrimPrefix(string(data), "cursor:"), 10, 64) // no number is 0, which is no cursor
	return id
}

// pullFields are what a pull request has besides the fields of an issue.
func (c *call) pullFields(i *issue, fields map[string]any) {
	p := i.pull
	if p.merged {
		fields["state"] = "MERGED"
	}
	fields["isDraft"], fields["merged"], fields["mergedAt"] = p.draft, p.merged, stamp(p.mergedAt)
	fields["headRefName"], fields["headRefOid"] = p.headBranch, p.head()
	fields["baseRefName"], fields["baseRefOid"] = p.base, i.repo.refs["refs/heads/"+p.base]
	fields["mergeable"] = "MERGEABLE"
	fields["headRepository"] = func(args) any { return c.repoObject(p.headRepo) }
	fields["statusCheckRollup"] = func(args) any { return c.rollup(i.repo, p.head()) }
	commit := object{typ: "PullRequestCommit", fields: map[string]any{
		"id": nodeID("PRC", i.id), "commit": c.commitObject(i.repo, p.head()),
	}}
	fields["commits"] = connect("PullRequestCommit", []object{commit}, func(int) int64 { return 1 }, func(o object) any { return o })
}

func (c *call) commitObject(r *repo, sha string) object {
	return object{typ: "Commit", fields: map[string]any{
		"id": nodeID("C", r.id), "oid": sha, "statusCheckRollup": func(args) any { return c.rollup(r, sha) },
	}}
}

// rollup is null when the commit has neither checks nor statuses.
func (c *call) rollup(r *repo, sha string) any {
	runs := slices.Clone(r.checks[sha])
	slices.Reverse(runs)
	runs = newestChecks(runs)
	statuses := r.latest(sha)
	if len(runs) == 0 && len(statuses) == 0 {
		return nil
	}
	var list []object
	var states []string
	for _, k := range runs {
		list = append(list, c.checkObject(r, k))
		states = append(states, k.state())
	}
	for _, t := range statuses {
		list = append(list, c.statusObject(r, t))
		states = append(states, t.state)
	}
	return object{typ: "StatusCheckRollup", fields: map[string]any{
		"id": nodeID("SCR", r.id), "state": strings.ToUpper(combine(states)),
		"commit":   func(args) any { return c.commitObject(r, sha) },
		"contexts": connect("StatusCheckRollupContext", list, func(n int) int64 { return int64(n + 1) }, func(o object) any { return o }),
	}}
}

// state is the check run's conclusion in the words of statuses.
func (k *checkRun) state() string {
	switch k.spec.Conclusion {
	case "":
		return "pending"
	case "success", "neutral", "skipped":
		return "success"
	}
	return "failure"
}

func (c *call) checkObject(r *repo, k *checkRun) object {
	state := "COMPLETED"
	if k.spec.Conclusion == "" {
		state = "IN_PROGRESS"
	}
	return object{typ: "CheckRun", face: "StatusCheckRollupContext", fields: map[string]any{
		"id": nodeID("CR", k.id), "databaseId": k.id, "name": k.spec.Name, "status": state,
		"conclusion": orNull(strings.ToUpper(k.spec.Conclusion)), "detailsUrl": orNull(k.spec.DetailsURL),
		"startedAt": stamp(k.started), "completedAt": stamp(k.completed), "title": orNull(k.spec.Title),
		"summary": orNull(k.spec.Summary), "text": orNull(k.spec.Text), "isRequired": isRequired(r, k.spec.Name),
	}}
}

func (c *call) statusObject(r *repo, t *status) object {
	return object{typ: "StatusContext", face: "StatusCheckRollupContext", fields: map[string]any{
		"id": nodeID("SC", t.id), "context": t.context, "state": strings.ToUpper(t.state), "description": orNull(t.desc),
		"targetUrl": orNull(t.target), "createdAt": stamp(t.at), "creator": c.actorObject(t.creator, "Actor"),
		"isRequired": isRequired(r, t.context),
	}}
}

// isRequired needs the pull request it is asked for.
func isRequired(r *repo, name string) func(args) any {
	return func(a args) any {
		if a["pullRequestNumber"] == nil && a["pullRequestId"] == nil {
			return &gqlFault{"UNPROCESSABLE", "Either a pull request ID or number must be provided."}
		}
		return r.required[name]
	}
}

// nodeObject finds what a global id names.
func (c *call) nodeObject(text string) any {
	kind, id := parseNodeID(text)
	for _, r := range c.repos {
		if !c.sees(r) {
			continue
		}
		if kind == "R" && r.id == id {
			o := c.repoObject(r)
			o.face = "Node"
			return o
		}
		if i := r.byID(kind, id); i != nil {
			return c.issueObject(i, "Node")
		}
	}
	return &gqlFault{"NOT_FOUND", fmt.Sprintf("Could not resolve to a node with the global id of '%s'.", text)}
}

func (r *repo) byID(kind string, id int64) *issue {
	for _, i := range r.issues {
		if i.id == id && i.kind() == kind && !i.deleted {
			return i
		}
	}
	return nil
}

// mutationRoot is the type Mutation; a change that happens is logged by its name.
func (c *call) mutationRoot() object {
	return object{typ: "Mutation", fields: map[string]any{
		"markPullRequestReadyForReview": func(a args) any {
			c.write = "mutation markPullRequestReadyForReview"
			input, _ := a["input"].(map[string]any)
			return c.readyPayload(args(input))
		},
	}}
}

func (c *call) readyPayload(in args) any {
	kind, id := parseNodeID(in.text("pullRequestId"))
	for _, r := range c.repos {
		i := r.byID(kind, id)
		if i == nil || i.pull == nil || !c.sees(r) {
			continue
		}
		c.repo = r
		if c.actor != i.author && !c.can(Write, "pull_requests") {
			return &gqlFault{"FORBIDDEN", fmt.Sprintf("%s does not have the correct permissions to execute `MarkPullRequestReadyForReview`", c.actor.login)}
		}
		if i.state != "open" {
			return &gqlFault{"UNPROCESSABLE", "Pull request is closed."}
		}
		c.markReady(i, c.actor)
		return object{typ: "MarkPullRequestReadyForReviewPayload", fields: map[string]any{
			"clientMutationId": orNull(in.text("clientMutationId")), "pullRequest": c.issueObject(i, ""),
		}}
	}
	return &gqlFault{"NOT_FOUND", fmt.Sprintf("Could not resolve to a node with the global id of '%s'.", in.text("pullRequestId"))}
}
