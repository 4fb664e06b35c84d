package fakehub

import (
	"net/http"
	"slices"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub/paging"
	"github.com/agentmux/agentmux/ghsync/fakehub/query"
)

// searchPast keeps, per issue, what the search knows of it: it lags behind.
type searchPast map[*issue][]pastIssue

type pastIssue struct {
	at     time.Time
	state  string
	labels []string
}

// remember notes the state of an issue for the search.
func (h *hub) remember(i *issue) {
	if h.opt.SearchLag == 0 {
		return
	}
	p := pastIssue{at: h.now(), state: i.state}
	for _, l := range i.labels {
		p.labels = append(p.labels, key(l.name))
	}
	h.past[i] = append(h.past[i], p)
}

// known is what the search knows of an issue now. It is false before the search has seen it.
func (c *call) known(i *issue) (pastIssue, bool) {
	if c.opt.SearchLag == 0 {
		p := pastIssue{state: i.state}
		for _, l := range i.labels {
			p.labels = append(p.labels, key(l.name))
		}
		return p, true
	}
	var found pastIssue
	has := false
	for _, p := range c.past[i] {
		if c.at.Sub(p.at) >= c.opt.SearchLag {
			found, has = p, true
		}
	}
	return found, has
}

func searchIssues(c *call) reply {
	wanted := query.Parse(c.query.Get("q"))
	if len(wanted) == 0 {
		return missing("Search", "q")
	}
	var list []*issue
	for _, r := range c.repos {
		if !c.sees(r) {
			continue
		}
		for _, i := range r.issues {
			if past, has := c.known(i); has && !i.deleted && i.movedTo == nil && i.fits(wanted, past) {
				list = append(list, i)
			}
		}
	}
	slices.SortFunc(list, func(a, b *issue) int { return int(a.id - b.id) })
	if c.query.Get("sort") == "updated" {
		slices.SortStableFunc(list, func(a, b *issue) int { return a.updated.Compare(b.updated) })
	}
	if c.query.Get("order") != "asc" {
		slices.Reverse(list)
	}
	if paging.Of(c.query, 1<<30).From >= 1000 {
		return fail(http.StatusUnprocessableEntity, "Only the first 1000 search results are available")
	}
	out := page(c, list, c.issueJSON)
	out.body = obj{"total_count": len(list), "incomplete_results": false, "items": out.body}
	return out
}

// fits reports whether each term holds.
func (i *issue) fits(wanted []query.Term, past pastIssue) bool {
	for _, t := range wanted {
		if !slices.ContainsFunc(t.Values, func(value string) bool { return i.holds(t.Qualifier, value, past) }) {
			return false
		}
	}
	return true
}

func (i *issue) holds(qualifier, value string, past pastIssue) bool {
	switch qualifier {
	case "is", "state", "type":
		switch value {
		case "issue":
			return i.pull == nil
		case "pr":
			return i.pull != nil
		}
		return past.state == value
	case "label":
		return slices.Contains(past.labels, value)
	case "org", "user":
		return key(i.repo.owner.login) == value
	case "repo":
		return key(i.repo.fullName()) == value
	case "author":
		return key(i.author.login) == value
	case "archived":
		return i.repo.archived == (value == "true")
	}
	return false
}
