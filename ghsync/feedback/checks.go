package feedback

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/sanitize"
)

// Check is a check run or a commit status of a pull request's head.
type Check struct {
	ID       int64 // of a check run, and of the job of Actions behind it; 0 for a status
	Name     sanitize.Raw
	Required bool
	Done     bool
	Failed   bool
	At       time.Time    // when it was completed; zero if it is not, or not known
	URL      sanitize.Raw // of its details; may be empty
	Says     sanitize.Raw // of a status: its description
}

// Source names the result: the check run, or the context of a status, at a commit.
func (c Check) Source(head string) string {
	if c.ID != 0 {
		return "check/" + strconv.FormatInt(c.ID, 10) + "/" + head
	}
	return "status/" + url.QueryEscape(string(c.Name)) + "/" + head
}

const checksDocument = `query RequiredChecks($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      headRefOid
      state
      createdAt
      commits(last: 1) { nodes { commit {
        oid
        statusCheckRollup { contexts(first: 100, after: $after) { pageInfo { hasNextPage endCursor } nodes {
          __typename
          ... on CheckRun { databaseId name status conclusion completedAt detailsUrl isRequired(pullRequestNumber: $number) }
          ... on StatusContext { context state description targetUrl createdAt isRequired(pullRequestNumber: $number) }
        } } }
      } } }
    }
  }
}`

// checksAnswer is the answer to checksDocument.
type checksAnswer struct {
	Repository struct {
		PullRequest struct {
			Head    string    `json:"headRefOid"`
			State   string    `json:"state"`
			Created time.Time `json:"createdAt"`
			Commits struct {
				Nodes []struct {
					Commit struct {
						OID    string `json:"oid"`
						Rollup *struct {
							Contexts gqlChecks `json:"contexts"`
						} `json:"statusCheckRollup"`
					} `json:"commit"`
				} `json:"nodes"`
			} `json:"commits"`
		} `json:"pullRequest"`
	} `json:"repository"`
}

type gqlChecks struct {
	PageInfo struct {
		HasNextPage bool   `json:"hasNextPage"`
		EndCursor   string `json:"endCursor"`
	} `json:"pageInfo"`
	Nodes []gqlCheck `json:"nodes"`
}

// maxPages bounds how many checks of a head are read, a hundred at a time: 3,000.
const maxPages = 30

// Head returns the head of a pull request with its checks. Our own status is left out.
func (r Reader) Head(ctx context.Context, pr int) (Head, error) {
	var h Head
	variables := map[string]any{"owner": r.Repo.Owner, "name": r.Repo.Name, "number": pr}
	for range maxPages {
		var answer checksAnswer
		served, err := r.Client.Query(ctx, checksDocument, variables, &answer)
		if err != nil {
			return Head{}, fmt.Errorf("read checks: %w", err)
		}
		if !served {
			return r.headByREST(ctx, pr)
		}
		p := answer.Repository.PullRequest
		_, further := variables["after"]
		if delete(variables, "after"); further && p.Head != h.SHA {
			continue // a push came in between: its checks are read from the first
		}
		if !further {
			h = Head{SHA: p.Head, Open: p.State == "OPEN", OpenedAt: p.Created.UTC()}
		}
		for _, n := range p.Commits.Nodes {
			if n.Commit.Rollup == nil || n.Commit.OID != p.Head {
				continue
			}
			h.add(n.Commit.Rollup.Contexts.Nodes)
			if page := n.Commit.Rollup.Contexts.PageInfo; page.HasNextPage {
				variables["after"] = page.EndCursor
			}
		}
		if _, more := variables["after"]; !more {
			break
		}
	}
	_, h.Cut = variables["after"]
	return h, nil
}

// add takes in a page of checks.
func (h *Head) add(page []gqlCheck) {
	for _, node := range page {
		if check := node.check(); check.Name != ghsync.ReviewContext {
			h.Checks = append(h.Checks, check)
			h.Known = h.Known || check.Required
		}
	}
}

type gqlCheck struct {
	Typename    string       `json:"__typename"`
	DatabaseID  int64        `json:"databaseId"`
	Name        sanitize.Raw `json:"name"`
	Status      string       `json:"status"`
	Conclusion  string       `json:"conclusion"`
	CompletedAt time.Time    `json:"completedAt"`
	DetailsURL  sanitize.Raw `json:"detailsUrl"`
	Context     sanitize.Raw `json:"context"`
	State       string       `json:"state"`
	Description sanitize.Raw `json:"description"`
	TargetURL   sanitize.Raw `json:"targetUrl"`
	CreatedAt   time.Time    `json:"createdAt"`
	IsRequired  bool         `json:"isRequired"`
}

