package ghsync

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
)

// Write is a request that a rehearsal held back.
type Write struct {
	Method string // POST, PATCH, PUT, DELETE, or MUTATION
	// Path is below the API, as repos/o/r/issues/1/comments. What would have been made has
	// {id} and {number} in place of numbers that nobody knows yet; a mutation has its name.
	Path string
	Body map[string]any
}

// Text returns a field of the body, or "".
func (w Write) Text(field string) string {
	text, _ := w.Body[field].(string)
	return text
}

// Rehearsal returns a client that reads what c reads and sends no write: record gets each
// one, and the caller an answer as if the server had taken it.
func (c *Client) Rehearsal(record func(Write)) (*Client, error) {
	o := c.stack.Options
	t := &rehearsal{next: o.HTTP, base: c.api.BaseURL.Path, graphql: c.stack.GraphQL.Path, client: c, record: record}
	o.HTTP = t
	const many = 1 << 30
	o.Limits = transport.Limits{WriteEvery: time.Nanosecond, ContentPerMinute: many, ContentPerHour: many}
	return New(o)
}

// Numbers of what was never made: far above those of a server.
const (
	rehearsedNumber = 1 << 40
	rehearsedID     = 1 << 50
)

// rehearsal stands in place of the network for writes.
type rehearsal struct {
	next          http.RoundTripper
	base, graphql string
	client        *Client // that of the true run, for what it knows
	record        func(Write)

	mu   sync.Mutex
	last int64
}

func (t *rehearsal) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		if madeUp(req.URL.Path) {
			return respond(req, http.StatusOK, []any{}), nil
		}
		return t.next.RoundTrip(req)
	}
	w := Write{Method: req.Method, Path: named(strings.TrimPrefix(req.URL.Path, t.base)), Body: map[string]any{}}
	if req.Body != nil {
		data, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, fmt.Errorf("rehearse: %w", err)
		}
		if err := req.Body.Close(); err != nil {
			return nil, fmt.Errorf("rehearse: %w", err)
		}
		if len(data) > 0 {
			if err := json.Unmarshal(data, &w.Body); err != nil {
				return nil, fmt.Errorf("rehearse: %w", err)
			}
		}
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(data))
	}
	if req.URL.Path == t.graphql {
		if !strings.HasPrefix(w.Text("query"), "mutation") {
			return t.next.RoundTrip(req)
		}
		if t.client.withoutGraphQL() {
			return respond(req, http.StatusNotFound, map[string]any{}), nil
		}
		w.Method, w.Path = "MUTATION", w.Text("operationName")
	}
	t.record(w)
	return t.answer(req, w)
}

func madeUp(path string) bool { return named(path) != path }

// named puts words in the place of numbers of what was never made.
func named(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		switch n, err := strconv.ParseInt(part, 10, 64); {
		case err != nil:
		case n >= rehearsedID:
			parts[i] = "{id}"
		case n >= rehearsedNumber:
			parts[i] = "{number}"
		}
	}
	return strings.Join(parts, "/")
}

// answer is what the server would have said, as far as this package reads it.
func (t *rehearsal) answer(req *http.Request, w Write) (*http.Response, error) {
	t.mu.Lock()
	t.last++
	n := t.last
	t.mu.Unlock()
	path := w.Path
	switch {
	case w.Method == "MUTATION":
		return respond(req, http.StatusOK, map[string]any{"data": map[string]any{}}), nil
	case w.Method == http.MethodDelete:
		return respond(req, http.StatusNoContent, nil), nil
	case strings.HasSuffix(path, "/comments"):
		return respond(req, http.StatusCreated, map[string]any{"id": rehearsedID + n, "body": w.Body["body"]}), nil
	case w.Method == http.MethodPost && strings.Contains(path, "/issues/") && strings.HasSuffix(path, "/labels"):
		return t.labels(req, w)
	case strings.HasSuffix(path, "/pulls"):
		branch, owner := w.Text("head"), strings.Split(path, "/")[1]
		if from, name, fork := strings.Cut(branch, ":"); fork {
			owner, branch = from, name
		}
		author, err := t.client.Viewer(req.Context())
		if _, later := transport.Later(err); later { // an App cannot ask everywhere who it is; nobody has its name
			return nil, err
		}
		return respond(req, http.StatusCreated, map[string]any{
			"user":   map[string]any{"login": author.Login, "id": author.ID},
			"number": rehearsedNumber + n, "node_id": "rehearsed", "state": "open", "draft": w.Body["draft"] == true, "title": w.Body["title"],
			"body": w.Body["body"], "head": map[string]any{"ref": branch, "user": map[string]any{"login": owner}},
		}), nil
	}
	return respond(req, http.StatusOK, map[string]any{"id": rehearsedID + n}), nil // an empty answer would be none
}

// labels adds those of the request to what the issue has.
func (t *rehearsal) labels(req *http.Request, w Write) (*http.Response, error) {
	get := req.Clone(req.Context())
	get.Method, get.Body, get.ContentLength, get.GetBody = http.MethodGet, nil, 0, nil
	get.Header.Del("Content-Type")
	list := []any{}
	resp, err := t.next.RoundTrip(get)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || resp.StatusCode != http.StatusOK {
		list = []any{} // the rehearsal then knows of no label to take off
	}
	names, _ := w.Body["labels"].([]any)
	for _, name := range names {
		list = append(list, map[string]any{"name": name})
	}
	return respond(req, http.StatusOK, list), nil
}

func respond(req *http.Request, status int, body any) *http.Response {
	var data []byte
	if body != nil {
		data, _ = json.Marshal(body) // of values made here
	}
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, Request: req,
		Body: io.NopCloser(bytes.NewReader(data)), ContentLength: int64(len(data)),
	}
}
