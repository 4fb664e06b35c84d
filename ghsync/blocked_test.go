package ghsync_test

import (
	"net/http"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// A locked issue takes no comments and all else. An account or a repository that is blocked is refused everything: to
// take that for a lock would end the comments of a session without a word.
func TestABlockIsNoLock(t *testing.T) {
	for message, code := range map[string]string{
		"Unable to create comment because issue is locked.": transport.CodeLocked,
		"User is blocked":           transport.CodeForbidden,
		"Repository access blocked": transport.CodeForbidden,
	} {
		over(t, func(int, *http.Request) (*http.Response, error) {
			return respond(http.StatusForbidden, `{"message":"`+message+`"}`)
		}, func(t *testing.T, c *ghsync.Client, _ *wire) {
			if _, err := c.AddLabel(t.Context(), octoWidgets, 12, "agentmux:running"); !transport.HasCode(err, code) {
				t.Errorf("%s: %v, want %s", message, err, code)
			}
		})
	}
}
