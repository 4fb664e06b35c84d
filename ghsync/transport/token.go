package transport

import (
	"context"
	"net/url"
	"slices"

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
	// Token returns the token for one call. It may ask the server for one, and ends when ctx does.
	Token(ctx context.Context) (redact.Secret, error)
	// Expire says that the server refused a token, and returns whether the next call of Token
	// may bring another one.
	Expire(refused redact.Secret) bool
	// Serves reports whether the token may be sent to an address: it is bound to the server
	// it was read for, and nothing that is read later changes that.
	Serves(address string) bool
}

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
func (s staticToken) Expire(redact.Secret) bool                    { return false }
func (s staticToken) Serves(address string) bool                   { return s.bound.has(address) }

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
