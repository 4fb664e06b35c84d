package transport

import (
	"context"
	"net/http"
	"strings"
)

// Priority orders calls that wait for the same limit.
type Priority int

const (
	// PriorityMirror is for what keeps an issue up to date; the priority of a bare context.
	PriorityMirror Priority = iota
	// PriorityFinishing is for what ends a session: stop, final comment, last label, pull request.
	// Only it passes when little of the quota is left.
	PriorityFinishing
	// PriorityDiscovery is for polling and sweeps. It may use half of each limit and of the quota.
	PriorityDiscovery

	priorities = 3
)

// rank is the place in a queue, first to last.
func (p Priority) rank() int {
	return [...]int{PriorityMirror: 1, PriorityFinishing: 0, PriorityDiscovery: 2}[p]
}

type callKey int

const (
	priorityKey callKey = iota
	namedKey
	kindKey
	bytesKey
	validatorKey
)

// WithPriority returns a context whose calls have priority p.
func WithPriority(ctx context.Context, p Priority) context.Context {
	return context.WithValue(ctx, priorityKey, p)
}

// JustNamed returns a context in which a 404 is asked again, twice within six seconds: a
// poll or an event named the thing less than a minute ago, and replicas may lag.
func JustNamed(ctx context.Context) context.Context {
	return context.WithValue(ctx, namedKey, true)
}

// Reading returns a context whose POST reads, as a GraphQL query does.
func Reading(ctx context.Context) context.Context { return context.WithValue(ctx, kindKey, reading) }

// Repeatable returns a context whose POST may be sent again: twice is once.
func Repeatable(ctx context.Context) context.Context {
	return context.WithValue(ctx, kindKey, idempotent)
}

// kind says how a request may be repeated.
type kind int

const (
	reading    kind = iota // GET, HEAD, a GraphQL query
	idempotent             // PATCH, PUT, DELETE, adding a label
	creating               // POST, a GraphQL mutation: sent once
)

// bucket says which of our own limits a request counts against.
type bucket int

const (
	readBucket bucket = iota
	searchBucket
	graphqlBucket
	writeBucket
	contentBucket // writes that people see: comment, pull request, reaction, review request
)

// call is what the layers know about one request.
type call struct {
	kind     kind
	bucket   bucket
	priority Priority
	named    bool
	edits    bool   // content that people have seen
	path     string // for messages: no host, no query
	resource string // the server's quota: core, search, graphql
}

func callOf(req *http.Request) call {
	ctx := req.Context()
	c := call{path: req.URL.Path, resource: "core"}
	c.priority, _ = ctx.Value(priorityKey).(Priority)
	c.named, _ = ctx.Value(namedKey).(bool)
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		c.kind, c.bucket = reading, readBucket
	case http.MethodPost:
		c.kind, c.bucket = creating, writeBucket
	default:
		c.kind, c.bucket = idempotent, writeBucket
	}
	if k, ok := ctx.Value(kindKey).(kind); ok {
		c.kind = k
	}
	switch {
	case req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/graphql"): // repositories may be called so, too
		c.resource = graphqlResource
		if c.kind == reading {
			c.bucket = graphqlBucket
		}
	case strings.Contains(req.URL.Path, "/search/") && !strings.Contains(req.URL.Path, "/repos/"):
		c.bucket, c.resource = searchBucket, "search"
	case c.bucket == writeBucket && isContent(req):
		c.bucket, c.edits = contentBucket, req.Method == http.MethodPatch
	}
	return c
}

// isContent tells the writes GitHub counts as content: what sends notifications.
func isContent(req *http.Request) bool {
	if req.Method == http.MethodDelete {
		return false
	}
	path := req.URL.Path
	for _, part := range []string{"/comments", "/reactions", "/requested_reviewers", "/reviews"} {
		if strings.Contains(path, part) {
			return true
		}
	}
	if strings.Contains(path, "/labels") {
		return false
	}
	return strings.Contains(path, "/pulls") || strings.Contains(path, "/issues")
}
