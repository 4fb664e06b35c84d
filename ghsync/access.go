package ghsync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
)

// Meta is what a server says of itself.
type Meta struct {
	Version string        // of a server of one's own; empty for GitHub's
	Skew    time.Duration // its clock minus that of this machine, to the second
	Scopes  []string      // of a classic token
	Classic bool          // the token is one with scopes
}

// Meta asks the server for its version and its time. Afterwards Quotas knows the limits.
// A server without that address is known by its limits or the account.
func (c *Client) Meta(ctx context.Context) (Meta, error) {
	var answer struct {
		Version string `json:"installed_version"`
	}
	resp, err := c.send(ctx, http.MethodGet, "meta", nil, &answer)
	for _, path := range []string{"rate_limit", "user"} {
		if !transport.IsNotFound(err) {
			break
		}
		resp, err = c.send(ctx, http.MethodGet, path, nil, nil)
	}
	if err != nil {
		return Meta{}, fmt.Errorf("read meta: %w", err)
	}
	m := Meta{Version: answer.Version}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		m.Skew = at.Sub(c.stack.Options.Now()).Round(time.Second)
	}
	if list := resp.Header.Values("X-OAuth-Scopes"); len(list) > 0 {
		m.Classic = true
		for scope := range strings.SplitSeq(strings.Join(list, ","), ",") {
			if scope = strings.TrimSpace(scope); scope != "" {
				m.Scopes = append(m.Scopes, scope)
			}
		}
	}
	return m, nil
}

// Refusal is a permission that the token turned out not to have.
type Refusal struct {
	Permission string // as GitHub names it: issues, pull_requests
	Level      string // read or write
	Err        error
}

// Unreadable asks for one thing of each kind that the program reads, and returns what was
// refused. What is public tells nothing about the token.
func (c *Client) Unreadable(ctx context.Context, repo Repo, sha string) ([]Refusal, error) {
	paths := map[string]string{
		"contents": "/branches/HEAD", "issues": "/issues?per_page=1", "pull_requests": "/pulls?per_page=1", "actions": "/actions/workflows?per_page=1",
	}
	if sha != "" {
		paths["contents"] = "/commits/" + sha
		paths["statuses"] = "/commits/" + sha + "/status"
		paths["checks"] = "/commits/" + sha + "/check-runs?per_page=1"
	}
	var refused []Refusal
	for _, permission := range slices.Sorted(maps.Keys(paths)) {
		err := c.do(ctx, http.MethodGet, repo.path("%s", paths[permission]), nil, nil)
		switch {
		case err == nil:
		case isRefusal(err):
			refused = append(refused, Refusal{Permission: permission, Level: "read", Err: err})
		default:
			return refused, fmt.Errorf("probe %s: %w", permission, err)
		}
	}
	return refused, nil
}

// noBranch and noCommit do not exist in any repository.
const (
	noBranch = "agentmux/probe/there-is-no-such-branch"
	noCommit = "0000000000000000000000000000000000000001"
)

// Unwritable tries writes that cannot take effect: a pull request from a branch and a
// status on a commit that do not exist. A server checks the permission first, so its error
// tells a refusal from a missing branch.
func (c *Client) Unwritable(ctx context.Context, repo Repo, base string) ([]Refusal, error) {
	probes := []struct {
		permission, path string
		in               map[string]any
	}{
		{"pull_requests", "/pulls", map[string]any{"title": "agentmux doctor", "head": noBranch, "base": base}},
		{"statuses", "/statuses/" + noCommit, map[string]any{"state": "pending", "context": ReviewContext}},
	}
	var refused []Refusal
	for _, p := range probes {
		err := c.do(ctx, http.MethodPost, repo.path("%s", p.path), p.in, nil)
		var terminal *transport.Terminal
		switch {
		case isRefusal(err):
			refused = append(refused, Refusal{Permission: p.permission, Level: "write", Err: err})
		case errors.As(err, &terminal) && terminal.Status == http.StatusUnprocessableEntity:
		case err != nil:
			return refused, fmt.Errorf("probe %s: %w", p.permission, err)
		}
	}
	return refused, nil
}

// isRefusal reports whether the server denied something; it answers "not found" for what the
// token may not see.
func isRefusal(err error) bool {
	var terminal *transport.Terminal
	return transport.IsNotFound(err) || errors.As(err, &terminal) && terminal.Status == http.StatusForbidden
}

// HasLabel reports whether the repository has a label.
func (c *Client) HasLabel(ctx context.Context, repo Repo, name string) (bool, error) {
	return has(ctx, c, "label "+name, repo.path("/labels/%s", url.PathEscape(name)))
}

// HasBranch reports whether the repository has a branch of exactly this name.
func (c *Client) HasBranch(ctx context.Context, repo Repo, name string) (bool, error) {
	return has(ctx, c, "branch "+name, repo.path("/git/ref/heads/%s", pathSegments(name)))
}

func has(ctx context.Context, c *Client, what, path string) (bool, error) {
	err := c.Read(ctx, path, nil)
	if transport.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", what, err)
	}
	return true, nil
}

// BranchRules returns the types of the rules for a branch, each once. The branch need not
// exist.
func (c *Client) BranchRules(ctx context.Context, repo Repo, branch string) ([]string, error) {
	var rules []struct {
		Type string `json:"type"`
	}
	if err := c.do(ctx, http.MethodGet, repo.path("/rules/branches/%s?per_page=100", pathSegments(branch)), nil, &rules); err != nil {
		return nil, fmt.Errorf("read rules of %s: %w", branch, err)
	}
	var types []string
	for _, rule := range rules {
		types = append(types, rule.Type)
	}
	slices.Sort(types)
	return slices.Compact(types), nil
}

// ActionsOpenPulls reports whether workflow runs may open pull requests in the repository;
// known is false for an account that may not read the setting.
func (c *Client) ActionsOpenPulls(ctx context.Context, repo Repo) (may, known bool, err error) {
	answer, resp, err := api(c).Repositories.GetDefaultWorkflowPermissions(ctx, repo.Owner, repo.Name)
	if err = served(c, resp, err); isRefusal(err) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("read the setting of workflow runs: %w", err)
	}
	return answer.GetCanApprovePullRequestReviews(), true, nil
}
