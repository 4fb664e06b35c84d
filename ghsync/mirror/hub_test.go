package mirror_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

const (
	botLogin = "robot"
	widgets  = "octo/widgets"
)

var octoWidgets = ghsync.Repo{Owner: "octo", Name: "widgets"}

// world is a server with octo/widgets, an account of each role, and the robot with write.
func world(t *testing.T, change ...func(*fakehub.Options)) *fakehub.Server {
	t.Helper()
	opt := fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{{Login: botLogin, Roles: map[string]fakehub.Role{widgets: fakehub.Write}}},
	}
	for _, role := range []fakehub.Role{"admin", "maintain", "write", "triage", "read", "none"} {
		opt.Users = append(opt.Users, fakehub.UserSpec{Login: string(role), Roles: map[string]fakehub.Role{widgets: role}})
	}
	for _, f := range change {
		f(&opt)
	}
	s := fakehub.Start(t, opt)
	s.Canary(s.Token(botLogin))
	return s
}

// clientOf is a client that does not wait between requests.
func clientOf(t testing.TB, s *fakehub.Server, login string) *ghsync.Client {
	t.Helper()
	return clientBy(t, s, login, nil)
}

// clientBy is clientOf with requests that go a way of their own; nil: the usual one.
func clientBy(t testing.TB, s *fakehub.Server, login string, way http.RoundTripper) *ghsync.Client {
	t.Helper()
	c, err := ghsync.New(transport.Options{
		HTTP: way, APIURL: s.API(), GraphQLURL: s.GraphQL(), ServerURL: s.URL(), Pause: time.Millisecond,
		Token:  transport.StaticToken(transport.ModeToken, redact.NewSecret(s.Token(login)), transport.Addresses{API: s.API(), GraphQL: s.GraphQL(), Server: s.URL()}),
		Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
