package ghsync_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// graphIssue is the answer to the gate's query about an issue.
func graphIssue(number int, edits []map[string]any) string {
	at := sceneStart.UTC().Format(time.RFC3339)
	data, _ := json.Marshal(map[string]any{"data": map[string]any{"repository": map[string]any{
		"databaseId": 1, "name": "widgets", "url": "https://github.com/octo/widgets", "viewerPermission": "WRITE", "owner": map[string]any{"login": "octo"},
		"issueOrPullRequest": map[string]any{
			"__typename": "Issue", "number": number, "title": "t", "body": "b", "state": "OPEN", "url": "https://github.com/octo/widgets/issues/1", "createdAt": at,
			"updatedAt": sceneStart.Add(200 * time.Minute).UTC().Format(time.RFC3339), "userContentEdits": map[string]any{"nodes": edits},
		},
	}}})
	return string(data)
}

// A server that leads to where a transferred issue is now gives another one than was asked for.
func TestAnIssueOfAnotherNumberIsNotTheOneAskedFor(t *testing.T) {
	over(t, func(int, *http.Request) (*http.Response, error) { return respond(200, graphIssue(40, nil)) }, func(t *testing.T, c *ghsync.Client, w *wire) {
		if r, err := c.Record(t.Context(), octoWidgets, 12); !transport.IsNotFound(err) {
			t.Errorf("read %+v, %v", r.Issue, err)
		}
	})
}

// Of an issue that was edited very often the newest edits count, and where they are not told, that
// somebody has made one.
func TestTheNewestEditCountsInWhateverOrder(t *testing.T) {
	for name, minute := range map[string]func(n int) int{
		"newest first": func(n int) int { return 150 - n },
		"oldest first": func(n int) int { return n },
	} {
		t.Run(name, func(t *testing.T) {
			var edits []map[string]any
			for n := range 100 {
				edits = append(edits, map[string]any{
					"editedAt": sceneStart.Add(time.Duration(minute(n)) * time.Minute).UTC().Format(time.RFC3339),
					"editor":   map[string]any{"__typename": "User", "login": "eve", "databaseId": 11},
				})
			}
			over(t, func(int, *http.Request) (*http.Response, error) { return respond(200, graphIssue(12, edits)) }, func(t *testing.T, c *ghsync.Client, w *wire) {
				r, err := c.Record(t.Context(), octoWidgets, 12)
				if err != nil {
					t.Fatal(err)
				}
				if late, known := r.LateEdits(sceneStart.Add(120 * time.Minute)); !known || len(late) == 0 {
					t.Errorf("late edits %v, known %v", late, known)
				}
			})
		})
	}
}
