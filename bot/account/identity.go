// Package account says which GitHub account acts: the tokens that a process was given, the
// identity that a configuration names, its client, what it may do, and in words what GitHub
// refused. A token goes to the server alone that it was read for. Tokens of the environment are
// taken out of it, so that no child has them; nothing is written.
package account

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// Tokens are those that this process knows.
type Tokens struct {
	Variables map[string]string                        // of the environment, by the names of their variables
	handed    *Handed                                  // by the launcher of this host
	GH        func(server string) (token, from string) // asks gh; empty without one
}

// TakeVariables takes the tokens out of the environment, so that no child inherits them,
// and returns them by the names of their variables.
func TakeVariables() map[string]string {
	tokens := map[string]string{}
	for _, name := range transport.AllTokenVariables() {
		if value := strings.TrimSpace(os.Getenv(name)); value != "" {
			tokens[name] = value
		}
		_ = os.Unsetenv(name)
	}
	return tokens
}

// Handed is what a launcher gives the host that it starts: a token with the server that
// it was read for.
type Handed struct {
	Token  string `json:"token"`
	From   string `json:"from"`
	API    string `json:"api"`
	Server string `json:"server"`
}

// maxHanded is more than any token with its addresses.
const maxHanded = 64 << 10

// Read takes the launcher's token, which travels in no environment.
func (t *Tokens) Read(from io.Reader) error {
	t.handed = &Handed{}
	if err := json.NewDecoder(io.LimitReader(from, maxHanded)).Decode(t.handed); err != nil {
		return fmt.Errorf("read token: %w", err)
	}
	return nil
}

// Hand returns what a host that is started reads its token from; "" if it needs none or makes
// its own.
func (id Identity) Hand(ctx context.Context) (string, error) {
	if id.Tokens == nil || id.Tokens.Mode() == transport.ModeApp {
		return "", nil
	}
	secret, err := id.Tokens.Token(ctx)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(Handed{Token: secret.Reveal(), From: id.From, API: id.Bases.API, Server: id.Bases.Server})
	return string(data), err
}

// Identity is the GitHub account a command acts as; nil tokens mean none.
type Identity struct {
	Bases  transport.Addresses
	Tokens transport.TokenSource
	From   string        // where the token is from, for doctor
	unfit  string        // a variable with a token that is for another server
	Pause  time.Duration // before a request is repeated; 0: the usual
	Writes time.Duration // from one write to the next, as in transport.Limits
}

// A SettingsError says that the configuration names no account that could be used.
type SettingsError struct{ err error }

func (e *SettingsError) Error() string { return e.err.Error() }

func (e *SettingsError) Unwrap() error { return e.err }

func settingsErr(err error) error { return &SettingsError{err} }

// ProbePause is before the first repetition: a person waits.
const ProbePause = 100 * time.Millisecond

// Settle names the server that the person means: by a configuration of their own, else by the
// environment. A repository's file cannot.
func Settle(c *config.Config) (transport.Addresses, error) {
	name := ""
	if c.Layer("github.host") != config.LayerBuiltIn {
		name = c.GitHub.Host
	}
	bases, err := transport.Bases(name, os.Getenv)
	if err != nil {
		return bases, settingsErr(fmt.Errorf("%w: take github.host out of your configuration, or unset the variable", err))
	}
	return bases, nil
}

// inJob reports whether this is a job of GitHub Actions on the server: its token is then in
// the variables of GitHub's own servers.
func inJob(at transport.Addresses) bool {
	return os.Getenv("GITHUB_ACTIONS") == "true" && strings.TrimSuffix(os.Getenv("GITHUB_SERVER_URL"), "/") == at.Server
}

// Identity settles the server and finds a token for it as github.auth says: an App's, a
// variable's, else gh's.
func (t *Tokens) Identity(c *config.Config) (Identity, error) {
	bases, err := Settle(c)
	id := Identity{Bases: bases, Writes: c.GitHub.WriteEvery()}
	if err != nil {
		return id, err
	}
	if ActsAsApp(c) {
		id.From = "the App " + c.GitHub.App.ClientID
		return id, checkApp(c.GitHub.App) // its tokens are made where the project is known
	}
	mode, token, from := t.find(c, &id)
	if token != "" {
		id.Tokens, id.From = transport.StaticToken(mode, redact.NewSecret(token), bases), from
	}
	return id, nil
}

// find finds the token for the server of id.
func (t *Tokens) find(c *config.Config, id *Identity) (mode transport.Mode, token, from string) {
	mode = map[string]transport.Mode{"gh": transport.ModeGH, "actions": transport.ModeActions}[c.GitHub.Auth]
	if mode == "" {
		mode = transport.ModeToken
	}
	if t.handed != nil {
		if t.handed.API != id.Bases.API || t.handed.Server != id.Bases.Server {
			id.unfit = t.handed.From
			return mode, "", ""
		}
		return mode, t.handed.Token, t.handed.From
	}
	if mode != transport.ModeGH {
		token, from = t.variable(id)
	}
	if token == "" && (mode == transport.ModeGH || c.GitHub.Auth == "auto") {
		token, from = t.GH(id.Bases.Server)
		mode = transport.ModeGH
	}
	return mode, token, from
}

// variable is the first variable whose token may be sent to the server of id.
func (t *Tokens) variable(id *Identity) (token, from string) {
	names := transport.TokenVariables(id.Bases, inJob(id.Bases))
	for _, name := range names {
		if t.Variables[name] != "" {
			return t.Variables[name], name
		}
	}
	for _, name := range transport.AllTokenVariables() {
		if t.Variables[name] != "" && id.unfit == "" {
			id.unfit = name
		}
	}
	return "", ""
}

// NoToken says why there is no token, and where one is looked for.
func (id Identity) NoToken() (detail, hint string) {
	hint = NoTokenHint
	if id.Bases.Enterprise() {
		hint = strings.Replace(hint, " GH_TOKEN", " GH_ENTERPRISE_TOKEN", 1)
	}
	if id.unfit == "" {
		return "no GitHub token", hint
	}
	return fmt.Sprintf("no GitHub token for %s: the one from %s is for another server", id.Bases.Server, id.unfit), hint
}

// Client returns a client of the identity, or nil without a token.
func (id Identity) Client(log *slog.Logger) (*ghsync.Client, error) {
	if id.Tokens == nil {
		return nil, nil
	}
	return ghsync.New(transport.Options{
		APIURL: id.Bases.API, GraphQLURL: id.Bases.GraphQL, ServerURL: id.Bases.Server, Token: id.Tokens, Log: log,
		Pause: id.Pause, Limits: transport.Limits{WriteEvery: id.Writes},
	})
}

// NoTokenHint says where a token is looked for.
const NoTokenHint = "set AGENTMUX_GITHUB_TOKEN or GH_TOKEN, or run gh auth login"

// TokenError says that what was found cannot be a token.
type TokenError struct{ From string }

func (e *TokenError) Error() string {
	return "the token from " + e.From + " is too short to be one of GitHub"
}
