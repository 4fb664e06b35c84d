package job_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/job"
)

// FuzzEvent checks that whatever the file of an event holds, a request names an issue, asks for nothing or is the sweep.
func FuzzEvent(f *testing.F) {
	names := []string{"issues", "issue_comment", "workflow_dispatch", "schedule", "repository_dispatch", "push"}
	for i, seed := range []string{
		`{"action":"labeled","repository":{"full_name":"acme/widgets"},"label":{"name":"agentmux"},"issue":{"number":7,"updated_at":"2026-11-21T10:04:31Z"}}`,
		`{"action":"created","repository":{"full_name":"acme/widgets"},"issue":{"number":7,"pull_request":{}},"comment":{"body":"/agentmux stop"}}`,
		`{"repository":{"full_name":"acme/widgets"},"inputs":{"issue":"7"}}`, `{"repository":{"full_name":"acme/widgets"}}`,
		`{"repository":{"full_name":"acme/widgets"},"client_payload":{"issue":7}}`, "{}", "[]", "", `{"issue":{"number":"7"}}`, `{"inputs":{"issue":-1e400}}`, `{"issue":{"number":7,"updated_at":7}}`,
	} {
		f.Add(i%len(names), "", []byte(seed))
	}
	f.Add(0, "7", []byte(`{"issue":{"number":8}}`))
	file := filepath.Join(f.TempDir(), "event.json")
	f.Fuzz(func(t *testing.T, kind int, asked string, data []byte) {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		env := func(name string) string {
			return map[string]string{
				"GITHUB_EVENT_NAME": names[uint(kind)%uint(len(names))], "GITHUB_REPOSITORY": "acme/widgets", "GITHUB_SERVER_URL": "https://github.com", "GITHUB_EVENT_PATH": file,
			}[name]
		}
		r, err := job.ReadEvent(env, "agentmux", asked)
		if err == nil && r.Idle == "" && !r.Sweep && (r.Issue < 1 || r.Repo.String() != "acme/widgets") {
			t.Fatalf("asked for %+v by %q", r, data)
		}
	})
}
