package transport

import (
	"context"
	"net/url"
	"slices"

	"golang.org/x/oauth2"

	"github.com/agentmux/agentmux/internal/redact"
)

// Mode says where the token comes from.
type Mode string

const (
	ModeApp     Mode = "app"
	ModeToken   Mode = "token"
	ModeGH      Mode = "gh"
	ModeActions Mode = "actions"
)

// TokenSource gives the token of one identity at one server.
type TokenSource interface {
	Mode() Mode
	// For returns the identity as oauth2 knows it, for one call: its Token may ask the server
	// for a token, and ends when ctx does.
	For(ctx context.Context) oauth2.TokenSource
	// Token returns the token of For as a secret, for what is not a request of this package.
	Token(ctx context.Context) (redact.Secret, error)
	// Expire says that the server refused the last token, and returns whether the next call
	// of Token may bring another one.
	Expire() bool
	// Serves reports whether the token may be sent to an address: it is bound to the server
	// it was read for, and nothing that is read later changes that.
	Serves(address string) bool
}

// sourceFunc is a function as an oauth2.TokenSource.
type sourceFunc func() (*oauth2.Token, error)

func (f sourceFunc) Token() (*oauth2.Token, error) { return f() }

// origins are the scheme, host and port of the addresses that a token is good for.
type origins []string

func originsOf(addresses ...string) (o origins) {
	for _, address := range addresses {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			o = append(o, origin(u))
		}
	}
	return o
}

func (o origins) has(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && slices.Contains(o, origin(u))
}

type staticToken struct {
	mode  Mode
	token redact.Secret
	bound origins
}

// StaticToken is one token for as long as the process runs, for the addresses of one server
// and no others. No addresses mean those of github.com.
func StaticToken(mode Mode, token redact.Secret, at Addresses) TokenSource {
	if at == (Addresses{}) {
		at = hostBases("")
	}
	return staticToken{mode: mode, token: token, bound: originsOf(at.API, at.GraphQL, at.Server)}
}

func (s staticToken) Mode() Mode                                   { return s.mode }
func (s staticToken) Token(context.Context) (redact.Secret, error) { return s.token, nil }
func (s staticToken) Expire() bool                                 { return false }
func (s staticToken) Serves(address string) bool                   { return s.bound.has(address) }

func (s staticToken) For(context.Context) oauth2.TokenSource {
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: s.token.Reveal()})
}

// TokenVariables are the names of the environment variables whose token may be sent to a
// server, first wins, as gh has it: those without a server in their name are for GitHub's own
// servers, github.com and ghe.com, and in a job of GitHub Actions for the job's server.
func TokenVariables(at Addresses, job bool) []string {
	own := []string{"AGENTMUX_GITHUB_TOKEN"}
	if at.Enterprise() && !job {
		return append(own, "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
	}
	return append(own, "GH_TOKEN", "GITHUB_TOKEN")
}

// AllTokenVariables are the names of every variable that may hold a token of some server.
func AllTokenVariables() []string {
	return []string{"AGENTMUX_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"}
}
