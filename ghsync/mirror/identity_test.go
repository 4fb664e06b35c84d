package mirror_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/installation"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

func TestGitHub15NoWriteIsLostWhenTheTokenEnds(t *testing.T) {
	want := calmEnd(t, "in step")
	for name, jump := range map[string]struct{ theirs, local time.Duration }{
		"renewed in time":         {51 * time.Minute, 51 * time.Minute},
		"this machine was asleep": {2 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var theirs, local time.Duration
			var clock func() time.Time
			st := newStage(t, func(o *fakehub.Options) {
				clock = o.Now
				o.Now = func() time.Time { return clock().Add(theirs) }
			})
			app := st.server.AddApp(fakehub.AppSpec{Slug: "amx", Permissions: installation.Permissions(), Repos: []string{widgets}})
			key := st.session.Path("app.pem")
			writeFile(t, key, app.Key)
			var tokens []redact.Secret
			source, err := installation.New(installation.Options{
				APIURL: st.server.API(), ClientID: app.ClientID, KeyFile: key, Repo: widgets,
				Now: func() time.Time { return clock().Add(local) }, Minted: func(s redact.Secret) {
					st.server.Canary(s.Reveal())
					tokens = append(tokens, s)
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			o := st.options()
			client, err := ghsync.New(transport.Options{
				APIURL: st.server.API(), GraphQLURL: st.server.GraphQL(), ServerURL: st.server.URL(), Token: source, Pause: time.Millisecond,
				Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond},
			})
			if err != nil {
				t.Fatal(err)
			}
			o.Server = mirror.On(client)
			m := st.mirror(o)
			jumps := 0
			for lines := range st.parts() {
				st.play(lines...)
				st.finish(m)
				if jumps < 2 {
					theirs, local = theirs+jump.theirs, local+jump.local
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
			client := clientOf(t, st.server, botLogin)
			o := st.options()
			o.Server = mirror.On(client)
			if _, err := client.Record(t.Context(), octoWidgets, 12); err != nil {
				t.Fatal(err)
			}
			st.run(st.mirror(o))
			if got, want := st.end(), calmEnd(t, "in step"); got != want {
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
