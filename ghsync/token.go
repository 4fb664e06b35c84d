package ghsync

import (
	"context"

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

// TokenSource gives the token of one identity.
type TokenSource interface {
	Mode() Mode
	// Token returns a token to use now. It may ask the server for one.
	Token(ctx context.Context) (redact.Secret, error)
	// Expire says that the server refused the last token, and returns whether the next call
	// of Token may bring another one.
	Expire() bool
}

type staticToken struct {
	mode  Mode
	token redact.Secret
}

// StaticToken is one token for as long as the process runs.
func StaticToken(mode Mode, token redact.Secret) TokenSource {
	return staticToken{mode: mode, token: token}
}

func (s staticToken) Mode() Mode                                   { return s.mode }
func (s staticToken) Token(context.Context) (redact.Secret, error) { return s.token, nil }
func (s staticToken) Expire() bool                                 { return false }

// TokenVariables are the names of the environment variables that may hold a token, first
// wins. A server of one's own has one more.
func TokenVariables(enterprise bool) []string {
	names := []string{"AGENTMUX_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"}
	if enterprise {
		names = []string{"AGENTMUX_GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"}
	}
	return names
}
