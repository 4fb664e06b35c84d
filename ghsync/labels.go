package ghsync

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/google/go-github/v62/github"
)

// Label is one of a repository's labels. Color is six hex digits without "#".
type Label struct {
	Name, Color, Description string
}

// SameLabel reports whether two names are one label to GitHub, which ignores case.
func SameLabel(a, b string) bool { return strings.EqualFold(a, b) }

// Labels returns the repository's labels.
func (c *Client) Labels(ctx context.Context, repo Repo) ([]Label, error) {
	items, err := every(ctx, c, "list labels", func(ctx context.Context, opts github.ListOptions) ([]*github.Label, *github.Response, error) {
		return api(c).Issues.ListLabels(ctx, repo.Owner, repo.Name, &opts)
	})
	var all []Label
	for _, l := range items {
		all = append(all, Label{Name: l.GetName(), Color: l.GetColor(), Description: l.GetDescription()})
	}
	return all, err
}

// EnsureLabel creates the label if the repository has none of its name; made tells which.
func (c *Client) EnsureLabel(ctx context.Context, repo Repo, l Label) (made bool, err error) {
	in := map[string]string{"name": l.Name, "color": l.Color, "description": l.Description}
	err = c.do(ctx, http.MethodPost, repo.path("/labels"), in, nil)
	if saysLabelExists(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("create label %s: %w", l.Name, err)
	}
	return true, nil
}

// EnsureLabels is EnsureLabel for a list; it reads once which labels exist. made counts.
func (c *Client) EnsureLabels(ctx context.Context, repo Repo, wanted []Label) (made int, err error) {
	there, err := c.Labels(ctx, repo)
	if err != nil {
		return 0, err
	}
	for _, l := range wanted {
		if slices.ContainsFunc(there, func(has Label) bool { return SameLabel(has.Name, l.Name) }) {
			continue
		}
		one, err := c.EnsureLabel(ctx, repo, l)
		if err != nil {
			return made, err
		}
		if one {
			made++
		}
	}
	return made, nil
}

// saysLabelExists knows GitHub's code and the words of servers that send none.
func saysLabelExists(err error) bool {
	var terminal *transport.Terminal
	if !errors.As(err, &terminal) {
		return false
	}
	worded := terminal.Code == transport.CodeValidation || terminal.Code == transport.CodeConflict
	return terminal.Code == transport.CodeLabelExists || worded && strings.Contains(strings.ToLower(terminal.Message), "already")
}

type namedLabel struct {
	Name string `json:"name"`
}

func labelNames(list []namedLabel) []string {
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = l.Name
	}
	return names
}

// AddLabel adds a label to an issue and returns the names of all that it has now. It succeeds
// if the label is there already. GitHub creates an unknown label.
func (c *Client) AddLabel(ctx context.Context, repo Repo, issue int, name string) ([]string, error) {
	in := map[string][]string{"labels": {name}}
	var now []namedLabel
	ctx = transport.Repeatable(ctx)
	if err := c.do(ctx, http.MethodPost, repo.path("/issues/%d/labels", issue), in, &now); err != nil {
		return nil, fmt.Errorf("add label %s: %w", name, err)
	}
	return labelNames(now), nil
}

// RemoveLabel removes a label from an issue; it succeeds if the label is not there. GitHub
// answers with the remaining labels. After any other answer the issue is read again.
func (c *Client) RemoveLabel(ctx context.Context, repo Repo, issue int, name string) error {
	var left []namedLabel
	resp, err := c.send(ctx, http.MethodDelete, repo.path("/issues/%d/labels/%s", issue, url.PathEscape(name)), nil, &left)
	if errors.Is(err, transport.ErrUnreadable) || err == nil && left == nil && resp.StatusCode != http.StatusNoContent {
		err = c.labelGone(ctx, repo, issue, name)
	}
	if err != nil && !transport.IsNotFound(err) {
		return fmt.Errorf("remove label %s: %w", name, err)
	}
	return nil
}

// labelGone returns nil if the issue does not have the label, or does not exist.
func (c *Client) labelGone(ctx context.Context, repo Repo, issue int, name string) error {
	now, err := c.Issue(ctx, repo, issue)
	if err == nil && now.HasLabel(name) {
		return transport.Unreadable()
	}
	return err
}
