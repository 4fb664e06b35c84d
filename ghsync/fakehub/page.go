package fakehub

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// page answers with one page of a list and the Link header to the others.
func page[T any](c *call, items []T, show func(T) any) reply {
	size := c.number("per_page", 30)
	if size < 1 {
		size = 30
	}
	size = min(size, 100)
	at := max(c.number("page", 1), 1)
	pages := max((len(items)+size-1)/size, 1)
	from := min((at-1)*size, len(items))
	shown := []any{}
	for _, item := range items[from:min(from+size, len(items))] {
		shown = append(shown, show(item))
	}
	out := reply{status: http.StatusOK, body: shown}
	if links := c.links(at, pages); links != "" {
		out = out.with("Link", links)
	}
	return out
}

// links names the neighbours of a page, by the number of the repository as GitHub does.
func (c *call) links(at, last int) string {
	var links []string
	add := func(rel string, number int) {
		query := c.request.URL.Query()
		query.Set("page", strconv.Itoa(number))
		links = append(links, fmt.Sprintf(`<%s?%s>; rel="%s"`, c.stableURL(), query.Encode(), rel))
	}
	if at > 1 {
		add("prev", min(at-1, last))
	}
	if at < last {
		add("next", at+1)
		add("last", last)
	}
	if at > 1 {
		add("first", 1)
	}
	return strings.Join(links, ", ")
}

func (c *call) stableURL() string {
	segments := split(c.request.URL.EscapedPath())
	if c.repo == nil || len(segments) < 3 || segments[0] != "repos" {
		return c.url(strings.Join(segments, "/"))
	}
	return c.url("repositories", c.repo.id, strings.Join(segments[3:], "/"))
}

// number reads a number of the query.
func (c *call) number(name string, fallback int) int {
	n, err := strconv.Atoi(c.query.Get(name))
	if err != nil {
		return fallback
	}
	return n
}

// param reads a placeholder that holds a number.
func (c *call) param(name string) int64 {
	n, err := strconv.ParseInt(c.params[name], 10, 64)
	if err != nil {
		return 0 // too long for any id
	}
	return n
}
