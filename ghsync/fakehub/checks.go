package fakehub

import (
	"net/http"
	"slices"

	"github.com/agentmux/agentmux/ghsync/fakehub/run"
)

// CheckSpec describes a check run. Conclusion "" is a run that is not completed.
type CheckSpec struct {
	Name, Conclusion     string // success, failure, cancelled, timed_out...
	Title, Summary, Text string
	DetailsURL           string
	App                  string // slug, "" is github-actions
	Log                  string // of the Actions job behind it
	Annotations          []Annotation
}

// Annotation is a failure that a check run points to.
type Annotation struct {
	Path    string
	Line    int
	Message string
}

// Dispatch is a workflow that was started by hand.
type Dispatch = run.Dispatch

// Run is a workflow run of Actions; Status is queued, in_progress or completed.
type Run = run.Run

func (v viewer) checkJSON(k *checkRun) any {
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
			"title": orNull(k.spec.Title), "summary": orNull(k.spec.Summary), "text": orNull(k.spec.Text), "annotations_count": len(k.spec.Annotations),
		},
		"url":      v.url("repos", v.repo.fullName(), "check-runs", k.id),
		"html_url": v.URL() + "/" + v.repo.fullName() + "/runs/" + itoa(int(k.id)), "pull_requests": []any{},
	}
}

// listChecks answers the newest run of each name, or all with filter=all.
func listChecks(c *call) reply {
	sha := c.repo.resolve(c.params["sha"])
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
		known := seen[k.spec.Name]
		seen[k.spec.Name] = true
		return known
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

func listAnnotations(c *call) reply {
	k := c.repo.check(c.param("id"))
	if k == nil {
		return notFound()
	}
	return page(c, k.spec.Annotations, func(a Annotation) any {
		return obj{
			"path": a.Path, "start_line": a.Line, "end_line": a.Line, "start_column": nil, "end_column": nil, "annotation_level": "failure",
			"title": nil, "message": a.Message, "raw_details": nil, "blob_href": c.URL() + "/" + c.repo.fullName() + "/blob/" + k.sha + "/" + a.Path,
		}
	})
}

func getRun(c *call) reply {
	if run := c.repo.runs[c.param("id")]; run != nil {
		return ok(c.runJSON(run))
	}
	return notFound()
}

func listRuns(c *call) reply {
	all := c.repo.runs.In(c.query.Get("status"))
	out := page(c, all, c.runJSON)
	out.body = obj{"total_count": len(all), "workflow_runs": out.body}
	return out
}

func (c *call) runJSON(run *Run) any {
	return run.JSON(c.url("repos", c.repo.fullName()), c.URL()+"/"+c.repo.fullName())
}

// postDispatch starts a workflow by hand; Repo.Dispatches lists what was started.
func postDispatch(c *call) reply {
	var in struct {
		Ref    string
		Inputs map[string]string
	}
	if out := c.decode(&in); out != nil {
		return *out
	}
	if c.repo.refs["refs/heads/"+in.Ref] == "" && c.repo.refs["refs/tags/"+in.Ref] == "" {
		return fail(http.StatusUnprocessableEntity, "No ref found for: "+in.Ref)
	}
	c.repo.dispatches = append(c.repo.dispatches, Dispatch{Workflow: c.params["workflow"], Ref: in.Ref, Inputs: in.Inputs})
	return noContent()
}

// getJobLogs sends the client to another host, where the log needs no token.
func getJobLogs(c *call) reply {
	k := c.repo.check(c.param("id"))
	if k == nil || k.spec.Log == "" {
		return notFound()
	}
	return reply{status: http.StatusFound}.with("Location", c.OtherURL()+"/logs/"+itoa(int(c.repo.id))+"/"+itoa(int(k.id)))
}

// getLog is the other host.
func getLog(c *call) reply {
	r := c.repos[c.param("rid")]
	if r == nil || r.check(c.param("id")) == nil {
		return notFound()
	}
	if c.request.Header.Get("Authorization") != "" {
		c.server.leaks = append(c.server.leaks, "a token arrived at another host")
	}
	return reply{status: http.StatusOK, raw: []byte(r.check(c.param("id")).spec.Log), rawType: "text/plain; charset=utf-8"}
}

func getWorkflowPermission(c *call) reply {
	return ok(obj{"default_workflow_permissions": "read", "can_approve_pull_request_reviews": c.repo.actionsMayPR})
}