func (g gqlCheck) check() Check {
	if g.Typename == "StatusContext" {
		return Check{
			Name: g.Context, Required: g.IsRequired, Done: g.State != "PENDING" && g.State != "EXPECTED",
			Failed: g.State == "FAILURE" || g.State == "ERROR", At: g.CreatedAt.UTC(), URL: g.TargetURL, Says: g.Description,
		}
	}
	return Check{
		ID: g.DatabaseID, Name: g.Name, Required: g.IsRequired, Done: g.Status == "COMPLETED", Failed: failedConclusions()[g.Conclusion],
		At: g.CompletedAt.UTC(), URL: g.DetailsURL,
	}
}

// failedConclusions are the conclusions of a check run that a fix may cure.
func failedConclusions() map[string]bool {
	return map[string]bool{"FAILURE": true, "TIMED_OUT": true, "failure": true, "timed_out": true}
}

// headByREST reads check runs and statuses; REST does not say which are required.
func (r Reader) headByREST(ctx context.Context, pr int) (Head, error) {
	var pull struct {
		State   string    `json:"state"`
		Created time.Time `json:"created_at"`
		Head    struct {
			SHA string `json:"sha"`
		} `json:"head"`
	}
	if err := r.Client.Read(ctx, r.path("/pulls/%d", pr), &pull); err != nil {
		return Head{}, fmt.Errorf("read pull request %d: %w", pr, err)
	}
	h := Head{SHA: pull.Head.SHA, Open: pull.State == "open", OpenedAt: pull.Created.UTC()}
	cutRuns, err := eachPage(func(page int) (here, all int, err error) {
		var runs struct {
			All  int `json:"total_count"`
			Runs []struct {
				ID         int64        `json:"id"`
				Name       sanitize.Raw `json:"name"`
				Status     string       `json:"status"`
				Conclusion string       `json:"conclusion"`
				Completed  time.Time    `json:"completed_at"`
				URL        sanitize.Raw `json:"details_url"`
			} `json:"check_runs"`
		}
		err = r.Client.Read(ctx, r.path("/commits/%s/check-runs?per_page=100&page=%d", h.SHA, page), &runs)
		for _, k := range runs.Runs {
			h.Checks = append(h.Checks, Check{
				ID: k.ID, Name: k.Name, Done: k.Status == "completed", Failed: failedConclusions()[k.Conclusion], At: k.Completed.UTC(), URL: k.URL,
			})
		}
		return len(runs.Runs), runs.All, err
	})
	if err != nil {
		return Head{}, fmt.Errorf("list check runs: %w", err)
	}
	cutStatuses, err := eachPage(func(page int) (here, all int, err error) {
		var combined struct {
			All      int `json:"total_count"`
			Statuses []struct {
				Context     sanitize.Raw `json:"context"`
				State       string       `json:"state"`
				Description sanitize.Raw `json:"description"`
				URL         sanitize.Raw `json:"target_url"`
				Updated     time.Time    `json:"updated_at"`
			} `json:"statuses"`
		}
		err = r.Client.Read(ctx, r.path("/commits/%s/status?per_page=100&page=%d", h.SHA, page), &combined)
		for _, s := range combined.Statuses {
			if s.Context != ghsync.ReviewContext {
				h.Checks = append(h.Checks, Check{
					Name: s.Context, Done: s.State != "pending", Failed: s.State == "failure" || s.State == "error", At: s.Updated.UTC(), URL: s.URL, Says: s.Description,
				})
			}
		}
		return len(combined.Statuses), combined.All, err
	})
	if err != nil {
		return Head{}, fmt.Errorf("list statuses: %w", err)
	}
	h.Cut = cutRuns || cutStatuses
	return h, nil
}

// eachPage reads the pages of a list of which the server tells how many entries it has, and reports whether it has more.
func eachPage(read func(page int) (here, all int, err error)) (cut bool, err error) {
	for page, had := 1, 0; page <= maxPages; page++ {
		here, all, err := read(page)
		if had += here; err != nil || here == 0 || had >= all {
			return false, err
		}
	}
	return true, nil
}
