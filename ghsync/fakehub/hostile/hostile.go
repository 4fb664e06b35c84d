// Package hostile is a way to a GitHub that answers as none should: it breaks, bends and swells what a true server says.
// Tests put it below a client, and ask that the client neither believes, forgets nor asks for ever. It stores nothing.
package hostile

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Host is where links and redirects of a hostile answer lead.
const Host = "elsewhere.example"

// Kind is what is wrong with the answers.
type Kind string

const (
	WeakTags  Kind = "weak ETags"
	NoUsers   Kind = "users that are null"
	NewEvents Kind = "kinds of events that did not exist"
	Many      Kind = "200 labels, and long pages"
	Circle    Kind = "each page is the first one, and has a next"
	Elsewhere Kind = "the next page is on another host"
	Redirect  Kind = "a redirect to another host"
	Cut       Kind = "bodies that are cut"
	Huge      Kind = "ids that no integer holds"
	Largest   Kind = "ids at the end of the integers"
	Page      Kind = "a page of HTML in place of JSON"
	Null      Kind = "null in place of each answer"
	Empty     Kind = "no body"
	Deep      Kind = "nested as deep as a body is long"
)

// bentTag is before the ETag of a text that is another one than the server's.
const bentTag = "W/bent-"

// Kinds are all of them.
var Kinds = []Kind{WeakTags, NoUsers, NewEvents, Many, Circle, Elsewhere, Redirect, Cut, Huge, Largest, Page, Null, Empty, Deep}

// Way passes requests on and spoils the answers. It is safe for concurrent use.
type Way struct {
	Next http.RoundTripper // nil: the default one
	// Own is a login that is never null: the account that asks is not deleted.
	Own string

	mu       sync.Mutex
	kind     Kind
	requests int
	strayed  []string
}

// Set changes what is wrong from now on; "" is nothing.
func (w *Way) Set(k Kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kind, w.requests = k, 0
}

// Requests counts those since the last Set.
func (w *Way) Requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

// Strayed are the requests that came to Host, with what they carried.
func (w *Way) Strayed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.strayed
}

// RoundTrip answers for Host itself; nothing of it reaches a network.
func (w *Way) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	kind := w.kind
	w.requests++
	if req.URL.Hostname() == Host {
		w.strayed = append(w.strayed, req.Method+" "+req.URL.String()+" Authorization: "+req.Header.Get("Authorization"))
		w.mu.Unlock()
		return answer(req, http.StatusOK, "[]"), nil
	}
	w.mu.Unlock()
	next := w.Next
	if next == nil {
		next = http.DefaultTransport
	}
	if kind == "" {
		return next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	switch kind {
	case Redirect:
		resp := answer(req, http.StatusTemporaryRedirect, "")
		resp.Header.Set("Location", "https://"+Host+req.URL.RequestURI())
		return resp, nil
	case Circle:
		q := req.URL.Query()
		q.Del("page")
		req.URL.RawQuery = q.Encode()
	case WeakTags:
		req.Header.Set("If-None-Match", strings.TrimPrefix(req.Header.Get("If-None-Match"), "W/"))
	case NoUsers, NewEvents, Many, Huge, Largest:
		tag, ours := strings.CutPrefix(req.Header.Get("If-None-Match"), bentTag)
		if req.Header.Del("If-None-Match"); ours {
			req.Header.Set("If-None-Match", tag)
		}
	}
	resp, err := next.RoundTrip(req)
	if err != nil || resp.StatusCode < 200 || resp.StatusCode >= 300 && resp.StatusCode != http.StatusNotModified {
		return resp, err
	}
	return w.spoil(kind, resp)
}

// spoil changes an answer. One to a write is as the server gave it, but for its body: whether the write took effect has
// to be found out.
func (w *Way) spoil(kind Kind, resp *http.Response) (*http.Response, error) {
	if tag := resp.Header.Get("ETag"); kind == WeakTags && tag != "" && !strings.HasPrefix(tag, "W/") {
		resp.Header.Set("ETag", "W/"+tag)
	}
	if resp.StatusCode == http.StatusNotModified || resp.StatusCode == http.StatusNoContent {
		return resp, nil
	}
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = resp.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	list := bytes.HasPrefix(bytes.TrimSpace(body), []byte("["))
	address := resp.Request.URL
	switch kind {
	case Circle, Elsewhere:
		if list {
			to, q := *address, address.Query()
			page, _ := strconv.Atoi(q.Get("page"))
			q.Set("page", strconv.Itoa(max(page, 1)+1))
			if to.RawQuery = q.Encode(); kind == Elsewhere {
				to.Scheme, to.Host = "https", Host
			}
			resp.Header.Set("Link", "<"+to.String()+`>; rel="next"`)
		}
	case Page:
		resp.Header.Set("Content-Type", "text/html")
		body = []byte("<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in to continue</body></html>")
	case Null:
		body = []byte("null")
	case Empty:
		body = nil
	case Deep:
		body = []byte(strings.Repeat("[", 100_000))
	case NoUsers, NewEvents, Many, Huge, Largest:
		body = w.bend(kind, body)
		if tag := resp.Header.Get("ETag"); tag != "" {
			resp.Header.Set("ETag", bentTag+tag)
		}
	}
	resp.ContentLength, resp.Body = int64(len(body)), io.NopCloser(bytes.NewReader(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	if kind == Cut {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), cut{}))
	}
	return resp, nil
}

// cut is a connection that ended too early.
type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// bend changes the values of a document; what is not JSON stays.
func (w *Way) bend(kind Kind, body []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return body
	}
	bent, err := json.Marshal(bender{kind, w.Own}.value("", v))
	if err != nil {
		return body
	}
	return bent
}

func answer(req *http.Request, status int, body string) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}
