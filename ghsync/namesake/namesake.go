// Package namesake keeps requests for a repository away from another one that has taken over its
// name. A server leads from the former name of a repository to the present one only until somebody
// makes a repository of that name; then the name leads there, and what is written by it, too.
//
// Promises: as long as a name is kept for a repository, a request that names it is answered as by a
// server on which the name was not taken over: a read is led to the repository by its id (301), a
// write is refused (307) and goes nowhere, and for a repository that is gone both are 404. To know
// that, a label of the repository is read right before each write, and right after each read of one
// thing; the label has an id of its own, its answer does not change, and an unchanged answer costs
// nothing of the server's limits. A list is not looked after: what is in it is read again before
// anything follows. Nor is GraphQL, whose answers tell the id of the repository.
//
// It stores nothing.
package namesake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/agentmux/agentmux/ghsync/transport"
)

// maxProbe is more than a server says of a label or of a repository.
const maxProbe = 1 << 20

// Names are the names that are kept for repositories. It is a transport below all that knows of limits,
// tokens and repetitions: what it asks of its own goes along with a request, with the token of that
// one. It is safe for concurrent use.
type Names struct {
	next  http.RoundTripper
	api   string // address of the API, with a slash at its end
	label string

	mu   sync.Mutex
	kept map[string]*name // by lower case owner/name
}

// name is one that is kept. The lock of Names guards it.
type name struct {
	called string // owner/name
	id     int64  // of the repository

	now   string            // what the repository is called now, if that is something else
	gone  bool              // there is no such repository any more, as was seen last
	label int64             // id of the label; 0: not known
	tags  map[string]string // of the last answers, by path
}

// New returns the names above next for the API at an address. label is one that the repositories have;
// one that lacks it costs more requests.
func New(next http.RoundTripper, api, label string) *Names {
	return &Names{next: next, api: strings.TrimSuffix(api, "/") + "/", label: label, kept: map[string]*name{}}
}

// Keep keeps a name, owner/name, for the repository with an id, which has or had it.
func (n *Names) Keep(called string, id int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.keep(called, id)
}

// keep is Keep for who has the lock.
func (n *Names) keep(called string, id int64) {
	if k := n.kept[strings.ToLower(called)]; k == nil || k.id != id || k.now != "" {
		n.kept[strings.ToLower(called)] = &name{called: called, id: id, tags: map[string]string{}}
	}
}

// GoneError says that a repository whose name is kept is not there any more.
type GoneError struct {
	Called string
	ID     int64
}

func (e *GoneError) Error() string {
	return fmt.Sprintf("the repository %s, id %d, is gone: nothing is sent to another one that may have its name now", e.Called, e.ID)
}

// Unwrap says what it is to those who know no names.
func (e *GoneError) Unwrap() error { return &transport.NotFound{Kind: "repository"} }

// Now returns what the repository that a name is kept for is called, as far as that was seen; a name that is
// not kept is returned as it is. The error is a *GoneError if the repository is gone.
func (n *Names) Now(called string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.kept[strings.ToLower(called)]
	for k != nil && k.now != "" { // the last one leads nowhere, see settle
		called, k = k.now, n.kept[strings.ToLower(k.now)]
	}
	if k != nil && k.gone {
		return "", &GoneError{Called: k.called, ID: k.id}
	}
	return called, nil
}

// Probe is the path below the API of what tells where a name leads: after a read of it Now is true.
func (n *Names) Probe(called string) string {
	return "repos/" + called + "/labels/" + url.PathEscape(n.label)
}

// RoundTrip sends the request where its name leads, if that is where it is to lead.
func (n *Names) RoundTrip(req *http.Request) (*http.Response, error) {
	k, rest := n.of(req.URL)
	if k == nil {
		return n.next.RoundTrip(req)
	}
	if req.Method != http.MethodGet {
		if instead, err := n.check(req, k, rest); instead != nil || err != nil {
			if req.Body != nil {
				_ = req.Body.Close() // it is not sent
			}
			return instead, err
		}
		return n.next.RoundTrip(req)
	}
	if n.lost(k) {
		return n.moved(req, k, rest), nil
	}
	resp, err := n.next.RoundTrip(req)
	if err != nil || resp.StatusCode >= 500 || req.URL.RawQuery != "" {
		return resp, err
	}
	instead, err := n.check(req, k, rest)
	if instead != nil || err != nil {
		_ = resp.Body.Close() // it is not what was asked for
		return instead, err
	}
	return resp, nil
}

// of returns the kept name in an address of the API, and what is behind it; nil if there is none.
func (n *Names) of(u *url.URL) (k *name, rest string) {
	path, ok := strings.CutPrefix(u.Scheme+"://"+u.Host+u.EscapedPath(), n.api+"repos/")
	parts := strings.SplitN(path, "/", 3)
	if !ok || len(parts) < 2 {
		return nil, ""
	}
	called := parts[0] + "/" + parts[1]
	if rest = strings.TrimPrefix(path, called); rest == "/installation" { // an App asks, which has no token yet
		return nil, ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.kept[strings.ToLower(called)], rest
}

// lost reports whether it was seen that a name does not lead to its repository any more.
func (n *Names) lost(k *name) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return k.now != ""
}

