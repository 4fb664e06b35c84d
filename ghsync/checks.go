package ghsync

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-github/v62/github"
)

const checksDocument = `query RequiredChecks($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      headRefOid
      commits(last: 1) { nodes { commit {
        oid
        statusCheckRollup { contexts(first: 100) { nodes {
          __typename
          ... on CheckRun { databaseId name status conclusion isRequired(pullRequestNumber: $number) }
          ... on StatusContext { context state isRequired(pullRequestNumber: $number) }
        } } }
      } } }
    }
  }
}`

// Check is a check run or a commit status of a pull request's head.
type Check struct {
	ID       int64 // of a check run; 0 for a status
	Name     string
	Required bool
	Done     bool
	Failed   bool
}

// Checks returns the checks of the pull request's head and the head. Where the server
// cannot say which are required, known is false and none is marked. Our own status is left
// out.
func (c *Client) Checks(ctx context.Context, repo Repo, pr int) (head string, checks []Check, known bool, err error) {
	var answer struct {
		Repository struct {
			PullRequest struct {
				HeadRefOid string `json:"headRefOid"`
				Commits    struct {
					Nodes []struct {
						Commit struct {
							Rollup *struct {
								Contexts struct {
									Nodes []gqlCheck `json:"nodes"`
								} `json:"contexts"`
							} `json:"statusCheckRollup"`
						} `json:"commit"`
					} `json:"nodes"`
				} `json:"commits"`
			} `json:"pullRequest"`
		} `json:"repository"`
	}
	variables := map[string]any{"owner": repo.Owner, "name": repo.Name, "number": pr}
	err = c.ask(ctx, checksDocument, variables, &answer)
	if errors.Is(err, errNoGraphQL) {
		head, checks, err = c.checksByREST(ctx, repo, pr)
		return head, checks, false, err
	}
	if err != nil {
		return "", nil, false, fmt.Errorf("read checks: %w", err)
	}
	p := answer.Repository.PullRequest
	for _, n := range p.Commits.Nodes {
		if n.Commit.Rollup == nil {
			continue
		}
		for _, node := range n.Commit.Rollup.Contexts.Nodes {
			if check := node.check(); check.Name != ReviewContext {
				checks = append(checks, check)
				known = known || check.Required
			}
		}
	}
	return p.HeadRefOid, checks, known, nil
}

type gqlCheck struct {
	Typename   string `json:"__typename"`
	DatabaseID int64  `json:"databaseId"`
	Name       string `json:"name"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	Context    string `json:"context"`
	State      string `json:"state"`
	IsRequired bool   `json:"isRequired"`
}

func (g gqlCheck) check() Check {
	if g.Typename == "StatusContext" {
		return Check{
			Name: g.Context, Required: g.IsRequired, Done: g.State != "PENDING" && g.State != "EXPECTED",
			Failed: g.State == "FAILURE" || g.State == "ERROR",
		}
	}
	return Check{ID: g.DatabaseID, Name: g.Name, Required: g.IsRequired, Done: g.Status == "COMPLETED", Failed: failedConclusions()[g.Conclusion]}
}

// failedConclusions are the conclusions of a check run that a fix may cure.
func failedConclusions() map[string]bool {
	return map[string]bool{"FAILURE": true, "TIMED_OUT": true, "failure": true, "timed_out": true}
}

// checksByREST reads check runs only: they are what a job log belongs to.
func (c *Client) checksByREST(ctx context.Context, repo Repo, pr int) (head string, checks []Check, err error) {
	pull, resp, err := c.api.PullRequests.Get(ctx, repo.Owner, repo.Name, pr)
	if err := served(resp, err); err != nil {
		return "", nil, fmt.Errorf("read pull request %d: %w", pr, err)
	}
	head = pull.GetHead().GetSHA()
	opts := &github.ListCheckRunsOptions{ListOptions: github.ListOptions{PerPage: 100}}
	out, resp, err := c.api.Checks.ListCheckRunsForRef(ctx, repo.Owner, repo.Name, head, opts)
	if err := served(resp, err); err != nil {
		return "", nil, fmt.Errorf("list check runs: %w", err)
	}
	if out == nil { // the answer was null
		return head, nil, nil
	}
	for _, r := range out.CheckRuns {
		checks = append(checks, Check{ID: r.GetID(), Name: r.GetName(), Done: r.GetStatus() == "completed", Failed: failedConclusions()[r.GetConclusion()]})
	}
	return head, checks, nil
}
