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
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// load reads a configuration file of a person.
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

func noGH(string) (token, from string) { return "", "" }

// A token goes only to the server whose variable it is in.
func TestATokenIsForItsServer(t *testing.T) {
	tokens := account.Tokens{Variables: map[string]string{"GH_TOKEN": "ghp_" + strings.Repeat("a", 36)}, GH: noGH}
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

// Without a variable, gh gives the token of the chosen server.
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

func TestAnAppNeedsItsSettings(t *testing.T) {
	tokens := account.Tokens{GH: noGH}
	_, err := tokens.Identity(load(t, "version: 2\ngithub: {auth: app}\n"))
	if !errors.As(err, new(*account.SettingsError)) || !strings.Contains(err.Error(), "github.app.client_id") {
		t.Errorf("%v", err)
	}
}

// github.write_interval is the least time between two writes of the client; 0 means none.
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
			tokens := account.Tokens{Variables: map[string]string{"AGENTMUX_GITHUB_TOKEN": "ghp_" + strings.Repeat("a", 36)}, GH: noGH}
			id, err := tokens.Identity(cfg)
			if err != nil {
				t.Fatal(err)
			}
			client, err := id.Client(nil)
			if err != nil || client == nil {
				t.Fatalf("%v, %v", client, err)
			}
			comments, widgets := ghsync.Comments{Client: client}, ghsync.Repo{Owner: "acme", Name: "widgets"}
			if _, _, err := comments.Create(t.Context(), widgets, 1, markdown.Finish(redact.New(), "one")); err != nil {
				t.Fatal(err)
			}
			_, _, err = comments.Create(t.Context(), widgets, 1, markdown.Finish(redact.New(), "two"))
			var later *transport.RetryAfter
			if errors.As(err, &later) != c.refused {
				t.Errorf("the second of two writes: %v", err)
			}
		})
	}
}
