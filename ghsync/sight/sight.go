// Package sight reads what an account sees around the repositories it works in: their names, an
// organisation, and the webhooks of a repository with their last deliveries. It serves the words of
// a start and of doctor, and decides nothing. It only reads; each call is a request or two.
package sight

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// named is a repository as lists have it.
type named struct {
	Name string `json:"full_name"`
}

// Repositories names those that the account has a role in, or an App was installed on: a hundred at
// most. known is false where the server does not tell.
func Repositories(ctx context.Context, c *ghsync.Client) (names []string, known bool, err error) {
	var list []named
	if mode := c.Mode(); mode == transport.ModeApp || mode == transport.ModeActions {
		var page struct {
			Repositories []named `json:"repositories"`
		}
		err = c.Read(ctx, "installation/repositories?per_page=100", &page)
		list = page.Repositories
	} else {
		err = c.Read(ctx, "user/repos?per_page=100", &list)
	}
	for _, r := range list {
		names = append(names, r.Name)
	}
	if isHidden(err) {
		return nil, false, nil
	}
	return names, err == nil, err
}

// Organisation fails unless the account sees the organisation. A *transport.NotFound says that there
// is none of this name, that it is the account of a person, or that it is hidden.
func Organisation(ctx context.Context, c *ghsync.Client, org string) error {
	var list []named
	if err := c.Read(ctx, fmt.Sprintf("orgs/%s/repos?per_page=1", url.PathEscape(org)), &list); err != nil {
		return fmt.Errorf("list repositories of %s: %w", org, err)
	}
	return nil
}

// Webhook is one of a repository.
type Webhook struct {
	URL    string
	Active bool
	Events []string
	// Last is the newest delivery; zero without one.
	Last time.Time
	// Deliveries are those that were read, and Failures those of them that were not answered with success.
	Deliveries, Failures int
}

// Webhooks returns the webhooks of a repository with their last deliveries, ten webhooks at most.
// known is false for an account that may not read them: only an admin may.
func Webhooks(ctx context.Context, c *ghsync.Client, repo ghsync.Repo) (hooks []Webhook, known bool, err error) {
	var list []struct {
		ID     int64    `json:"id"`
		Active bool     `json:"active"`
		Events []string `json:"events"`
		Config struct {
			URL string `json:"url"`
		} `json:"config"`
	}
	at := fmt.Sprintf("repos/%s/hooks", repo)
	if err := c.Read(ctx, at+"?per_page=10", &list); err != nil {
		if isHidden(err) {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("list webhooks of %s: %w", repo, err)
	}
	for _, h := range list {
		w := Webhook{URL: h.Config.URL, Active: h.Active, Events: h.Events}
		var made []struct {
			At   time.Time `json:"delivered_at"`
			Code int       `json:"status_code"`
		}
		if err := c.Read(ctx, fmt.Sprintf("%s/%d/deliveries?per_page=30", at, h.ID), &made); err != nil && !isHidden(err) {
			return nil, false, fmt.Errorf("list deliveries of %s: %w", repo, err)
		}
		for _, d := range made {
			if d.At.After(w.Last) {
				w.Last = d.At
			}
			w.Deliveries++
			if d.Code < http.StatusOK || d.Code >= http.StatusMultipleChoices {
				w.Failures++
			}
		}
		hooks = append(hooks, w)
	}
	return hooks, true, nil
}

// isHidden reports whether the account may not see something; a server answers "not found" for that,
// and for what it does not have.
func isHidden(err error) bool {
	var terminal *transport.Terminal
	return transport.IsNotFound(err) || errors.As(err, &terminal) && terminal.Status == http.StatusForbidden
}