// check asks where a name leads. instead is the answer to the request in the place of the server's; nil if the
// name leads to its repository. After an error the request was not sent, or is of no use.
func (n *Names) check(req *http.Request, k *name, rest string) (instead *http.Response, err error) {
	label, err := n.ask(req, k, n.Probe(k.called))
	if err != nil {
		return nil, unsent(err)
	}
	if n.confirms(k, label) {
		return nil, nil
	}
	repository, err := n.ask(req, k, fmt.Sprintf("repositories/%d", k.id))
	if err != nil {
		return nil, unsent(err)
	}
	switch found, known := n.settle(k, label, repository); {
	case known && found:
		return nil, nil
	case known && n.lost(k):
		return n.moved(req, k, rest), nil
	case known:
		return respond(req, http.StatusNotFound, http.Header{}, "Not Found"), nil
	case repository.status >= 500:
		return nil, unsent(fmt.Errorf("find the repository %s by its id: status %d", k.called, repository.status))
	}
	return respond(req, repository.status, repository.header, string(repository.body)), nil // a limit, or the token
}

// answer is one to a question of ours.
type answer struct {
	path   string
	status int
	header http.Header
	body   []byte
}

// ask reads a path with the token of a request.
func (n *Names) ask(req *http.Request, k *name, path string) (answer, error) {
	ask, err := http.NewRequestWithContext(req.Context(), http.MethodGet, n.api+path, http.NoBody)
	if err != nil {
		return answer{}, err
	}
	for _, key := range []string{"Authorization", "User-Agent", "X-Github-Api-Version"} {
		if v := req.Header.Get(key); v != "" {
			ask.Header.Set(key, v)
		}
	}
	ask.Header.Set("Accept", "application/vnd.github+json")
	n.mu.Lock()
	if tag := k.tags[path]; tag != "" {
		ask.Header.Set("If-None-Match", tag)
	}
	n.mu.Unlock()
	resp, err := n.next.RoundTrip(ask)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxProbe))
	return answer{path, resp.StatusCode, resp.Header, body}, err
}

// confirms reports whether the label of a name is that of its repository.
func (n *Names) confirms(k *name, a answer) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k.label == 0 || a.status != http.StatusNotModified && labelOf(a) != k.label {
		return false
	}
	k.note(a)
	k.now, k.gone = "", false
	return true
}

// note remembers the tag of an answer.
func (k *name) note(a answer) {
	if tag := a.header.Get("ETag"); tag != "" && a.status == http.StatusOK {
		k.tags[a.path] = tag
	}
}

// labelOf is the id of a label; 0 if the answer is none.
func labelOf(a answer) int64 {
	var label struct{ ID int64 }
	if a.status != http.StatusOK || json.Unmarshal(a.body, &label) != nil {
		return 0
	}
	return label.ID
}

// settle notes where a name leads, by the label there and the repository as its id tells; known is false if
// the server did not say it. found: the name leads to the repository.
func (n *Names) settle(k *name, label, repository answer) (found, known bool) {
	var now struct {
		Name string `json:"full_name"`
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case repository.status == http.StatusNotModified: // the tag is that of an answer with the name
		now.Name = k.called
	case repository.status == http.StatusNotFound, repository.status == http.StatusGone:
		k.gone = true
		return false, true
	case repository.status != http.StatusOK || json.Unmarshal(repository.body, &now) != nil || now.Name == "":
		return false, false
	}
	k.now, k.gone = "", false
	if !strings.EqualFold(now.Name, k.called) {
		k.now = now.Name
		n.keep(now.Name, k.id)
		return false, true
	}
	k.note(repository)
	delete(k.tags, label.path)
	if k.label = labelOf(label); k.label != 0 {
		k.note(label)
	}
	return true, true
}

// moved is how a server answers for a name that a repository had: a read is led to it, a write is not carried out.
func (n *Names) moved(req *http.Request, k *name, rest string) *http.Response {
	to := fmt.Sprintf("%srepositories/%d%s", n.api, k.id, rest)
	if req.URL.RawQuery != "" {
		to += "?" + req.URL.RawQuery
	}
	status := http.StatusTemporaryRedirect
	if req.Method == http.MethodGet {
		status = http.StatusMovedPermanently
	}
	return respond(req, status, http.Header{"Location": {to}}, "Moved Permanently")
}

// respond is an answer without a server. A body that is no JSON becomes its message.
func respond(req *http.Request, status int, header http.Header, body string) *http.Response {
	if !json.Valid([]byte(body)) {
		message, _ := json.Marshal(map[string]string{"message": body}) // a text
		body, header = string(message), header.Clone()
		header.Set("Content-Type", "application/json; charset=utf-8")
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader([]byte(body))), ContentLength: int64(len(body)), Request: req,
	}
}

// unsent says of a request that it did not leave, in the words of package net, as those above know it.
func unsent(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
