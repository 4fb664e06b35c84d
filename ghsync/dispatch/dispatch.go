// Package dispatch starts workflows of GitHub Actions by hand, for requests whose job was lost, and tells which
// runs are in progress. A start
// whose answer is lost is not repeated: the next sweep sees whether it was needed. It stores nothing;
// errors are those of ghsync/transport.
package dispatch

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/agentmux/agentmux/ghsync"
)

// Workflow is a file below .github/workflows of a branch.
type Workflow struct{ File, Ref string }

// Issue starts a workflow with the number of an issue as its input issue. The token needs the
// permission actions: write.
func Issue(ctx context.Context, c *ghsync.Client, repo ghsync.Repo, w Workflow, issue int) error {
	path := fmt.Sprintf("repos/%s/actions/workflows/%s/dispatches", repo, url.PathEscape(w.File))
	return ghsync.Post(ctx, c, path, map[string]any{"ref": w.Ref, "inputs": map[string]string{"issue": strconv.Itoa(issue)}})
}
