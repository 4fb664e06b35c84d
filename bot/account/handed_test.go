package account_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// handOn returns what another process gets of the identity that these tokens make.
func handOn(t *testing.T, tokens account.Tokens, own string) account.Handed {
	t.Helper()
	id, err := tokens.Identity(load(t, own))
	if err != nil {
		t.Fatal(err)
	}
	h, err := id.Hand(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var got account.Handed
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// A host acts as the account that its launcher found, of the same kind.
func TestAnIdentityIsHandedOn(t *testing.T) {
	token := "ghp_" + strings.Repeat("a", 36)
	for name, c := range map[string]struct {
		tokens account.Tokens
		own    string
		mode   transport.Mode
		from   string
	}{
		"of a variable": {account.Tokens{Variables: map[string]string{"GH_TOKEN": token}, GH: noGH}, "", transport.ModeToken, "GH_TOKEN"},
		"of gh":         {account.Tokens{GH: func(string) (string, string) { return token, "gh (keyring)" }}, "", transport.ModeGH, "gh (keyring)"},
		"of a job":      {account.Tokens{Variables: map[string]string{"GITHUB_TOKEN": token}, GH: noGH}, "github: {auth: actions}\n", transport.ModeActions, "GITHUB_TOKEN"},
	} {
		t.Run(name, func(t *testing.T) {
			own := "version: 2\n" + c.own
			got, err := handOn(t, c.tokens, own).Take(load(t, own), &account.Tokens{GH: noGH})
			if err != nil || got.Tokens == nil || got.Tokens.Mode() != c.mode || got.From != c.from {
				t.Fatalf("%+v, %v", got, err)
			}
			if secret, err := got.Tokens.Token(t.Context()); err != nil || secret.Reveal() != token {
				t.Errorf("another token, %v", err)
			}
		})
	}
}

// Where the launcher found no account, the host has none and says the same of it.
func TestNoIdentityIsHandedOn(t *testing.T) {
	const own = "version: 2\ngithub: {host: git.example.com}\n"
	tokens := account.Tokens{Variables: map[string]string{"GH_TOKEN": "ghp_" + strings.Repeat("a", 36)}, GH: noGH}
	h := handOn(t, tokens, own)
	if h.Token != "" {
		t.Errorf("a token for another server is handed on")
	}
	id, err := h.Take(load(t, own), &account.Tokens{GH: noGH})
	if err != nil || id.Tokens != nil {
		t.Fatalf("%+v, %v", id, err)
	}
	if detail, _ := id.NoToken(); !strings.Contains(detail, "the one from GH_TOKEN is for another server") {
		t.Errorf("%s", detail)
	}
}

// An App's key stays in its file: the host makes tokens of its own.
func TestAnAppHandsOnNoToken(t *testing.T) {
	const own = "version: 2\ngithub: {auth: app, app: {client_id: Iv1, key_file: /key.pem}}\n"
	h := handOn(t, account.Tokens{GH: noGH}, own)
	id, err := h.Take(load(t, own), &account.Tokens{GH: noGH})
	if err != nil || h.Token != "" || id.Tokens != nil || id.From != "the App Iv1" {
		t.Errorf("%+v, %+v, %v", h, id, err)
	}
}

// A token that was handed over goes to the server alone that it was read for, and a document
// that says nothing of use is refused.
func TestSecurity23AHandedTokenIsForItsServer(t *testing.T) {
	token := "ghp_" + strings.Repeat("a", 36)
	const api, server = "https://api.github.com/", "https://github.com"
	for name, c := range map[string]struct {
		handed account.Handed
		want   string // of the error, or of what NoToken says
	}{
		"another server":       {account.Handed{Mode: transport.ModeToken, Token: token, From: "GH_TOKEN", API: "https://evil.example/api/v3", Server: "https://evil.example"}, "for another server"},
		"another API":          {account.Handed{Mode: transport.ModeToken, Token: token, From: "GH_TOKEN", API: "https://evil.example", Server: server}, "for another server"},
		"no token":             {account.Handed{Mode: transport.ModeToken, API: api, Server: server}, "has no token"},
		"an unknown kind":      {account.Handed{Mode: "robot", Token: token, API: api, Server: server}, "no kind"},
		"an App not set up":    {account.Handed{Mode: transport.ModeApp, API: api, Server: server}, "no kind"},
		"a token, and no kind": {account.Handed{Token: token, API: api, Server: server}, "no GitHub token"},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := c.handed.Take(load(t, "version: 2\n"), &account.Tokens{GH: noGH})
			said, _ := id.NoToken()
			if err != nil {
				said = err.Error()
			}
			if id.Tokens != nil || !strings.Contains(said, c.want) || strings.Contains(said, token) {
				t.Errorf("%+v, %s", id, said)
			}
		})
	}
}
