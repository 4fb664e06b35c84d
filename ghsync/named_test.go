package ghsync_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
)

// A repository may be called as a part of the interface is: it is read as any other, and no slower.
func TestARepositoryMayBeCalledAsTheInterface(t *testing.T) {
	for _, repo := range []ghsync.Repo{{Owner: "octo", Name: "graphql"}, {Owner: "octo", Name: "search"}, {Owner: "search", Name: "graphql"}} {
		over(t, func(int, *http.Request) (*http.Response, error) {
			return respond(http.StatusOK, repoJSON)
		}, func(t *testing.T, c *ghsync.Client, w *wire) {
			const reads = 8 // within the burst of reads, and not of searches
			for range reads {
				if _, err := c.Repository(t.Context(), repo.Owner, repo.Name); err != nil {
					t.Fatalf("%s: %v", repo, err)
				}
				if _, err := c.HasLabel(t.Context(), repo, "agentmux"); err != nil {
					t.Fatalf("%s: %v", repo, err)
				}
			}
			if took := time.Since(w.start); len(w.sent) != 2*reads || took > 5*time.Second {
				t.Errorf("%s: %d requests in %s", repo, len(w.sent), took)
			}
		})
	}
}
