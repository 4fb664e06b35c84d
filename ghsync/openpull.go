package ghsync

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/google/go-github/v62/github"
)

// SessionPull is an open pull request that a session made.
type SessionPull struct {
	Number       int
	URL, Session string
}

// maxOpenPages bounds how many open pull requests are looked through: 300.
const maxOpenPages = 3

// OpenPullOf returns the newest open pull request of a session that names an issue, or nil. It
// has our marker and is of this account, or of a branch of the repository itself, which takes
// write access: a pull request from a fork does not count.
func (c *Client) OpenPullOf(ctx context.Context, repo Repo, issue int) (*SessionPull, error) {
	me, err := c.Viewer(ctx)
	if _, later := transport.Later(err); later {
		return nil, err
	}
	named := regexp.MustCompile(fmt.Sprintf(`(?m)^(?:Closes|Refs) #%d\s*$`, issue))
	opts := &github.PullRequestListOptions{State: "open", Sort: "created", Direction: "desc", ListOptions: github.ListOptions{PerPage: 100, Page: 1}}
	for opts.Page > 0 && opts.Page <= maxOpenPages {
		pulls, resp, err := api(c).PullRequests.List(ctx, repo.Owner, repo.Name, opts)
		if err := served(c, resp, err); err != nil {
			return nil, fmt.Errorf("list open pull requests: %w", err)
		}
		for _, p := range pulls {
			marker, marked := ParseMarker(p.GetBody())
			if marked && ownPull(p, me, repo) && named.MatchString(p.GetBody()) {
				return &SessionPull{Number: p.GetNumber(), URL: p.GetHTMLURL(), Session: marker.Session}, nil
			}
		}
		opts.Page = resp.NextPage
	}
	return nil, nil
}

// ownPull reports whether a pull request is of this account or of a branch of the repository itself.
func ownPull(p *github.PullRequest, me Account, repo Repo) bool {
	return me.ID != 0 && p.GetUser().GetID() == me.ID || strings.EqualFold(p.GetHead().GetRepo().GetFullName(), repo.String())
}

// statusHost is where a status comment names the host of its session.
var statusHost = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\\bhost `([a-z]_[0-9A-Za-z_-]+)`") })

// StatusOf finds the newest status comment of this account: the session it is of, the host
// that is at work on it as far as the comment says, and the comment.
func (c *Client) StatusOf(ctx context.Context, r Record) (session, host string, at Comment, err error) {
	for _, comment := range slices.Backward(r.Comments) {
		marker, marked := ParseMarker(comment.Body)
		if !marked || marker.Kind != KindStatus || marker.Part != "" {
			continue
		}
		if ours, err := c.Ours(ctx, comment); err != nil || !ours {
			if err != nil {
				return "", "", Comment{}, err
			}
			continue
		}
		if found := statusHost().FindStringSubmatch(withoutMarker(comment.Body)); found != nil {
			host = found[1]
		}
		return marker.Session, host, comment, nil
	}
	return "", "", Comment{}, nil
}

// RunningLabel is the label of an issue that a session is at work on.
func RunningLabel(label string) string { return label + ":" + LabelRunning }
