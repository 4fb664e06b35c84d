package claim_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/fakehub/front"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/testexit"
)

// TestMain lets the test binary answer as the askpass program.
func TestMain(m *testing.M) {
	if asked, code := remote.AnswerAskpass(os.Args[1:], os.Stdout); asked {
		testexit.Exit(code)
	}
	os.Exit(m.Run())
}

const (
	widgets = "octo/widgets"
	repoID  = 1001
)

// clock is set by hand. What waits for the pace lets its time pass at once.
type clock struct {
	mu      sync.Mutex
	wall    time.Time
	running time.Duration
	timers  []timer
	manual  bool          // After waits for pass
	asked   chan struct{} // gets a value for each After, if it is not nil
}

type timer struct {
	at    time.Duration
	fires chan time.Time
}

func newClock() *clock {
	return &clock{wall: time.Date(2026, 11, 21, 10, 4, 31, 0, time.UTC), running: time.Second}
}

func (c *clock) Clock() claim.Clock {
	return claim.Clock{Now: c.now, Running: c.since, After: c.after}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

func (c *clock) since() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

func (c *clock) after(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := timer{c.running + d, make(chan time.Time, 1)}
	c.timers = append(c.timers, t)
	if !c.manual {
		c.advance(d, d)
	}
	if c.asked != nil {
		c.asked <- struct{}{}
	}
	return t.fires
}

// pass lets time pass by both clocks.
func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(d, d)
}

// jump moves the wall clock alone, as a suspended machine or a person does.
func (c *clock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(d, 0)
}

func (c *clock) advance(wall, running time.Duration) {
	c.wall, c.running = c.wall.Add(wall), c.running+running
	rest := c.timers[:0]
	for _, t := range c.timers {
		if t.at <= c.running {
			t.fires <- c.wall
		} else {
			rest = append(rest, t)
		}
	}
	c.timers = rest
}

// world is a server with one repository, to which the account bot may write.
type world struct {
	*fakehub.Server
	tb    testing.TB
	home  string // the state home of the machine of all hosts
	front string // where their git finds the server
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	opt := fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{{Login: "bot", Roles: map[string]fakehub.Role{widgets: fakehub.Write}}},
	}
	w := &world{Server: fakehub.Start(tb, opt), tb: tb, home: tb.TempDir()}
	w.front = front.Open(tb, w.Server, w.Token("bot"))
	return w
}

func (w *world) remote() remote.Repository {
	token := w.Token("bot")
	return remote.Repository{URL: w.front + "/" + widgets + ".git", Secret: func(context.Context) (string, error) { return token, nil }}
}

func (w *world) store() *gitrepo.Store {
	w.tb.Helper()
	store, err := claim.OpenStore(w.tb.Context(), w.home)
	if err != nil {
		w.tb.Fatal(err)
	}
	return store
}

// host is a host with a desk and a clock of its own.
type host struct {
	*claim.Remote
	id    claim.HostID
	clock *clock
}

func (w *world) host(change ...func(*claim.Options)) *host {
	w.tb.Helper()
	h := &host{clock: newClock()}
	o := claim.Options{Repo: w.remote(), Store: w.store(), RepoID: repoID, Host: claim.NewHostID(), Clock: h.clock.Clock()}
	for _, f := range change {
		f(&o)
	}
	h.Remote, h.id = claim.NewRemote(o), o.Host
	return h
}

// as gives a host its id.
func as(id claim.HostID) func(*claim.Options) { return func(o *claim.Options) { o.Host = id } }

// runs is what a desk is told of a run of GitHub Actions.
func runs(state claim.RunState, err error) func(*claim.Options) {
	return func(o *claim.Options) {
		o.ReadRun = func(context.Context, int64) (claim.RunState, error) { return state, err }
	}
}

// want is a claim of an issue for the session "s".
func want(issue int, state claim.State) claim.Want {
	return claim.Want{Issue: issue, Session: "s", Trigger: "label/agentmux/2026-11-21T10:04:31Z/9", State: state}
}

func (w *world) take(h *host, issue int, state claim.State) claim.Held {
	w.tb.Helper()
	held, err := h.Take(w.tb.Context(), want(issue, state))
	if err != nil {
		w.tb.Fatalf("take: %v", err)
	}
	return held
}

// find is the claim of an issue as a host sees it now.
func (w *world) find(h *host, issue int) claim.Seen {
	w.tb.Helper()
	all, err := h.Look(w.tb.Context())
	if err != nil {
		w.tb.Fatalf("look: %v", err)
	}
	for _, s := range all {
		if s.Issue == issue {
			return s
		}
	}
	return claim.Seen{Issue: issue}
}

// watch lets a host look at an issue every two minutes for a time, in short tests at its beginning,
// its middle and its end.
func (w *world) watch(h *host, issue int, d time.Duration) claim.Seen {
	w.tb.Helper()
	every := 2 * time.Minute
	if testing.Short() {
		every = max(every, (d+1)/2)
	}
	seen := w.find(h, issue)
	for ; d > 0; d -= every {
		h.clock.pass(min(d, every))
		seen = w.find(h, issue)
	}
	return seen
}

// ref is where the server has a ref below refs/agentmux/; empty for nowhere.
func (w *world) ref(name string) string { return w.Repo(widgets).Refs()["refs/agentmux/"+name] }

// pushes is how many pushes arrived.
func (w *world) pushes() int { return w.count("GIT push") }

// count is how many git requests of a kind arrived after the listing of capabilities.
func (w *world) count(route string) int {
	n := 0
	for _, r := range w.Calls() {
		if r.Route == route {
			n++
		}
	}
	return n
}
