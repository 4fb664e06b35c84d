package ghsync_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/redact"
)

// The token is a canary: whatever arrives anywhere but in Authorization fails the test.
func TestGitHub8NoTokenGoesToAnotherHost(t *testing.T) {
	s := world(t)
	s.Inject(fakehub.Redirect("GET /repos/{owner}/{repo}", http.StatusMovedPermanently, s.OtherURL()+"/repos/octo/widgets"))
	c := clientOf(t, s, botLogin)
	if _, err := c.Repository(t.Context(), "octo", "widgets"); !isMoved(err) {
		t.Errorf("error %v", err)
	}
	if n := len(s.Calls()); n != 1 {
		t.Errorf("%d requests arrived, want the first alone:\n%s", n, s.Transcript())
	}
	s.Repo(widgets).Rename("gadgets")
	if r, err := c.Repository(t.Context(), "octo", "widgets"); err != nil || r.Name != "gadgets" {
		t.Errorf("on the same host: %+v, %v", r, err)
	}
}

// An app's token lives an hour and is renewed before; each one costs one answer per address.
func TestGitHub12HourlyTokensAreIdleForADay(t *testing.T) {
	in := newInstalled(t, ghsync.AppPermissions())
	in.server.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	c, _ := in.client(t)
	for range 24 * 6 {
		if _, _, err := c.RecentIssues(t.Context(), octoWidgets, 1); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.RecentComments(t.Context(), octoWidgets, 1); err != nil {
			t.Fatal(err)
		}
		in.advance(10 * time.Minute)
	}
	counted := in.server.Requests("amx[bot]")
	if in.minted > 29 || counted > 2*in.minted {
		t.Errorf("%d tokens and %d counted requests in a day", in.minted, counted)
	}
	t.Logf("%d tokens, %d counted requests", in.minted, counted)
}

func TestGitHub13IdentitiesShareNoAnswer(t *testing.T) {
	s := world(t, func(o *fakehub.Options) { o.Repos[0].Private = true })
	for range 2 { // the second time there is something to share
		for _, tc := range []struct {
			login string
			admin bool
			sees  bool
		}{{"admin", true, true}, {"write", false, true}, {"none", false, false}, {"admin", true, true}} {
			r, err := clientOf(t, s, tc.login).Repository(t.Context(), "octo", "widgets")
			if tc.sees && (err != nil || r.CanAdmin != tc.admin) || !tc.sees && !ghsync.IsNotFound(err) {
				t.Errorf("%s: %+v, %v", tc.login, r, err)
			}
		}
	}
	// Nor does one client give another token's answer after its own was renewed.
	in := newInstalled(t, ghsync.AppPermissions())
	c, _ := in.client(t)
	for i := range 3 {
		if r, err := c.Repository(t.Context(), "octo", "widgets"); err != nil || r.ID == 0 {
			t.Fatal(err)
		}
		in.advance(51 * time.Minute)
		if full := in.server.Requests("amx[bot]"); full != i+1 {
			t.Errorf("%d full answers for %d tokens", full, i+1)
		}
	}
}

func TestGitHub15NoWriteIsLostWhenTheTokenEnds(t *testing.T) {
	want := calmEnd(t, paces["in step"])
	for name, jump := range map[string]struct{ theirs, ours time.Duration }{
		"renewed in time":         {51 * time.Minute, 51 * time.Minute},
		"this machine was asleep": {2 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var theirs, ours time.Duration
			var clock func() time.Time
			st := newStage(t, func(o *fakehub.Options) {
				clock = o.Now
				o.Now = func() time.Time { return clock().Add(theirs) }
			})
			app := st.server.AddApp(fakehub.AppSpec{Slug: "amx", Permissions: ghsync.AppPermissions(), Repos: []string{widgets}})
			key := st.session.Path("app.pem")
			writeFile(t, key, app.Key)
			var tokens []redact.Secret
			source, err := ghsync.NewApp(ghsync.AppOptions{
				APIURL: st.server.API(), ClientID: app.ClientID, KeyFile: key, Repo: octoWidgets,
				Now: func() time.Time { return clock().Add(ours) }, Minted: func(s redact.Secret) {
					st.server.Canary(s.Reveal())
					tokens = append(tokens, s)
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			o := st.options()
			if o.Client, err = ghsync.New(ghsync.Options{
				APIURL: st.server.API(), GraphQLURL: st.server.GraphQL(), ServerURL: st.server.URL(), Token: source, Pause: time.Millisecond,
				Limits: ghsync.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond},
			}); err != nil {
				t.Fatal(err)
			}
			m := st.mirror(o)
			jumps := 0
			for _, line := range st.script {
				if line != "sync" {
					st.play(line)
					continue
				}
				st.finish(m)
				if jumps < 2 {
					theirs, ours = theirs+jump.theirs, ours+jump.ours
					jumps++
				}
			}
			st.finish(m)
			if got := st.end(); got != want {
				t.Errorf("end:\n%s\nwant:\n%s\n%s", got, want, st.server.Transcript())
			}
			if len(tokens) < jumps {
				t.Errorf("%d tokens in %d jumps", len(tokens), jumps)
			}
			for _, token := range tokens {
				if n := len(token.Reveal()); n != 520 {
					t.Errorf("a token of %d characters", n)
				}
			}
		})
	}
}

// A server of one's own counts nothing aloud and answers below its own path.
func TestGitHub16OwnServer(t *testing.T) {
	for name, change := range map[string]func(*fakehub.Options){
		"with GraphQL":    func(o *fakehub.Options) { o.Enterprise = true },
		"without GraphQL": func(o *fakehub.Options) { o.Enterprise, o.NoGraphQL = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, change)
			o := st.options()
			if _, err := o.Client.Record(t.Context(), octoWidgets, 12); err != nil {
				t.Fatal(err)
			}
			st.run(st.mirror(o))
			if got, want := st.end(), calmEnd(t, paces["in step"]); got != want {
				t.Errorf("end:\n%s\nwant:\n%s", got, want)
			}
			if !slices.ContainsFunc(st.server.Calls(), func(c fakehub.Request) bool { return c.Method == http.MethodPost }) {
				t.Fatal("nothing was written")
			}
			for _, c := range st.server.Calls() {
				if !strings.HasPrefix(c.Path, "/api/v3/") && c.Path != "/api/graphql" {
					t.Errorf("asked at %s", c.Path)
				}
			}
		})
	}
}
