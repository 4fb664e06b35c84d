package intake_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestContractDeliveries finds the repository in what people have collected of GitHub's own payloads.
func TestContractDeliveries(t *testing.T) {
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
		Examples []json.RawMessage
	}
	if err := json.Unmarshal(data, &events); err != nil {
		t.Fatal(err)
	}
	named, found := regexp.MustCompile(`^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$`), 0
	for _, event := range events {
		for i, body := range event.Examples {
			var want struct {
				Repository struct {
					ID       int64
					FullName string `json:"full_name"`
				}
			}
			if err := json.Unmarshal(body, &want); err != nil {
				t.Fatal(err)
			}
			r, req := receive(secret), delivery(string(body))
			if got := answer(r, req); got.Code != 202 || len(r.hooks) != 1 || r.hooks[0].RepoID != want.Repository.ID || r.hooks[0].Repo != want.Repository.FullName {
				t.Errorf("%s %d: %d, hooks %+v, want %+v", event.Name, i, got.Code, r.hooks, want)
			}
			if named.MatchString(want.Repository.FullName) && want.Repository.ID > 0 {
				found++
			}
		}
	}
	if found < 100 {
		t.Errorf("%d payloads name a repository", found)
	}
}
