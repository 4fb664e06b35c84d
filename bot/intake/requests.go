package intake

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
)

// Requests lists the open issues of a repository with a request label, in the order of their numbers.
func Requests(ctx context.Context, client *ghsync.Client, repo ghsync.Repo, label string) ([]int, error) {
	labels, err := client.Labels(ctx, repo)
	if err != nil {
		return nil, err
	}
	in, found := ghsync.Intake{Client: client}, []int{}
	for _, l := range labels {
		if _, asks := ghsync.RequestLabel(l.Name, label); !asks {
			continue
		}
		for page, more := 1, true; more; page++ {
			var issues []ghsync.Issue
			if issues, more, err = in.LabelledIssues(ctx, repo, l.Name, page); err != nil {
				return nil, err
			}
			for _, i := range issues {
				found = append(found, i.Number)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// Repositories searches an organisation once and returns the repositories that the search shows requests
// of, each once, in the order of their names. Of o, Found and Crowded are not used.
func Repositories(ctx context.Context, o SweepOptions) ([]ghsync.Repo, error) {
	found := map[string]ghsync.Repo{}
	o.Found = func(_ context.Context, all []Candidate) error {
		for _, c := range all {
			repo := ghsync.Repo{Owner: c.Owner, Name: c.Repo}
			found[repo.String()] = repo
		}
		return nil
	}
	o.Crowded = nil
	if err := NewSweep(o).Once(ctx); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(found), func(a, b ghsync.Repo) int { return strings.Compare(a.String(), b.String()) }), nil
}
