package ghsync_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
)

// associations are how GitHub says whose words a text is.
var associations = []string{"COLLABORATOR", "CONTRIBUTOR", "FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR", "MANNEQUIN", "MEMBER", "NONE", "OWNER"}

// TestContractPayloads reads what people have collected of GitHub's own payloads: all that
// is read of issues, comments and pull requests is in them.
func TestContractPayloads(t *testing.T) {
	dir := os.Getenv("AGENTMUX_TEST_CONTRACT")
	if dir == "" {
		t.Skip("reads collected payloads of GitHub: make test-contract")
	}
	data, err := os.ReadFile(filepath.Join(dir, "node_modules", "@octokit", "webhooks-examples", "api.github.com", "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Name     string
		Examples []struct {
			Action      string
			Issue       json.RawMessage
			Comment     json.RawMessage
			PullRequest json.RawMessage `json:"pull_request"`
		}
	}
	if err := json.Unmarshal(data, &events); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, event := range events {
		for _, e := range event.Examples {
			at := event.Name + " " + e.Action
			if event.Name == "issues" || event.Name == "issue_comment" {
				seen["issue"]++
				holdIssue(t, at, e.Issue)
			}
			if event.Name == "issue_comment" {
				seen["comment"]++
				holdComment(t, at, e.Comment)
			}
			if event.Name == "pull_request" {
				seen["pull"]++
				holdPull(t, at, e.PullRequest)
			}
		}
	}
	if seen["issue"] < 10 || seen["comment"] < 5 || seen["pull"] < 10 {
		t.Errorf("payloads: %v", seen)
	}
}

func holdIssue(t *testing.T, at string, data []byte) {
	t.Helper()
	i, err := ghsync.DecodeIssue(data)
	switch {
	case err != nil:
		t.Errorf("%s: %v", at, err)
	case i.Repo == ghsync.Repo{}, i.Number == 0, i.Title == "", i.URL == "", i.CreatedAt.IsZero(), i.UpdatedAt.IsZero():
		t.Errorf("%s: issue %+v", at, i)
	}
	holdAuthor(t, at, i.Author)
	var raw struct{ Labels []struct{ Name string } }
	if err := json.Unmarshal(data, &raw); err != nil || len(raw.Labels) != len(i.Labels) || slices.Contains(i.Labels, "") {
		t.Errorf("%s: labels %v of %v, %v", at, i.Labels, raw.Labels, err)
	}
}

func holdComment(t *testing.T, at string, data []byte) {
	t.Helper()
	c, err := ghsync.DecodeComment(data)
	switch {
	case err != nil:
		t.Errorf("%s: %v", at, err)
	case c.ID == 0, c.Body == "", c.URL == "", c.CreatedAt.IsZero(), c.EditedAt.IsZero(), !slices.Contains(associations, c.Association):
		t.Errorf("%s: comment %+v", at, c)
	}
	holdAuthor(t, at, c.Author)
}

func holdAuthor(t *testing.T, at string, a ghsync.Account) {
	t.Helper()
	if a.ID == 0 || a.Login == "" || !slices.Contains([]string{"User", "Bot", "Organization"}, a.Type) {
		t.Errorf("%s: author %+v", at, a)
	}
}

func holdPull(t *testing.T, at string, data []byte) {
	t.Helper()
	p, err := ghsync.DecodePull(data)
	if err != nil {
		t.Errorf("%s: %v", at, err)
		return
	}
	head := p.GetHead()
	if p.GetNumber() == 0 || p.GetNodeID() == "" || p.GetState() == "" || p.GetHTMLURL() == "" || p.Draft == nil || p.GetUpdatedAt().IsZero() ||
		head.GetRef() == "" || len(head.GetSHA()) != 40 || head.GetUser().GetLogin() == "" || p.GetBase().GetRef() == "" {
		t.Errorf("%s: pull request %+v", at, p)
	}
}
