package namesake_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/namesake"
	"github.com/agentmux/agentmux/ghsync/transport"
)

const (
	widgets = "octo/widgets"
	robo    = "robo"
	comment = "POST /repos/{owner}/{repo}/issues/{number}/comments"
)

// world is a server with a repository whose name is kept, and a client that speaks through the names.
type world struct {
	*testing.T
	*fakehub.Server
	repo  *fakehub.Repo
	names *namesake.Names
	token string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	roles := map[string]fakehub.Role{widgets: fakehub.Admin}
	w := &world{T: t, Server: fakehub.Start(t, fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}}, Users: []fakehub.UserSpec{{Login: robo, Roles: roles}},
	})}
	w.repo, w.token = w.Repo(widgets), w.Token(robo)
	w.repo.AddIssue(fakehub.IssueSpec{Title: "One", Author: robo})
	w.repo.AddLabel("agentmux")
	w.names = namesake.New(http.DefaultTransport, w.API(), "agentmux")
	w.names.Keep(widgets, w.repo.ID())
	return w
}

// taken has another repository take over the name of the first one, as its twin.
func (w *world) taken() *fakehub.Repo {
	w.Helper()
	if err := w.AddRepo(fakehub.RepoSpec{Owner: "octo", Name: "widgets"}); err != nil {
		w.Fatal(err)
	}
	taker := w.Repo(widgets)
	taker.SetRole(robo, fakehub.Admin)
	taker.AddIssue(fakehub.IssueSpec{Title: "One", Author: robo})
	taker.AddLabel("agentmux")
	return taker
}

// reply is what the tests look at of an answer.
type reply struct {
	status int
	header http.Header
}

// do sends a request by way of the names, and follows nothing. tag is what the answer is known by; empty: it is not.
func (w *world) do(method, path, tag string) (reply, error) {
	w.Helper()
	body := io.Reader(http.NoBody)
	if method == http.MethodPost {
		body = strings.NewReader(`{"body": "hello"}`)
	}
	req, err := http.NewRequestWithContext(w.Context(), method, w.API()+path, body)
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	resp, err := w.names.RoundTrip(req)
	if err != nil {
		return reply{}, err
	}
	_ = resp.Body.Close()
	return reply{resp.StatusCode, resp.Header}, nil
}

func (w *world) status(method, path string, want int) reply {
	w.Helper()
	got, err := w.do(method, path, "")
	if err != nil || got.status != want {
		w.Fatalf("%s %s: %v, %v, want %d\n%s", method, path, got, err, want, w.Transcript())
	}
	return got
}

// now is what the repository is called, as far as was seen.
func (w *world) now(want string) {
	w.Helper()
	if got, err := w.names.Now("Octo/Widgets"); got != want || err != nil {
		w.Errorf("called %q, %v, want %q", got, err, want)
	}
}

// What is written by a name that leads to its repository is written, and costs no more of the limits than
// it would without a look, but for the first one.
func TestAKeptNameThatWasNotTakenCostsNothing(t *testing.T) {
	w := newWorld(t)
	w.status(http.MethodPost, "repos/octo/widgets/issues/1/comments", http.StatusCreated)
	w.ResetLog()
	const more = 5
	for range more {
		w.status(http.MethodPost, "repos/Octo/Widgets/issues/1/comments", http.StatusCreated)
		w.status(http.MethodGet, "repos/octo/widgets/issues/1", http.StatusOK)
	}
	if n := w.Requests(robo); n != 2*more || len(w.repo.Comments(1)) != more+1 {
		t.Errorf("%d requests counted, %d comments:\n%s", n, len(w.repo.Comments(1)), w.Transcript())
	}
	w.now("Octo/Widgets")
}

// A list is not looked after: what is in it is read again.
func TestListsAreNotLookedAfter(t *testing.T) {
	w := newWorld(t)
	w.status(http.MethodGet, "repos/octo/widgets/issues?per_page=1", http.StatusOK)
	if calls := w.Calls(); len(calls) != 1 {
		t.Errorf("requests:\n%s", w.Transcript())
	}
}

// Nothing is written to a repository that took the name, and nothing that is read there is handed on, at
// whatever moment it was taken.
func TestATakenNameLeadsToItsRepository(t *testing.T) {
	for name, before := range map[string]bool{"before the first look": false, "after one": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if before {
				w.status(http.MethodGet, "repos/octo/widgets/issues/1", http.StatusOK)
			}
			w.repo.Rename("gadgets")
			taker := w.taken()
			w.status(http.MethodPost, "repos/octo/widgets/issues/1/comments", http.StatusTemporaryRedirect)
			to := w.status(http.MethodGet, "repos/octo/widgets/collaborators/robo/permission", http.StatusMovedPermanently).header.Get("Location")
			if want := w.API() + "repositories/"; !strings.HasPrefix(to, want) || !strings.HasSuffix(to, "/collaborators/robo/permission") {
				t.Errorf("led to %s", to)
			}
			w.status(http.MethodGet, "repos/octo/widgets/issues?per_page=1", http.StatusMovedPermanently) // it is known by now
			w.now("octo/gadgets")
			w.status(http.MethodPost, "repos/octo/gadgets/issues/1/comments", http.StatusCreated)
			if n := len(taker.Comments(1)); n != 0 || len(w.repo.Comments(1)) != 1 {
				t.Errorf("%d comments on the taker's issue", n)
			}
		})
	}
}

// The first request finds out that a name leads elsewhere, if it reads.
func TestWhatIsReadOfATakerIsNotHandedOn(t *testing.T) {
	w := newWorld(t)
	w.repo.Rename("gadgets")
	w.taken()
	w.status(http.MethodGet, "repos/octo/widgets/issues/1", http.StatusMovedPermanently)
}

