// Package account says which GitHub account acts: the tokens that a process has, the identity
// that a configuration names, its client, what it may do, and in words what GitHub refused.
//
// Promises: a token goes only to the server that it was read for; tokens are removed from the
// environment, so that no child inherits them; one identity has one limiter, and one that is
// refused or at its limit delays no other; a token is known to the redactor from before its first
// use to a day after its end. It writes nothing.
package account

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// Tokens are those that this process has.
type Tokens struct {
	Variables map[string]string                        // of the environment, by the names of their variables
	File      string                                   // the path of FileVariable; empty: none
	GH        func(server string) (token, from string) // runs gh; empty when gh has none
	// Replaced is told of a token that was read again because the server refused the old one,
	// before the first use of the new one. May be nil.
	Replaced func(old, now redact.Secret)
}

// TakeVariables removes the tokens from the environment, so that no child inherits them, and
// returns them by the names of their variables.
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

// Identity is the GitHub account that a command acts as; nil tokens mean no account.
type Identity struct {
	Bases  transport.Addresses
	Tokens transport.TokenSource
	From   string        // where the token is from, for doctor
	unfit  string        // a variable with a token that is for another server
	file   string        // where the token was read; empty: not in a file
	Pause  time.Duration // before a request is repeated; 0 means the default
	Writes time.Duration // from one write to the next, as in transport.Limits
}

// A SettingsError says that the configuration names no account that could be used.
type SettingsError struct{ err error }

func (e *SettingsError) Error() string { return e.err.Error() }

func (e *SettingsError) Unwrap() error { return e.err }

func settingsErr(err error) error { return &SettingsError{err} }

// ProbePause is the pause before the first repetition of a probe. It is short because a person
// waits.
const ProbePause = 100 * time.Millisecond

// Settle returns the server that the person chose: by their own configuration, else by the
// environment. A repository's file cannot choose it.
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

// inJob reports whether this process is a job of GitHub Actions on the server. The token is then
// in the variables of github.com.
func inJob(at transport.Addresses) bool {
	return os.Getenv("GITHUB_ACTIONS") == "true" && strings.TrimSuffix(os.Getenv("GITHUB_SERVER_URL"), "/") == at.Server
}

// actsAsJob reports whether the account is that of a job: by configuration, or found so.
func actsAsJob(c *config.Config) bool {
	bases, err := Settle(c)
	return c.GitHub.Auth == "actions" || c.GitHub.Auth == "auto" && err == nil && inJob(bases)
}

// bare is the identity that the configuration names, without a token. An App makes its tokens
// where the project is known.
func bare(c *config.Config) (Identity, error) {
	bases, err := Settle(c)
	id := Identity{Bases: bases, Writes: c.GitHub.WriteEvery()}
	if err == nil && ActsAsApp(c) {
		id.From = "the App " + c.GitHub.App.ClientID
		err = checkApp(c.GitHub.App)
	}
	return id, err
}

// Identity settles the server and finds a token for it as github.auth says: an App's, a
// variable's, else gh's.
func (t *Tokens) Identity(c *config.Config) (Identity, error) {
	id, err := bare(c)
	if err != nil || ActsAsApp(c) {
		return id, err
	}
	mode, token, from, err := t.find(c, &id)
	if err != nil {
		return id, settingsErr(err)
	}
	if token != "" {
		if from == FileVariable {
			id.file = t.File
		}
		id.use(mode, token, from, t.reader(id, mode, from), t.Replaced)
	}
	return id, nil
}

// use makes the identity act with a token of its server, which read finds again; nil: it is in
// this process alone.
func (id *Identity) use(mode transport.Mode, token, from string, read func() (string, error), replaced func(old, now redact.Secret)) {
	first := redact.NewSecret(token)
	id.Tokens, id.From = transport.StaticToken(mode, first, id.Bases), from
	if read != nil {
		id.Tokens = &reread{TokenSource: id.Tokens, read: read, replaced: replaced, now: first}
	}
}

// reader returns what reads a token again where it was found; nil for a variable, which nobody
// can change from outside.
func (t *Tokens) reader(id Identity, mode transport.Mode, from string) func() (string, error) {
	switch {
	case from == FileVariable && t.File != "":
		return func() (string, error) { return readTokenFile(t.File) }
	case mode == transport.ModeGH && t.GH != nil:
		return func() (string, error) {
			token, _ := t.GH(id.Bases.Server)
			return token, nil
		}
	}
	return nil
}

// find finds the token for the server of id.
func (t *Tokens) find(c *config.Config, id *Identity) (mode transport.Mode, token, from string, err error) {
	switch mode = transport.ModeToken; {
	case c.GitHub.Auth == "gh":
		mode = transport.ModeGH
	case actsAsJob(c):
		mode = transport.ModeActions
	}
	if mode == transport.ModeToken && t.File != "" {
		token, err = readTokenFile(t.File)
		return mode, token, FileVariable, err
	}
	if mode != transport.ModeGH {
		token, from = t.variable(id)
	}
	if token == "" && (mode == transport.ModeGH || mode == transport.ModeToken && c.GitHub.Auth == "auto") {
		token, from = t.GH(id.Bases.Server)
		mode = transport.ModeGH
	}
	return mode, token, from, nil
}

// variable returns the first token of the environment that may be sent to the server of id.
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

// NoToken says why there is no token, and how to set one.
func (id Identity) NoToken() (detail, hint string) {
	hint = noTokenHint
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

// noTokenHint says how to set a token for GitHub itself.
const noTokenHint = "set AGENTMUX_GITHUB_TOKEN or GH_TOKEN, or run gh auth login"

// TokenError says that a value cannot be a token.
type TokenError struct{ From string }

func (e *TokenError) Error() string {
	return "the token from " + e.From + " is too short to be one of GitHub"
}
