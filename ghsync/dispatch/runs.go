package dispatch

import (
	"context"
	"fmt"

	"github.com/agentmux/agentmux/ghsync"
)

// mostPages is as far as GitHub lists the runs of a search: a thousand.
const mostPages, perPage = 10, 100

// Running returns the attempts of the runs that are in progress, by the id of the run. One that is not listed may be
// under way all the same: it waits for a runner, it has just begun, or there are too many.
func Running(ctx context.Context, c *ghsync.Client, repo ghsync.Repo) (map[int64]int, error) {
	attempts := map[int64]int{}
	for page := 1; page <= mostPages; page++ {
		var answer struct {
			Runs []struct {
				ID      int64  `json:"id"`
				Attempt int    `json:"run_attempt"`
				Status  string `json:"status"`
			} `json:"workflow_runs"`
		}
		if err := c.Read(ctx, fmt.Sprintf("repos/%s/actions/runs?status=in_progress&per_page=%d&page=%d", repo, perPage, page), &answer); err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		for _, r := range answer.Runs {
			if r.Status == "in_progress" {
				attempts[r.ID] = r.Attempt
			}
		}
		if len(answer.Runs) < perPage {
			break
		}
	}
	return attempts, nil
}
