package sight_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/sight"
	"github.com/agentmux/agentmux/ghsync/transport"
)

func TestTokensThatReadPrivateRepositories(t *testing.T) {
	s := server(t)
	s.Repo("acme/gears").SetRole("robo", fakehub.Read)
	now := time.Now()
	tokens := sight.TokensAt(transport.Addresses{API: s.API(), Server: s.URL(), GraphQL: s.GraphQL()}, func() time.Time { return now })
	for name, c := range map[string]struct{ token, want string }{
		"of a person who does":      {s.Token("robo"), "acme/gears"},
		"of a person who does not":  {s.Token("mia"), ""},
		"of a job that does":        {s.ActionsToken("acme/gears", map[string]string{"metadata": "read"}, 0), "acme/gears"},
		"of a job that does not":    {s.ActionsToken("acme/widgets", map[string]string{"metadata": "read"}, 0), ""},
		"that the server knows not": {"ghp_" + strings.Repeat("x", 36), ""},
	} {
		if got, err := tokens.Private(t.Context(), c.token); got != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
	s.Inject(fakehub.Fault{Route: "GET /user/repos", Times: 1, Status: http.StatusNotFound})
	if got, err := tokens.Private(t.Context(), s.Token("robo")); got != "acme/gears" || err != nil {
		t.Errorf("an answer of a moment ago: %q, %v", got, err)
	}
	now = now.Add(61 * time.Minute)
	if got, err := tokens.Private(t.Context(), s.Token("robo")); got != "" || err != nil {
		t.Errorf("an answer of an hour ago: %q, %v", got, err)
	}
	s.Inject(fakehub.Fault{Route: "GET /user/repos", Status: http.StatusUnprocessableEntity})
	if _, err := tokens.Private(t.Context(), s.Token("mia")); err == nil {
		t.Error("what the server did not answer is taken for a word of it")
	}
}
