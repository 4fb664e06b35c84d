package bot_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/cooldown"
)

// errHere ends a session of these tests, which are about how it begins, before it starts an agent.
var errHere = errors.New("the test ends here")

// begun is a rig whose sessions begin, as far as their log. Their agents are the program at cli.
type begun struct {
	*rig
	cli string

	mu    sync.Mutex
	times map[string]int // how often a session was taken up, by its issue
}

// newBegun has open called with each session that is taken up, the n-th time.
func newBegun(t *testing.T, open func(issue string, n int)) *begun {
	t.Helper()
	r := &begun{rig: newRig(t), times: map[string]int{}}
	r.cli = filepath.Join(t.TempDir(), "mine")
	own := filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Sprintf("version: 2\ndefaults: {provider: mine}\nproviders: {mine: {command: %q, prompt_mode: arg}}\ngithub: {write_interval: 1ms}\nbot: {poll_interval: 5s}\n", r.cli)
	if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.install()
	r.roomy = &roomy{own: own, log: func(file string) (*slog.Logger, io.Closer, error) {
		_, issue, _ := strings.Cut(file, "-issue-")
		issue, _, _ = strings.Cut(issue, "-")
		r.mu.Lock()
		r.times[issue]++
		n := r.times[issue]
		r.mu.Unlock()
		open(issue, n)
		return nil, nil, errHere
	}}
	return r
}

// install puts the program of the agents there.
func (r *begun) install() {
	r.Helper()
	if err := os.WriteFile(r.cli, []byte("#!/bin/sh\n"), 0o700); err != nil {
		r.Fatal(err)
	}
}

// ask has mia ask for so many issues more.
func (r *begun) ask(n int) {
	for range n {
		r.repo.Label(r.repo.AddIssue(fakehub.IssueSpec{Title: "Say two", Author: mia}), "agentmux", mia)
	}
	r.pass(10 * time.Second)
}

// taken is how often the session of an issue was taken up.
func (r *begun) taken(issue string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.times[issue]
}

// told reports whether a comment on an issue has a text.
func (r *begun) told(issue int, text string) bool {
	return slices.ContainsFunc(r.repo.Comments(issue), func(c fakehub.CommentView) bool { return strings.Contains(c.Body, text) })
}

// A panic of a session is counted and costs that session a pause. The bot serves on, and the session beside it is
// not even let go of.
func TestGitHub89APanicOfASessionIsItsOwn(t *testing.T) {
	back := make(chan struct{})
	release := sync.OnceFunc(func() { close(back) })
	r := newBegun(t, func(issue string, n int) {
		switch {
		case issue == "1" && n == 1:
			panic("a fault")
		case issue == "1" && n == 2:
			release()
		case issue == "2":
			<-back
		}
	})
	r.ask(2)
	b := r.bot(false)
	requeued := false
	r.serveWith(b, func() bool {
		begun := r.taken("1") >= 1 && r.taken("2") >= 1
		if now := b.Report(); begun && now.Panics > 0 {
			if requeued = now.Tickets > 0 || now.Taken != 2; requeued {
				release()
			}
		}
		return begun && r.taken("1") >= 2 || requeued
	})
	if requeued {
		t.Error("a slot was given back")
	}
	if n := b.Report().Panics; n != 1 {
		t.Errorf("%d panics are counted", n)
	}
}

// A request whose agents have no program here waits for it, says so, and begins by itself once it is there.
func TestGitHub80ARequestWaitsForTheProgramOfItsAgents(t *testing.T) {
	r := newBegun(t, func(string, int) {})
	if err := os.Remove(r.cli); err != nil {
		t.Fatal(err)
	}
	r.ask(1)
	there := false
	r.serveUntil(func() bool {
		if !there && r.told(1, "mine: its program") && slices.Contains(r.repo.Issue(1).Labels, "agentmux:queued") {
			if r.taken("1") != 0 {
				t.Error("it began without its program")
			}
			r.install()
			r.pass(2 * time.Minute)
			there = true
		}
		return r.taken("1") > 0
	})
	if !there {
		t.Error("it began before it said what it waits for")
	}
}

// A request whose provider refuses more on this machine waits for it, says until when, and begins by itself once
// another session was answered.
func TestGitHub80ARequestWaitsForItsProvider(t *testing.T) {
	r := newBegun(t, func(string, int) {})
	r.ask(1)
	b := r.bot(false)
	cool, login := cooldown.In(r.state), cooldown.Login{Provider: "mine", Account: agent.Provider{Name: "mine"}.Account(agent.EnvSpec{})}
	refused := r.now()
	until := refused.Add(3 * time.Hour)
	if err := cool.Note(login, cooldown.Refusal{Cause: "limit", At: refused, Until: until}, refused); err != nil {
		t.Fatal(err)
	}
	waited := false
	r.serveWith(b, func() bool {
		if !waited && r.told(1, "mine refuses more until about "+until.UTC().Format("15:04 UTC")) && slices.Contains(r.repo.Issue(1).Labels, "agentmux:queued") {
			if r.taken("1") != 0 {
				t.Error("it began although its provider refuses more")
			}
			r.pass(2 * time.Minute)
			if err := cool.Answered(login, "another", r.now(), r.now()); err != nil {
				t.Error(err)
			}
			waited = true
		}
		return r.taken("1") > 0
	})
	if !waited {
		t.Error("it began before it said what it waits for")
	}
}

// holdFetches has requests for objects wait until fetched is called, and tells whether one came. Refs, by which
// hosts claim issues, are answered meanwhile.
func (r *begun) holdFetches() (fetching *atomic.Bool, fetched func()) {
	fetching, done := new(atomic.Bool), make(chan struct{})
	at, err := url.Parse(r.server.URL())
	if err != nil {
		r.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(at)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if bytes.Contains(body, []byte("command=fetch")) {
			fetching.Store(true)
			select {
			case <-done:
			case <-req.Context().Done():
			}
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, req)
	}))
	r.Cleanup(front.Close)
	r.connect(front.URL)
	return fetching, sync.OnceFunc(func() { close(done) })
}

// The first fetch of a repository may take its time: each request is answered meanwhile.
func TestTheFirstFetchDelaysNoComment(t *testing.T) {
	r := newBegun(t, func(string, int) {})
	fetching, fetched := r.holdFetches()
	r.ask(1)
	asked := 1
	r.serveUntil(func() bool {
		switch {
		case asked == 1 && fetching.Load() && r.told(1, "which is fetched"):
			r.ask(2)
			asked = 3
		case asked == 3 && r.told(2, "") && r.told(3, ""):
			if r.taken("1")+r.taken("2")+r.taken("3") > 0 {
				t.Error("a session began without the repository")
			}
			fetched()
			asked = 4
		}
		return r.taken("1") > 0 && r.taken("2")+r.taken("3") > 0 // whichever was asked for first
	})
	if asked != 4 {
		t.Errorf("sessions began before the repository was there")
	}
}
