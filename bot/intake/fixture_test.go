package intake_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/fakehub/hostile"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

const (
	robot   = "robot"
	widgets = "octo/widgets"
	label   = "agentmux"
)

type (
	requestOf = http.Request
	key       int
)

// forSession marks what is not of the intake.
const forSession key = 0

func secretOf(value string) redact.Secret { return redact.NewSecret(value) }

// direct sends requests to a handler without a network, so that the clock of a bubble moves.
type direct struct {
	http.Handler
	before func(*http.Request) // may be nil
	after  func(*http.Request)
}

func (d *direct) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if d.before != nil {
		d.before(req)
	}
	r := req.Clone(req.Context())
	r.RequestURI, r.Host, r.RemoteAddr = req.URL.RequestURI(), req.URL.Host, "127.0.0.1:1"
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	defer func() {
		if cut := recover(); cut == http.ErrAbortHandler {
			resp, err = nil, io.ErrUnexpectedEOF
		} else if cut != nil {
			panic(cut)
		}
	}()
	d.ServeHTTP(w, r)
	if d.after != nil {
		d.after(req)
	}
	resp = w.Result()
	resp.Request = req
	return resp, nil
}

// world is a server whose time is that of the bubble.
type world struct {
	*fakehub.Server
	t     *testing.T
	wire  *direct
	began time.Time

	hostile *hostile.Way // of the clients that are made; nil: none
}

func options(change ...func(*fakehub.Options)) fakehub.Options {
	o := fakehub.Options{
		Now: time.Now, Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{
			{Login: robot, Roles: map[string]fakehub.Role{widgets: fakehub.Write}}, {Login: "dev", Roles: map[string]fakehub.Role{widgets: fakehub.Write}},
		},
	}
	for _, f := range change {
		f(&o)
	}
	return o
}

// inTime runs f in a bubble, in which hours pass in no time.
func inTime(t *testing.T, f func(*testing.T, *world), change ...func(*fakehub.Options)) {
	t.Helper()
	s, err := fakehub.New(options(change...))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		defer s.Close()
		w := &world{Server: s, t: t, wire: &direct{Handler: s}, began: time.Now()}
		f(t, w)
		s.Check(t)
	})
}

// client is one with the limits of the real thing.
func (w *world) client() *ghsync.Client {
	w.t.Helper()
	at := transport.Addresses{API: w.API(), GraphQL: w.GraphQL(), Server: w.URL()}
	return w.clientOf(transport.StaticToken(transport.ModeToken, redact.NewSecret(w.Token(robot)), at))
}

func (w *world) clientOf(tokens transport.TokenSource) *ghsync.Client {
	w.t.Helper()
	var way http.RoundTripper = w.wire
	if w.hostile != nil {
		way = w.hostile
	}
	c, err := ghsync.New(transport.Options{APIURL: w.API(), GraphQLURL: w.GraphQL(), ServerURL: w.URL(), HTTP: way, Token: tokens})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// told is what a callback was told.
type told[T any] struct {
	mu   sync.Mutex
	list []T
}

func (l *told[T]) add(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, v)
}

func (l *told[T]) all() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

// inbox is what a poller handed on, with the time since the start.
type inbox struct {
	mu   sync.Mutex
	all  []taken
	fail error // returned to the poller
	came chan struct{}
}

type taken struct {
	intake.Changes
	at time.Duration
}

func (w *world) inbox() *inbox { return &inbox{came: make(chan struct{}, 1)} }

func (w *world) take(in *inbox) func(context.Context, intake.Changes) error {
	return func(_ context.Context, c intake.Changes) error {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.fail != nil {
			return in.fail
		}
		in.all = append(in.all, taken{c, time.Since(w.began)})
		select {
		case in.came <- struct{}{}:
		default:
		}
		return nil
	}
}

// requests are the candidates so far, each once, as "name#number".
func (in *inbox) requests() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	var list []string
	for _, c := range in.all {
		for _, r := range c.Candidates {
			list = append(list, fmt.Sprintf("%s/%s#%d", r.Owner, r.Repo, r.Issue))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// heard are the bodies of the comments so far, each once.
func (in *inbox) heard() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	var list []string
	for _, c := range in.all {
		for _, m := range c.Comments {
			list = append(list, string(m.Body))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// changes is all that was handed on so far.
func (in *inbox) changes() []taken {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.all)
}

func (in *inbox) clear() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.all = nil
}

// until waits for a fact, and returns how long that took. It is looked at each time something
// was handed on.
func (w *world) until(in *inbox, most time.Duration, fact func() bool) time.Duration {
	w.t.Helper()
	began, late := time.Now(), time.After(most)
	for !fact() {
		select {
		case <-in.came:
		case <-late:
			w.t.Fatalf("not within %s\n%s", most, w.counted())
		}
	}
	return time.Since(began)
}

// has is the fact that an issue was found to ask for work.
func (in *inbox) has(request string) func() bool {
	return func() bool { return slices.Contains(in.requests(), request) }
}

// poller starts a poller that ends with the bubble.
func (w *world) poller(in *inbox, change ...func(*intake.Options)) *intake.Poller {
	w.t.Helper()
	r := w.Repo(widgets)
	o := intake.Options{Client: w.client(), Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}, RepoID: r.ID(), Label: label, Found: w.take(in)}
	for _, f := range change {
		f(&o)
	}
	p := intake.NewPoller(o)
	w.run(p.Run)
	return p
}

// run runs something until the end of the bubble.
func (w *world) run(f func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	end = func() {
		cancel()
		<-done
	}
	w.t.Cleanup(end)
	return end
}

// each lets a poller read at one interval.
func each(d time.Duration) func(*intake.Options) {
	return func(o *intake.Options) {
		o.Pace = func() intake.Pace {
			return intake.Pace{Every: d, Comments: min(d, 15*time.Second), Sync: 30 * time.Minute}
		}
	}
}

// wait lets time pass.
func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (w *world) issue(title string, labels ...string) int {
	return w.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: title, Author: "dev", Labels: labels})
}

// lists counts the requests to the two lists of the repository since the last call of ResetLog.
func (w *world) lists() (issues, comments int) {
	for _, r := range w.Calls() {
		switch {
		case strings.Contains(r.Path, "/issues?direction=desc"), strings.Contains(r.Path, "/issues?") && strings.Contains(r.Path, "state=all"):
			issues++
		case strings.Contains(r.Path, "/issues/comments?") && strings.Contains(r.Path, "direction=desc"):
			comments++
		}
	}
	return issues, comments
}

// counted lists the requests that cost something of the quota.
func (w *world) counted() string {
	var b strings.Builder
	for _, r := range w.Calls() {
		if r.Counted {
			fmt.Fprintf(&b, "%s %s %s -> %d\n", r.Time.Sub(w.began), r.Method, r.Path, r.Status)
		}
	}
	return b.String()
}
