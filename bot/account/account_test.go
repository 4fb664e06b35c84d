package account_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// load reads a configuration of the person's own.
func load(t *testing.T, own string) *config.Config {
	t.Helper()
	for _, name := range []string{"GITHUB_ACTIONS", "GITHUB_SERVER_URL", "GITHUB_API_URL", "GITHUB_GRAPHQL_URL"} {
		t.Setenv(name, "")
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	c, problems := config.Load(config.Sources{UserFile: file, Project: fstest.MapFS{}, Home: filepath.Dir(file)})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

func none(string) (token, from string) { return "", "" }

// A token is for the server whose variable it is in, and goes to no other.
func TestATokenIsForItsServer(t *testing.T) {
	tokens := account.Tokens{Variables: map[string]string{"GH_TOKEN": "ghp_" + strings.Repeat("a", 36)}, GH: none}
	id, err := tokens.Identity(load(t, "version: 2\n"))
	if err != nil || id.Tokens == nil || id.From != "GH_TOKEN" {
		t.Fatalf("%+v, %v", id, err)
	}
	id, err = tokens.Identity(load(t, "version: 2\ngithub: {host: git.example.com}\n"))
	if err != nil || id.Tokens != nil {
		t.Fatalf("%+v, %v", id, err)
	}
	if detail, hint := id.NoToken(); !strings.Contains(detail, "the one from GH_TOKEN is for another server") || !strings.Contains(hint, "GH_ENTERPRISE_TOKEN") {
		t.Errorf("%s; %s", detail, hint)
	}
}

// gh is asked for the server that is meant, where no variable has a token.
func TestTheTokenOfGH(t *testing.T) {
	asked := ""
	tokens := account.Tokens{GH: func(server string) (token, from string) {
		asked = server
		return "gho_" + strings.Repeat("a", 36), "gh (keyring)"
	}}
	id, err := tokens.Identity(load(t, "version: 2\n"))
	if err != nil || id.Tokens == nil || id.Tokens.Mode() != transport.ModeGH || asked != "https://github.com" {
		t.Errorf("%+v, %v, asked %q", id, err, asked)
	}
}

// What a launcher hands on is what its host acts as.
func TestATokenIsHandedOn(t *testing.T) {
	c := load(t, "version: 2\n")
	first := account.Tokens{Variables: map[string]string{"GH_TOKEN": "ghp_" + strings.Repeat("a", 36)}, GH: none}
	id, err := first.Identity(c)
	if err != nil {
		t.Fatal(err)
	}
	handed, err := id.Hand(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second := account.Tokens{GH: none}
	if err := second.Read(strings.NewReader(handed + "\n")); err != nil {
		t.Fatal(err)
	}
	got, err := second.Identity(c)
	if err != nil || got.Tokens == nil || got.From != id.From {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnAppNeedsItsSettings(t *testing.T) {
	tokens := account.Tokens{GH: none}
	_, err := tokens.Identity(load(t, "version: 2\ngithub: {auth: app}\n"))
	if !errors.As(err, new(*account.SettingsError)) || !strings.Contains(err.Error(), "github.app.client_id") {
		t.Errorf("%v", err)
	}
}

// github.write_interval is the pace of the identity's client; 0 is none.
func TestWritesAreAsFarApartAsConfigured(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id": 1}`))
	}))
	defer server.Close()
	for name, c := range map[string]struct {
		own     string
		refused bool
	}{
		"none":    {"version: 2\ngithub: {write_interval: 0s}\n", false},
		"an hour": {"version: 2\ngithub: {write_interval: 1h}\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := load(t, c.own)
			t.Setenv("GITHUB_SERVER_URL", server.URL)
			t.Setenv("GITHUB_API_URL", server.URL)
			t.Setenv("GITHUB_GRAPHQL_URL", server.URL)
			tokens := account.Tokens{Variables: map[string]string{"AGENTMUX_GITHUB_TOKEN": "ghp_" + strings.Repeat("a", 36)}, GH: none}
			id, err := tokens.Identity(cfg)
			if err != nil {
				t.Fatal(err)
			}
			client, err := id.Client(nil)
			if err != nil || client == nil {
				t.Fatalf("%v, %v", client, err)
			}
			sink := client.Sink(ghsync.Repo{Owner: "acme", Name: "widgets"})
			if _, _, err := sink.CreateComment(t.Context(), 1, "one"); err != nil {
				t.Fatal(err)
			}
			_, _, err = sink.CreateComment(t.Context(), 1, "two")
			var later *transport.RetryAfter
			if errors.As(err, &later) != c.refused {
				t.Errorf("the second of two writes: %v", err)
			}
		})
	}
}
