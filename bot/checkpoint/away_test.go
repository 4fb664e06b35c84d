package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
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

const ref = "refs/agentmux/sessions/s"

// machine is one that keeps checkpoints of the session s in a store of its own.
type machine struct {
	checkpoint.Away
	t     *testing.T
	hub   *fakehub.Server
	front string // where its git finds the server
	store *gitrepo.Store
	noted []string
	known struct{ base, tree, onTop string } // see base and onTop
}

func newHub(t *testing.T) *fakehub.Server {
	t.Helper()
	return fakehub.Start(t, fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{{Login: "bot", Roles: map[string]fakehub.Role{"octo/widgets": fakehub.Write}}},
	})
}

func newMachine(t *testing.T, hub *fakehub.Server, host string) *machine {
	t.Helper()
	store, err := gitrepo.Open(t.Context(), t.TempDir()+"/store.git")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, hub: hub, store: store}
	if hub != nil {
		m.front = front.Open(t, hub, hub.Token("bot"))
	}
	m.Away = checkpoint.Away{
		Host: host,
		Pass: func(context.Context, bool) (bool, error) { return true, nil },
		Note: func(commit string) error { m.noted = append(m.noted, commit); return nil },
	}
	return m
}

// commit makes a checkpoint that differs by text.
func (m *machine) commit(text string) string {
	m.t.Helper()
	message, err := checkpoint.Manifest{Session: "s", Issue: 1, Host: m.Host}.Message()
	if err != nil {
		m.t.Fatal(err)
	}
	tree, err := m.store.BuildTree(m.t.Context(), map[string][]byte{"session/state.json": []byte(text)}, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	id, err := m.store.Commit(m.t.Context(), gitrepo.CommitSpec{
		Tree: tree, Message: message, Author: gitrepo.Signature{Name: "a", Mail: "a@localhost"}, Date: time.Unix(1, 0),
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return id
}

func (m *machine) push(commit string, guard error) error {
	return m.Push(m.t.Context(), m.store, checkpoint.Pushing{
		To: m.server(), Session: "s", Commit: commit, Guard: func(context.Context) error { return guard },
	})
}

func (m *machine) server() remote.Repository {
	token := m.hub.Token("bot")
	return remote.Repository{URL: m.front + "/octo/widgets.git", Secret: func(context.Context) (string, error) { return token, nil }}
}

func (m *machine) there() string { return m.hub.Repo("octo/widgets").Refs()[ref] }

// Each checkpoint takes the place of the one before, also where the process was killed before it
// noted that one, and where the ref was removed.
func TestACheckpointTakesThePlaceOfTheLast(t *testing.T) {
	t.Parallel()
	m := newMachine(t, newHub(t), "h_1")
	first, second, third := m.commit("1"), m.commit("2"), m.commit("3")
	for _, id := range []string{first, second} {
		if err := m.push(id, nil); err != nil || m.there() != id {
			t.Fatalf("at %s: %v", m.there(), err)
		}
	}
	m.Last = first // the second was not noted
	if err := m.push(third, nil); err != nil || m.there() != third || m.noted[len(m.noted)-1] != third {
		t.Errorf("at %s, noted %v: %v", m.there(), m.noted, err)
	}
	m.Last = second
	if err := m.push(third, nil); err != nil || m.Last != third { // a lost answer
		t.Errorf("again: %v", err)
	}
}

func TestACheckpointOfAnotherHostStays(t *testing.T) {
	t.Parallel()
	hub := newHub(t)
	a, b := newMachine(t, hub, "h_1"), newMachine(t, hub, "h_2")
	if err := a.push(a.commit("1"), nil); err != nil {
		t.Fatal(err)
	}
	at := a.there()
	// The store of two hosts of one machine is the same.
	for name, store := range map[string]*gitrepo.Store{"of another machine": b.store, "of this machine": a.store} {
		b.store = store
		err := b.push(b.commit("2"), nil)
		var other *checkpoint.OtherHostError
		if !errors.As(err, &other) || other.ID != at || b.there() != at || len(b.noted) > 0 {
			t.Errorf("%s: %v, at %s, noted %v", name, err, b.there(), b.noted)
		}
	}
}

// TestGitHub67AnotherHostsCheckpointHasTheClaimReadAgain is part of row 67 of github section 15: a host that was taken for dead
// need not wait for its next beat to see that.
func TestGitHub67AnotherHostsCheckpointHasTheClaimReadAgain(t *testing.T) {
	t.Parallel()
	hub := newHub(t)
	a, b := newMachine(t, hub, "h_1"), newMachine(t, hub, "h_2")
	lost, asked := errors.New("the claim is lost"), 0
	b.Reread = func(context.Context) error { asked++; return lost }
	if err := a.push(a.commit("1"), nil); err != nil {
		t.Fatal(err)
	}
	if err := b.push(b.commit("2"), nil); !errors.Is(err, lost) || !errors.As(err, new(*checkpoint.OtherHostError)) || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

// Case 79: once the claim is lost no checkpoint is pushed.
func TestGitHub79TheGuardIsAskedBeforeACheckpoint(t *testing.T) {
	t.Parallel()
	m := newMachine(t, newHub(t), "h_1")
	lost := errors.New("the claim is lost")
	if err := m.push(m.commit("1"), lost); !errors.Is(err, lost) || m.there() != "" {
		t.Errorf("%v, at %q", err, m.there())
	}
	m.Pass = func(context.Context, bool) (bool, error) { return false, nil }
	if err := m.push(m.commit("1"), nil); !errors.Is(err, checkpoint.ErrBusy) || m.there() != "" {
		t.Errorf("%v, at %q", err, m.there())
	}
}

// The last checkpoint of a session is pushed again where the server broke off, and where it refused for now; not
// where it refuses. Of any other one a later checkpoint makes up for it.
func TestTheLastCheckpointIsPushedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  fakehub.Fault
		rule   string // pushes to such refs are refused
		final  bool
		pushed bool
	}{
		"the server is out of order": {fault: fakehub.Fault{Route: "GIT push-refs", Times: 1, Status: 503}, final: true, pushed: true},
		"it breaks off":              {fault: fakehub.Fault{Route: "GIT push", Times: 1, Status: 500}, final: true, pushed: true},
		"one that is not the last":   {fault: fakehub.Fault{Route: "GIT push-refs", Times: 1, Status: 503}},
		"a rule refuses it":          {rule: "refs/agentmux/*", final: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, newHub(t), "h_1")
			pushes := 0
			m.Pass = func(context.Context, bool) (bool, error) { pushes++; return true, nil }
			if c.rule != "" {
				m.hub.Repo("octo/widgets").RefusePush(fakehub.HiddenRule(c.rule))
			} else {
				m.hub.Inject(c.fault)
			}
			id := m.commit("1")
			err := m.Push(t.Context(), m.store, checkpoint.Pushing{
				To: m.server(), Session: "s", Commit: id, Final: c.final, Guard: func(context.Context) error { return nil },
			})
			if (err == nil) != c.pushed || (m.there() == id) != c.pushed || (pushes == 2) != c.pushed {
				t.Errorf("%v, at %q after %d pushes", err, m.there(), pushes)
			}
		})
	}
}

func TestAManifestIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	m := checkpoint.Manifest{
		V: 1, Session: "s", Repo: "octo/widgets", Issue: 3, Host: "h_1", At: time.Unix(9, 0).UTC(), Record: 7, Base: "b",
		Files: map[string]string{"state.json": checkpoint.Digest(nil)}, Work: map[string]checkpoint.Work{"2.1": {Base: "b", Changed: map[string]string{"<a>": ""}}},
		LeftOut: []string{"work/2.1/x: is a link"},
	}
	text, err := m.Message()
	if err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.ParseMessage(text)
	again, _ := got.Message()
	if err != nil || again != text {
		t.Errorf("%s\nis read as\n%s, %v", text, again, err)
	}
	for text, want := range map[string]error{"checkpoint of s\n\n{\"v\": 2, \"files\": 7}": checkpoint.ErrNewer, "checkpoint of s\n\nphase coding": nil, "": nil, "a\n\n{}": nil} {
		if _, err := checkpoint.ParseMessage(text); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A checkpoint that nobody changes goes after checkpoint.keep, unless its session is claimed. One that
// changes stays, and so does every other ref.
func TestOldCheckpointsGo(t *testing.T) {
	t.Parallel()
	hub := newHub(t)
	m, other := newMachine(t, hub, "h_1"), newMachine(t, hub, "h_2")
	if err := m.push(m.commit("1"), nil); err != nil {
		t.Fatal(err)
	}
	refs, held, now := len(hub.Repo("octo/widgets").Refs()), false, time.Unix(1000, 0)
	const keep = time.Hour
	look := func(m *machine, later time.Duration, keep time.Duration) []string {
		t.Helper()
		now = now.Add(later)
		gone, err := checkpoint.RemoveOld(t.Context(), m.store, checkpoint.Removing{
			From: m.server(), Keep: keep, Now: now, Held: func(s string) bool { return s == "s" && held },
		})
		if err != nil {
			t.Fatal(err)
		}
		return gone
	}
	stays := func(what string, gone []string) {
		t.Helper()
		if len(gone) > 0 || len(hub.Repo("octo/widgets").Refs()) != refs {
			t.Errorf("%s: %q went", what, gone)
		}
	}
	stays("seen for the first time", look(other, 0, keep))
	stays("not old", look(other, keep, keep))
	held = true
	stays("claimed", look(other, keep, keep))
	held = false
	stays("not claimed any more", look(other, keep, keep))
	if err := m.push(m.commit("2"), nil); err != nil {
		t.Fatal(err)
	}
	stays("changed", look(other, time.Minute, keep))
	stays("kept for ever", look(other, 1000*keep, 0))
	if gone := look(other, time.Minute, keep); len(gone) != 1 || gone[0] != "s" || m.there() != "" || len(hub.Repo("octo/widgets").Refs()) != refs-1 {
		t.Errorf("%q went, at %q", gone, m.there())
	}
	if err := m.push(m.commit("3"), nil); err != nil { // its session goes on
		t.Error(err)
	}
}

// askedFor are answers of GitHub about commits.
type askedFor struct {
	date  string // empty: it does not answer
	times int
}

func (a *askedFor) Read(_ context.Context, path string, out any) error {
	if a.times++; a.date == "" || !strings.HasPrefix(path, "repos/octo/widgets/commits/") {
		return errors.New("not found")
	}
	return json.Unmarshal([]byte(`{"commit":{"committer":{"date":"`+a.date+`"}}}`), out)
}

// A runner that is thrown away sees each checkpoint for the first time, and goes by the date of its commit: never where its session is
// claimed or began not long ago, and an unknown or a future date does not count.
func TestOldCheckpointsGoWhereNoNoteOfThemIs(t *testing.T) {
	t.Parallel()
	const old, young = "20261101-100000-issue-1-x-0123456789abcdef", "20261119-100000-issue-1-x-0123456789abcdef"
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		session, date string
		held          bool
		asked         int
		goes          bool
	}{
		"not changed for long": {session: old, date: "2026-11-02T10:00:00Z", asked: 1, goes: true},
		"changed":              {session: old, date: "2026-11-20T10:00:00Z", asked: 1},
		"claimed":              {session: old, date: "2026-11-02T10:00:00Z", held: true},
		"of a young session":   {session: young, date: "2001-01-01T00:00:00Z"},
		"of another name":      {session: "s", date: "2001-01-01T00:00:00Z"},
		"from the future":      {session: old, date: "2126-11-02T10:00:00Z", asked: 1},
		"not to be had":        {session: old, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := newHub(t)
			saver, runner := newMachine(t, hub, "a_1_1"), newMachine(t, hub, "a_2_1")
			guard := func(context.Context) error { return nil }
			if err := saver.Push(t.Context(), saver.store, checkpoint.Pushing{To: saver.server(), Session: c.session, Commit: saver.commit("1"), Guard: guard}); err != nil {
				t.Fatal(err)
			}
			answers := &askedFor{date: c.date}
			for range 2 { // the note of the first look counts for the second
				gone, err := checkpoint.RemoveOld(t.Context(), runner.store, checkpoint.Removing{
					From: runner.server(), Keep: 7 * 24 * time.Hour, Now: now, Held: func(string) bool { return c.held }, GitHub: answers, Repo: "octo/widgets",
				})
				if err != nil {
					t.Fatal(err)
				}
				if _, there := hub.Repo("octo/widgets").Refs()["refs/agentmux/sessions/"+c.session]; there == c.goes {
					t.Errorf("it is there: %t; gone %q", there, gone)
				}
			}
			if answers.times != c.asked {
				t.Errorf("asked %d times, want %d", answers.times, c.asked)
			}
		})
	}
}
