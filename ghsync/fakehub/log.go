package fakehub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub/session"
)

// Entry is a write that took effect. Route is the method and pattern of the table
// ("POST /repos/{owner}/{repo}/issues/{number}/comments"), "PUSH" for a push (Body is
// one line "old new ref" per ref) or "mutation <name>". Session is the id in a marker
// of the body, or "".
type Entry struct {
	Actor, Route, Path, Body, Session string
	Status                            int
	Time                              time.Time
	Content                           float64
}

// Request is a request that arrived, applied or not. Operation is the name of a GraphQL document.
// Counted is false for a 304, for git and for what costs nothing.
type Request struct {
	Actor, Method, Route, Path, Operation string
	Status                                int
	Counted                               bool
	Time                                  time.Time
}

// Budget is what a client may spend. A content write is a comment, pull request,
// reaction or review request; the change of a body counts half.
type Budget struct {
	Requests      int
	ContentWrites float64
}

// Reference is the budget of one session with two review rounds, one fix and a pull request.
var Reference = Budget{Requests: 25, ContentWrites: 12}

// journal is what arrived and what took effect.
type journal struct {
	*hub
	log      []Entry
	requests []Request
}

// record notes the request, and the write when it was applied.
func (c *call) record(out reply, applied bool) {
	r := Request{Actor: c.login(), Method: c.request.Method, Path: c.request.URL.RequestURI(), Operation: c.operation, Status: out.status, Time: c.at}
	if c.route != nil {
		r.Route = c.route.name()
	}
	r.Counted = !meter{c}.uncounted() || c.opt.Enterprise // a server without limits still counts
	c.server.requests = append(c.server.requests, r)
	c.server.traffic.note(c, out, applied)
	if !applied || c.write == "" || out.status >= 300 || out.status < 200 {
		return
	}
	id := session.Last(unescapeJSON(c.body))
	c.server.judgeWrite(id, c.write)
	c.server.judgeIntent(id, c.write, textOf(c.body))
	c.server.log = append(c.server.log, Entry{
		Actor: r.Actor, Route: c.write, Path: r.Path, Body: string(c.body), Status: out.status,
		Session: id, Time: c.at, Content: c.route.content,
	})
}

// textOf returns the text of a comment or pull request in a request's body.
func textOf(body []byte) string {
	var in struct{ Body string }
	_ = json.Unmarshal(body, &in) // another body has no marker
	return in.Body
}

// unescapeJSON undoes the escapes an encoder makes of the marker's brackets.
func unescapeJSON(body []byte) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(body))
}

func (v viewer) login() string {
	if v.actor == nil {
		return ""
	}
	return v.actor.login
}

// Log is the authoritative list of the writes that were applied, in order.
func (j *journal) Log() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]Entry(nil), j.log...)
}

// Calls is the list of all requests that arrived, in order.
func (j *journal) Calls() []Request {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]Request(nil), j.requests...)
}

// Requests is the number of requests an account made that count against its limit;
// "" counts all accounts.
func (j *journal) Requests(login string) int {
	n := 0
	for _, r := range j.Calls() {
		if r.Counted && (login == "" || key(login) == key(r.Actor)) {
			n++
		}
	}
	return n
}

// ContentWrites is what an account's writes cost; "" counts all accounts.
func (j *journal) ContentWrites(login string) float64 {
	sum := 0.0
	for _, e := range j.Log() {
		if login == "" || key(login) == key(e.Actor) {
			sum += e.Content
		}
	}
	return sum
}

// ResetLog forgets the requests and writes so far; what they did stays.
func (j *journal) ResetLog() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.log, j.requests = nil, nil
}

// AssertBudget reports an error when the account (not "": setting up may use others)
// spent more than b since the start or the last ResetLog.
func (j *journal) AssertBudget(tb TB, login string, b Budget) {
	tb.Helper()
	if n := j.Requests(login); n > b.Requests {
		tb.Errorf("%s made %d requests, budget %d:\n%s", login, n, b.Requests, j.Transcript())
	}
	if sum := j.ContentWrites(login); sum > b.ContentWrites {
		tb.Errorf("%s made %g content writes, budget %g:\n%s", login, sum, b.ContentWrites, j.Transcript())
	}
}

// Transcript is the requests so far, one line each, for messages of tests.
func (j *journal) Transcript() string {
	var b bytes.Buffer
	for i, r := range j.Calls() {
		free := ""
		if !r.Counted {
			free = " (not counted)"
		}
		fmt.Fprintf(&b, "%3d %s %s %s -> %d %s%s\n", i+1, r.Actor, r.Method, strings.TrimSpace(r.Path+" "+r.Operation), r.Status, http.StatusText(r.Status), free)
	}
	return b.String()
}
