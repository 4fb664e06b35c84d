package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/config"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/cli/go-gh/v2/pkg/auth"
)

// takeToken reads the first variable that is set. The variables leave the
// environment then, so that no child inherits them; app remembers the value.
func (a *app) takeToken(names []string) (value, from string) {
	for _, name := range names {
		if v := strings.TrimSpace(os.Getenv(name)); v != "" && a.token == "" {
			a.token, a.tokenFrom = v, name
		}
		_ = os.Unsetenv(name)
	}
	return a.token, a.tokenFrom
}

// identity is the GitHub account a command acts as; nil tokens mean none.
type identity struct {
	bases  ghsync.Addresses
	tokens ghsync.TokenSource
	from   string // where the token is from, for doctor
}

// identity finds a token as github.auth says: an App's, a variable's, else gh's.
func (a *app) identity(c *config.Config) (identity, error) {
	id := identity{bases: ghsync.Bases(c.GitHub.Host, os.Getenv)}
	token, from := a.takeToken(ghsync.TokenVariables(id.bases.Enterprise()))
	if actsAsApp(c) {
		id.from = "the App " + c.GitHub.App.ClientID
		return id, checkApp(c.GitHub.App) // its tokens are made where the project is known
	}
	mode := ghsync.ModeToken
	switch c.GitHub.Auth {
	case "gh":
		token, from = ghToken(id.bases.Server)
		mode = ghsync.ModeGH
	case "actions":
		mode = ghsync.ModeActions
	case "auto":
		if token == "" {
			token, from = ghToken(id.bases.Server)
			mode = ghsync.ModeGH
		}
	}
	if token != "" {
		id.tokens, id.from = ghsync.StaticToken(mode, redact.NewSecret(token)), from
	}
	return id, nil
}

// ghToken asks gh's own configuration for the server's token.
func ghToken(server string) (token, from string) {
	u, err := url.Parse(server)
	if err != nil {
		return "", ""
	}
	token, source := auth.TokenForHost(u.Host)
	if token == "" {
		return "", ""
	}
	return token, "gh (" + source + ")"
}

// client returns a client of the identity, or nil without a token.
func (id identity) client(log *slog.Logger) (*ghsync.Client, error) {
	if id.tokens == nil {
		return nil, nil
	}
	return ghsync.New(ghsync.Options{
		APIURL: id.bases.API, GraphQLURL: id.bases.GraphQL, ServerURL: id.bases.Server, Token: id.tokens, Log: log,
	})
}

// explainGitHub says what a person can do about an error of GitHub.
func explainGitHub(err error, what string) error {
	var terminal *ghsync.Terminal
	var missing *ghsync.NotFound
	switch {
	case errors.Is(err, ghsync.ErrPullRequest):
		return usage(fmt.Errorf("%s is a pull request; give the number of an issue", what))
	case errors.As(err, &missing):
		return usage(fmt.Errorf("%s: %w; check the number and that the token may read the repository", what, err))
	case errors.As(err, &terminal) && terminal.Status == 401:
		return fmt.Errorf("%s: GitHub refused the token; set AGENTMUX_GITHUB_TOKEN or run gh auth login", what)
	case errors.As(err, &terminal) && terminal.Status == 403:
		return fmt.Errorf("%s: %w; agentmux doctor shows what the token may do", what, err)
	case errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("%s: %w; is the network up? agentmux doctor probes it", what, err)
}
