// Package paging cuts lists into pages as GitHub does: page and per_page in the query, and the Link
// header to the other pages.
package paging

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Page is a part of a list: its entries From up to but without To.
type Page struct{ At, Last, From, To int }

// Of returns the page of a list of n entries that a query asks for.
func Of(query url.Values, n int) Page {
	size := min(number(query, "per_page", 30), 100)
	at := number(query, "page", 1)
	from := min((at-1)*size, n)
	return Page{At: at, Last: max((n+size-1)/size, 1), From: from, To: min(from+size, n)}
}

// number reads a number of the query, at least 1.
func number(query url.Values, name string, fallback int) int {
	n, err := strconv.Atoi(query.Get(name))
	if err != nil || n < 1 {
		return fallback
	}
	return n
}

// Links is the Link header of a page of the list at an address; "" for the only one.
func (p Page) Links(address string, query url.Values) string {
	var links []string
	add := func(rel string, number int) {
		query.Set("page", strconv.Itoa(number))
		links = append(links, fmt.Sprintf(`<%s?%s>; rel="%s"`, address, query.Encode(), rel))
	}
	if p.At > 1 {
		add("prev", min(p.At-1, p.Last))
	}
	if p.At < p.Last {
		add("next", p.At+1)
		add("last", p.Last)
	}
	if p.At > 1 {
		add("first", 1)
	}
	return strings.Join(links, ", ")
}
