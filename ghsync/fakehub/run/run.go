// Package run is the runs of workflows that a repository of the fake has, and how the server shows them.
package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Run is a run of a workflow.
type Run struct {
	ID         int64
	Attempt    int
	Status     string
	Conclusion string
}

// Dispatch is a workflow that was started by hand.
type Dispatch struct {
	Workflow, Ref string
	Inputs        map[string]string
}

// Runs are those of a repository, by id.
type Runs map[int64]*Run

// In returns the runs of a status, the newest first; "" is any.
func (r Runs) In(status string) []*Run {
	all := slices.SortedFunc(maps.Values(r), func(a, b *Run) int { return cmp.Compare(b.ID, a.ID) })
	return slices.DeleteFunc(all, func(r *Run) bool { return status != "" && r.Status != status })
}

// JSON shows a run. api and page are the addresses of the repository.
func (r *Run) JSON(api, page string) map[string]any {
	var conclusion any
	if r.Conclusion != "" {
		conclusion = r.Conclusion
	}
	return map[string]any{
		"id": r.ID, "run_attempt": r.Attempt, "status": r.Status, "conclusion": conclusion,
		"url": fmt.Sprintf("%s/actions/runs/%d", api, r.ID), "html_url": fmt.Sprintf("%s/actions/runs/%d", page, r.ID),
	}
}
