package fakehub

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/ghsync/fakehub/paging"
)

// page answers with one page of a list and the Link header to the others.
func page[T any](c *call, items []T, show func(T) any) reply {
	p := paging.Of(c.query, len(items))
	shown := []any{}
	for _, item := range items[p.From:p.To] {
		shown = append(shown, show(item))
	}
	out := reply{status: http.StatusOK, body: shown}
	if links := p.Links(c.stableURL(), c.request.URL.Query()); links != "" {
		out = out.with("Link", links)
	}
	return out
}

// stableURL names the repository by its number, as GitHub does in links.
func (c *call) stableURL() string {
	segments := split(c.request.URL.EscapedPath())
	if c.repo == nil || len(segments) < 3 || segments[0] != "repos" {
		return c.url(strings.Join(segments, "/"))
	}
	return c.url("repositories", c.repo.id, strings.Join(segments[3:], "/"))
}

// param reads a placeholder that holds a number.
func (c *call) param(name string) int64 {
	n, err := strconv.ParseInt(c.params[name], 10, 64)
	if err != nil {
		return 0 // too long for any id
	}
	return n
}