// Nor that it says the same as the repository did, which may say something else by now.
func TestWhatATakerSaysAlikeIsNotHandedOn(t *testing.T) {
	w := newWorld(t)
	const path = "repos/octo/widgets/collaborators/" + robo + "/permission"
	tag := w.status(http.MethodGet, path, http.StatusOK).header.Get("ETag")
	if got, err := w.do(http.MethodGet, path, tag); err != nil || got.status != http.StatusNotModified {
		t.Fatalf("%v, %v", got, err)
	}
	w.repo.Rename("gadgets")
	w.taken()
	if got, err := w.do(http.MethodGet, path, tag); err != nil || got.status != http.StatusMovedPermanently {
		t.Errorf("%v, %v of the one that took the name\n%s", got, err, w.Transcript())
	}
}

// A repository may get its name back, and names in a circle.
func TestANameComesBack(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"gadgets", "gears", "widgets", "gadgets"} {
		last, _ := w.names.Now(widgets)
		w.repo.Rename(name)
		want := http.StatusTemporaryRedirect
		w.status(http.MethodPost, "repos/"+last+"/issues/1/comments", want)
		if got, err := w.names.Now(widgets); got != "octo/"+name || err != nil {
			t.Fatalf("called %s, %v, want %s", got, err, name)
		}
		w.status(http.MethodPost, "repos/octo/"+name+"/issues/1/comments", http.StatusCreated)
	}
}

// Without the label the id of the repository tells where the name leads.
func TestANameOfARepositoryWithoutTheLabel(t *testing.T) {
	w := newWorld(t)
	w.names = namesake.New(http.DefaultTransport, w.API(), "other")
	w.names.Keep(widgets, w.repo.ID())
	w.status(http.MethodPost, "repos/octo/widgets/issues/1/comments", http.StatusCreated)
	w.status(http.MethodPost, "repos/octo/widgets/issues/1/comments", http.StatusCreated)
	w.repo.Rename("gadgets")
	w.taken()
	w.status(http.MethodPost, "repos/octo/widgets/issues/1/comments", http.StatusTemporaryRedirect)
}

// A label that a person makes anew changes nothing.
func TestALabelThatWasMadeAnew(t *testing.T) {
	w := newWorld(t)
	w.Inject(fakehub.Fault{Route: "GET .../labels/{name}", Times: 1, Status: http.StatusOK, Body: `{"id": 7}`})
	for range 3 {
		w.status(http.MethodPost, "repos/octo/widgets/issues/1/comments", http.StatusCreated)
	}
	w.now("Octo/Widgets")
}

// Of a repository that is gone nothing is found, whoever has its name.
func TestAGoneRepositoryIsNotFound(t *testing.T) {
	w := newWorld(t)
	w.status(http.MethodPost, "repos/octo/widgets/issues/1/comments", http.StatusCreated)
	w.repo.Delete()
	taker := w.taken()
	w.status(http.MethodPost, "repos/octo/widgets/issues/1/comments", http.StatusNotFound)
	w.status(http.MethodGet, "repos/octo/widgets/issues/1", http.StatusNotFound)
	var gone *namesake.GoneError
	if _, err := w.names.Now(widgets); !errors.As(err, &gone) || !transport.IsNotFound(err) {
		t.Errorf("called %v", err)
	}
	if n := len(taker.Comments(1)); n != 0 {
		t.Errorf("%d comments on the taker's issue", n)
	}
}

// A request whose name cannot be looked after is not sent: it counts as one that did not leave, or is told of the limit.
func TestWithoutALookNothingIsSent(t *testing.T) {
	const byID, label = "GET ...", "GET .../labels/{name}"
	for name, c := range map[string]struct {
		faults []fakehub.Fault
		status int // 0: an error
	}{
		"no answer":        {faults: []fakehub.Fault{{Route: label, Drop: fakehub.BeforeApplying}}},
		"the server fails": {faults: []fakehub.Fault{{Route: label, Status: 502}, {Route: byID, Status: 502}}},
		"a limit":          {faults: []fakehub.Fault{{Route: label, Status: 429}, {Route: byID, Status: 429}}, status: 429},
		"the label alone":  {faults: []fakehub.Fault{{Route: label, Status: 500}}, status: http.StatusCreated},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Inject(c.faults...)
			got, err := w.do(http.MethodPost, "repos/octo/widgets/issues/1/comments", "")
			var op *net.OpError
			switch {
			case c.status == 0 && (!errors.As(err, &op) || op.Op != "dial"), c.status != 0 && (err != nil || got.status != c.status):
				t.Errorf("%v, %v", got, err)
			}
			sent := 0
			for _, call := range w.Calls() {
				if call.Route == comment {
					sent++
				}
			}
			if (sent > 0) != (c.status == http.StatusCreated) {
				t.Errorf("sent:\n%s", w.Transcript())
			}
		})
	}
}

// Other names, and what an App asks to get its tokens, are sent as they are.
func TestOtherRequestsAreSentAsTheyAre(t *testing.T) {
	w := newWorld(t)
	w.status(http.MethodGet, "repos/octo/gizmos/issues/1", http.StatusNotFound)
	w.status(http.MethodGet, "user", http.StatusOK)
	if _, err := w.do(http.MethodGet, "repos/octo/widgets/installation", ""); err != nil {
		t.Fatal(err)
	}
	if len(w.Calls()) != 3 {
		t.Errorf("requests:\n%s", w.Transcript())
	}
}
