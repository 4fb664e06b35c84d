package ghsynctest

import (
	"net/http"
	"slices"
)

// CheckSpec describes a check run. Conclusion "" is a run that goes on.
type CheckSpec struct {
	Name, Conclusion     string // success, failure, cancelled, timed_out...
	Title, Summary, Text string
	DetailsURL           string
	App                  string // slug, "" is github-actions
	Log                  string // of the Actions job behind it
}

// Run is a workflow run of Actions; Status is queued, in_progress or completed.
type Run struct {
	ID         int64
	Attempt    int
	Status     string
	Conclusion string
}

func (c *call) checkJSON(k *checkRun) any {
	state := "completed"
	if k.spec.Conclusion == "" {
		state = "in_progress"
	}
	app := k.spec.App
	if app == "" {
		app = "github-actions"
	}
	return obj{
		"id": k.id, "node_id": nodeID("CR", k.id), "name": k.spec.Name, "head_sha": k.sha, "status": state,
		"conclusion": orNull(k.spec.Conclusion), "started_at": stamp(k.started), "completed_at": stamp(k.completed),
		"details_url": orNull(k.spec.DetailsURL), "external_id": "", "app": obj{"slug": app, "name": app},
		"output": obj{
			"title": orNull(k.spec.Title), "summary": orNull(k.spec.Summary), "text": orNull(k.spec.Text), "annotations_count": 0,
		},
		"url":      c.url("repos", c.repo.fullName(), "check-runs", k.id),
		"html_url": c.URL() + "/" + c.repo.fullName() + "/runs/" + itoa(int(k.id)), "pull_requests": []any{},
	}
}

// listChecks answers the newest run of each name, or all with filter=all.
func listChecks(c *call) reply {
	sha := c.resolve(c.repo, c.params["sha"])
	if sha == "" {
		return fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.params["sha"])
	}
	list := slices.Clone(c.repo.checks[sha])
	slices.Reverse(list)
	if c.query.Get("filter") != "all" {
		list = newestChecks(list)
	}
	if name := c.query.Get("check_name"); name != "" {
		list = slices.DeleteFunc(list, func(k *checkRun) bool { return k.spec.Name != name })
	}
	out := page(c, list, c.checkJSON)
	out.body = obj{"total_count": len(list), "check_runs": out.body}
	return out
}

// newestChecks keeps the first of each name.
func newestChecks(list []*checkRun) []*checkRun {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(k *checkRun) bool {
		again := seen[k.spec.Name]
		seen[k.spec.Name] = true
		return again
	})
}

func (r *repo) check(id int64) *checkRun {
	for _, list := range r.checks {
		for _, k := range list {
			if k.id == id {
				return k
			}
		}
	}
	return nil
}

func getCheck(c *call) reply {
	k := c.repo.check(c.param("id"))
	if k == nil {
		return notFound()
	}
	return ok(c.checkJSON(k))
}

func getRun(c *call) reply {
	run := c.repo.runs[c.param("id")]
	if run == nil {
		return notFound()
	}
	return ok(obj{
		"id": run.ID, "run_attempt": run.Attempt, "status": run.Status, "conclusion": orNull(run.Conclusion),
		"url":      c.url("repos", c.repo.fullName(), "actions/runs", run.ID),
		"html_url": c.URL() + "/" + c.repo.fullName() + "/actions/runs/" + itoa(int(run.ID)),
	})
}

func getWorkflowPermission(c *call) reply {
	return ok(obj{"default_workflow_permissions": "read", "can_approve_pull_request_reviews": c.repo.actionsMayPR})
}
