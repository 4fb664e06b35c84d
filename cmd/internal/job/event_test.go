package job_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/ghsync"
)

// What GitHub sends beside a request asks for nothing, whatever people have written into it, and a number is digits.
func TestAnEventAsksForOneIssueOrNothing(t *testing.T) {
	const (
		nothing = iota // exit 0
		work
		bad
	)
	type object = map[string]any
	issue := object{"number": 7, "title": "${{ github.token }}\n::set-env name=PATH::/x", "body": "/agentmux retry"}
	label := object{"name": "agentmux"}
	said := object{"body": "/agentmux retry"}
	for name, c := range map[string]struct {
		event, asked string
		payload      object
		want         int
	}{
		"labeled":                       {"issues", "7", object{"action": "labeled", "issue": issue, "label": label}, work},
		"a label taken off":             {"issues", "7", object{"action": "unlabeled", "issue": issue, "label": label}, nothing},
		"an issue that is edited":       {"issues", "7", object{"action": "edited", "issue": issue, "label": label}, nothing},
		"an issue that goes":            {"issues", "7", object{"action": "transferred", "issue": issue, "label": label}, nothing},
		"an issue that is deleted":      {"issues", "7", object{"action": "deleted", "issue": issue, "label": label}, nothing},
		"a label of the program":        {"issues", "7", object{"action": "labeled", "issue": issue, "label": object{"name": "agentmux:running"}}, nothing},
		"another issue than the step's": {"issues", "8", object{"action": "labeled", "issue": issue, "label": label}, bad},
		"a command":                     {"issue_comment", "7", object{"action": "created", "issue": issue, "comment": said}, work},
		"a command that is edited":      {"issue_comment", "7", object{"action": "edited", "issue": issue, "comment": said}, nothing},
		"a command that is deleted":     {"issue_comment", "7", object{"action": "deleted", "issue": issue, "comment": said}, nothing},
		"a quoted command":              {"issue_comment", "7", object{"action": "created", "issue": issue, "comment": object{"body": "> /agentmux retry"}}, nothing},
		"a review":                      {"pull_request_review", "", object{"action": "submitted", "review": said}, nothing},
		"a fork's pull request":         {"pull_request_target", "", object{"action": "labeled", "number": 7, "label": label}, nothing},
		"by hand":                       {"workflow_dispatch", "7", object{"inputs": object{"issue": "7"}}, work},
		"by hand, without a number":     {"workflow_dispatch", "", object{"inputs": nil}, bad},
		"by hand, a line more":          {"workflow_dispatch", "", object{"inputs": object{"issue": "7\n8"}}, bad},
		"by hand, an expression":        {"workflow_dispatch", "", object{"inputs": object{"issue": "${{ 7 }}"}}, bad},
		"by hand, less than one":        {"workflow_dispatch", "", object{"inputs": object{"issue": "-7"}}, bad},
		"by hand, too large":            {"workflow_dispatch", "", object{"inputs": object{"issue": "99999999999"}}, bad},
		"by a program":                  {"repository_dispatch", "", object{"client_payload": object{"issue": 7}}, work},
		"by a program, a part":          {"repository_dispatch", "", object{"client_payload": object{"issue": 7.5}}, bad},
		"by a program, a list":          {"repository_dispatch", "", object{"client_payload": object{"issue": []int{7}}}, bad},
	} {
		t.Run(name, func(t *testing.T) {
			c.payload["repository"] = object{"full_name": "Octo/Widgets"}
			data, err := json.Marshal(c.payload)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "event.json")
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			env := map[string]string{"GITHUB_EVENT_NAME": c.event, "GITHUB_EVENT_PATH": file, "GITHUB_REPOSITORY": "octo/widgets", "GITHUB_SERVER_URL": "https://github.com"}
			got, err := job.ReadEvent(func(name string) string { return env[name] }, "agentmux", c.asked)
			is := work
			switch {
			case err != nil:
				is = bad
			case got.Idle != "":
				is = nothing
			}
			if is != c.want || is == work && (got.Issue != 7 || got.Repo != ghsync.Repo{Owner: "octo", Name: "widgets"} || got.Sweep) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// A job waits until its label is five seconds old, by the time of the event, and no longer than that whatever the event says.
func TestAJobWaitsForTheLabelsToSettle(t *testing.T) {
	for name, c := range map[string]struct {
		updated any // seconds from now, or what the event says
		want    time.Duration
	}{
		"just set":                {-1, 4 * time.Second},
		"set before":              {-5, 0},
		"set long ago":            {-3600, 0},
		"by a clock that is late": {3600, 5 * time.Second},
		"without a time":          {nil, 0},
		"not a time":              {"yesterday", 0},
		"not a text":              {[]int{7}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				if ago, ok := c.updated.(int); ok {
					c.updated = began.Add(time.Duration(ago) * time.Second).Format(time.RFC3339)
				}
				data, err := json.Marshal(map[string]any{
					"action": "labeled", "repository": map[string]any{"full_name": "octo/widgets"}, "label": map[string]any{"name": "agentmux"},
					"issue": map[string]any{"number": 7, "updated_at": c.updated},
				})
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(t.TempDir(), "event.json")
				if err := os.WriteFile(file, data, 0o600); err != nil {
					t.Fatal(err)
				}
				env := map[string]string{"GITHUB_EVENT_NAME": "issues", "GITHUB_EVENT_PATH": file, "GITHUB_REPOSITORY": "octo/widgets", "GITHUB_SERVER_URL": "https://github.com"}
				r, err := job.ReadEvent(func(name string) string { return env[name] }, "agentmux", "")
				if err != nil || r.Idle != "" {
					t.Fatalf("%+v, %v", r, err)
				}
				if r.Settle(t.Context()); time.Since(began) != c.want {
					t.Errorf("waited %s, want %s", time.Since(began), c.want)
				}
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				began = time.Now()
				if r.Settle(ended); time.Since(began) != 0 {
					t.Errorf("waited %s although the job ends", time.Since(began))
				}
			})
		})
	}
}
