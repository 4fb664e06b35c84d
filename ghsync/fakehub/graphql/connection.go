package graphql

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// List is what a connection pages through. Its ids ascend; they are the cursors.
type List[T any] struct {
	Type  string // of the nodes
	Items []T
	ID    func(position int) int64 // nil is the position, from 1
	Show  func(T) Object
}

// Page is the object of a connection: one page of a list.
type Page struct {
	Kind       string   // of the nodes
	Nodes      []Object `graphql:"nodes"`
	Edges      []Edge   `graphql:"edges"`
	TotalCount int      `graphql:"totalCount"`
	PageInfo   PageInfo `graphql:"pageInfo"`
}

func (p Page) TypeName() string { return p.Kind + "Connection" }

// TimelinePage is the page of a timeline.
type TimelinePage struct {
	Page
	FilteredCount int `graphql:"filteredCount"`
	PageCount     int `graphql:"pageCount"`
}

// Edge is a node with its cursor.
type Edge struct {
	Kind   string // of the node
	Node   Object `graphql:"node"`
	Cursor string `graphql:"cursor"`
}

func (e Edge) TypeName() string { return e.Kind + "Edge" }

// PageInfo says where a page begins and ends.
type PageInfo struct {
	HasNextPage     bool `graphql:"hasNextPage"`
	HasPreviousPage bool `graphql:"hasPreviousPage"`
	StartCursor     any  `graphql:"startCursor"`
	EndCursor       any  `graphql:"endCursor"`
}

func (PageInfo) TypeName() string { return "PageInfo" }

// Connect returns the field of a connection, which takes first, last, after and before. It
// refuses a page without a size, or a larger one than GitHub's limit, as GitHub does.
func Connect[T any](l List[T]) Resolver {
	if l.ID == nil {
		l.ID = func(position int) int64 { return int64(position + 1) }
	}
	return func(a Args) any {
		if fault := l.refuses(a); fault != nil {
			return fault
		}
		from, to := l.bounds(a)
		return l.page(from, to)
	}
}

// bounds are the first position of the page that the arguments ask for, and the one after it.
func (l List[T]) bounds(a Args) (from, to int) {
	to = len(l.Items)
	for from < to && a.Has("after") && l.ID(from) <= cursorID(a.Text("after")) {
		from++
	}
	for to > from && a.Has("before") && l.ID(to-1) >= cursorID(a.Text("before")) {
		to--
	}
	if a.Has("first") {
		to = min(to, from+a.Number("first"))
	}
	if a.Has("last") {
		from = max(from, to-a.Number("last"))
	}
	return from, to
}

// refuses judges the arguments.
func (l List[T]) refuses(a Args) error {
	asked := max(a.Number("first"), a.Number("last"))
	switch {
	case !a.Has("first") && !a.Has("last"):
		return &Fault{
			Kind:    "MISSING_PAGINATION_BOUNDARIES",
			Message: fmt.Sprintf("You must provide a `first` or `last` value to properly paginate the `%s` connection.", l.Type),
		}
	case asked > most(l.Type):
		return &Fault{
			Kind:    "EXCESSIVE_PAGINATION",
			Message: fmt.Sprintf("Requesting %d records on the `%s` connection exceeds the `first` limit of %d records.", asked, l.Type, most(l.Type)),
		}
	}
	for _, name := range []string{"after", "before"} {
		if a.Has(name) && cursorID(a.Text(name)) == 0 {
			return &Fault{Kind: "INVALID_CURSOR_ARGUMENTS", Message: fmt.Sprintf("`%s` does not appear to be a valid cursor.", a.Text(name))}
		}
	}
	return nil
}

func isTimeline(typ string) bool { return strings.HasSuffix(typ, "TimelineItems") }

// most is how many items one page may hold; timelines allow more.
func most(typ string) int {
	if isTimeline(typ) {
		return 250
	}
	return 100
}

// page is the part of the list between two positions.
func (l List[T]) page(from, to int) Object {
	page := Page{Kind: l.Type, TotalCount: len(l.Items)}
	for n := from; n < to; n++ {
		node := l.Show(l.Items[n])
		page.Nodes = append(page.Nodes, node)
		page.Edges = append(page.Edges, Edge{Kind: l.Type, Node: node, Cursor: cursor(l.ID(n))})
	}
	page.PageInfo.HasNextPage, page.PageInfo.HasPreviousPage = to < len(l.Items), from > 0
	if from < to {
		page.PageInfo.StartCursor, page.PageInfo.EndCursor = cursor(l.ID(from)), cursor(l.ID(to-1))
	}
	if isTimeline(l.Type) {
		return TimelinePage{Page: page, FilteredCount: len(l.Items), PageCount: to - from}
	}
	return page
}

func cursor(id int64) string {
	return base64.StdEncoding.EncodeToString([]byte("cursor:" + strconv.FormatInt(id, 10)))
}

// cursorID is 0 for a text that is not a cursor.
func cursorID(text string) int64 {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return 0
	}
	id, _ := strconv.ParseInt(strings.TrimPrefix(string(data), "cursor:"), 10, 64) // 0 with an error
	return id
}
