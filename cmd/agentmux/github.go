package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/cli/go-gh/v2/pkg/auth"
)

// environmentTokens takes the tokens out of the environment, so that no child inherits them;
// app remembers them by the names of their variables.
func environmentTokens() map[string]string {
	tokens := map[string]string{}
	for _, name := range transport.AllTokenVariables() {
		if value := strings.TrimSpace(os.Getenv(name)); value != "" {
			tokens[name] = value
		}
		_ = os.Unsetenv(name)
	}
	return tokens
}

// handedToken is what a launcher gives the host that it starts: a token with the server that
// it was read for.
type handedToken struct {
	Token  string `json:"token"`
	From   string `json:"from"`
	API    string `json:"api"`
	Server string `json:"server"`
}

// identity is the GitHub account a command acts as; nil tokens mean none.
type identity struct {
	bases  transport.Addresses
	tokens transport.TokenSource
	from   string        // where the token is from, for doctor
	unfit  string        // a variable with a token that is for another server
	pause  time.Duration // before a request is repeated; 0: the usual
}

// settle names the server that the person means: by a configuration of their own, else by the
// environment. A repository's file cannot.
func settle(c *config.Config) (transport.Addresses, error) {
	name := ""
	if c.Layer("github.host") != config.LayerBuiltIn {
		name = c.GitHub.Host
	}
	bases, err := transport.Bases(name, os.Getenv)
	if err != nil {
		return bases, exit.Usage(fmt.Errorf("%w: take github.host out of your configuration, or unset the variable", err))
	}
	return bases, nil
}

// inJob reports whether this is a job of GitHub Actions on the server: its token is then in
// the variables of GitHub's own servers.
func inJob(at transport.Addresses) bool {
	return os.Getenv("GITHUB_ACTIONS") == "true" && strings.TrimSuffix(os.Getenv("GITHUB_SERVER_URL"), "/") == at.Server
}

// identity settles the server and finds a token for it as github.auth says: an App's, a
// variable's, else gh's.
func (a *app) identity(c *config.Config) (identity, error) {
	bases, err := settle(c)
	id := identity{bases: bases}
	if err != nil {
		return id, err
	}
	if actsAsApp(c) {
		id.from = "the App " + c.GitHub.App.ClientID
		return id, checkApp(c.GitHub.App) // its tokens are made where the project is known
	}
	mode, token, from := a.token(c, &id)
	if token != "" {
		id.tokens, id.from = transport.StaticToken(mode, redact.NewSecret(token), bases), from
	}
	return id, nil
}

// token finds the token for the server of id.
func (a *app) token(c *config.Config, id *identity) (mode transport.Mode, token, from string) {
	mode = map[string]transport.Mode{"gh": transport.ModeGH, "actions": transport.ModeActions}[c.GitHub.Auth]
	if mode == "" {
		mode = transport.ModeToken
	}
	if a.handed != nil {
		if a.handed.API != id.bases.API || a.handed.Server != id.bases.Server {
			id.unfit = a.handed.From
			return mode, "", ""
		}
		return mode, a.handed.Token, a.handed.From
	}
	if mode != transport.ModeGH {
		token, from = a.variable(id)
	}
	if token == "" && (mode == transport.ModeGH || c.GitHub.Auth == "auto") {
		token, from = ghToken(id.bases.Server)
		mode = transport.ModeGH
	}
	return mode, token, from
}

// variable is the first variable whose token may be sent to the server of id.
func (a *app) variable(id *identity) (token, from string) {
	names := transport.TokenVariables(id.bases, inJob(id.bases))
	for _, name := range names {
		if a.tokens[name] != "" {
			return a.tokens[name], name
		}
	}
	for _, name := range transport.AllTokenVariables() {
		if a.tokens[name] != "" && id.unfit == "" {
			id.unfit = name
		}
	}
	return "", ""
}

// noToken says why there is no token, and where one is looked for.
func (id identity) noToken() (detail, hint string) {
	hint = noTokenHint
	if id.bases.Enterprise() {
		hint = strings.Replace(hint, " GH_TOKEN", " GH_ENTERPRISE_TOKEN", 1)
	}
	if id.unfit == "" {
		return "no GitHub token", hint
	}
	return fmt.Sprintf("no GitHub token for %s: the one from %s is for another server", id.bases.Server, id.unfit), hint
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
	return ghsync.New(transport.Options{
		APIURL: id.bases.API, GraphQLURL: id.bases.GraphQL, ServerURL: id.bases.Server, Token: id.tokens, Log: log, Pause: id.pause,
	})
}

// noTokenHint says where a token is looked for.
const noTokenHint = "set AGENTMUX_GITHUB_TOKEN or GH_TOKEN, or run gh auth login"

// tokenError says that what was found cannot be a token.
type tokenError struct{ from string }

func (e *tokenError) Error() string {
	return "the token from " + e.from + " is too short to be one of GitHub"
}

// explainGitHub says what happened with GitHub and what a person can do about it.
func explainGitHub(err error, what, tokenFrom string) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	detail, hint := githubWords(err, what, tokenFrom)
	said := fmt.Errorf("%s; %s", detail, hint)
	if errors.Is(err, transport.ErrPullRequest) || transport.IsNotFound(err) || isUnauthorized(err) {
		return exit.Usage(said)
	}
	return said
}

func isUnauthorized(err error) bool { return transport.HasCode(err, transport.CodeUnauthorized) }

// refusedToken says what to do about a token that GitHub refused: where one is taken from
// first, another one elsewhere would not help.
func refusedToken(from string) (hint string) {
	switch {
	case strings.HasPrefix(from, "gh "):
		return "gh auth login makes another"
	case strings.HasPrefix(from, "the App "):
		return "see that github.app.client_id and github.app.key_file belong together"
	}
	return "set " + from + " to another, or unset it and run gh auth login"
}

// githubWords splits an error of GitHub into what happened to what, and what to do.
func githubWords(err error, what, tokenFrom string) (detail, hint string) {
	var terminal *transport.Terminal
	var later *transport.RetryAfter
	var missing *transport.NotFound
	switch {
	case errors.Is(err, transport.ErrPullRequest):
		return what + " is a pull request", "give the number of an issue"
	case errors.As(err, &missing) && missing.Gone:
		return what + " was deleted", "check the number"
	case errors.As(err, &missing):
		return what + " is not there, or this account may not see it", "check the name, the number and that the token may read the repository"
	case isUnauthorized(err):
		return what + ": GitHub refused the token from " + tokenFrom + ": it is wrong, expired or revoked", refusedToken(tokenFrom)
	case errors.As(err, &terminal) && terminal.Status == 403:
		hint = "agentmux doctor shows what the token may do"
		if terminal.Needs != "" {
			hint = terminal.Hint + ": " + hint
		}
		return what + ": GitHub forbids it: " + terminal.Message, hint
	case errors.As(err, &terminal):
		return what + ": " + terminal.Error(), "agentmux doctor probes the server and the token"
	case errors.As(err, &later) && later.Scope != "server" && later.Scope != "token":
		return fmt.Sprintf("%s: GitHub's %s rate limit is used up", what, later.Scope), tryAgain(later.Wait)
	}
	hint = "is the network up, and github.host right? agentmux doctor probes it"
	if later != nil && !broken(err) {
		hint = "try again in a few minutes; agentmux doctor probes it"
	}
	return what + ": GitHub does not answer: " + lastWords(err), hint
}

// broken reports whether the way to the server failed, and not the server.
func broken(err error) bool {
	return errors.As(err, new(net.Error)) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// tryAgain names a moment that is far away by its time.
func tryAgain(wait time.Duration) string {
	if wait > time.Hour {
		return "try again after " + time.Now().Add(wait).Format("2006-01-02 15:04")
	}
	return "try again in " + wait.Round(time.Second).String()
}

// lastWords is the innermost cause of an error, without what each layer put in front.
func lastWords(err error) string {
	var terminal *transport.Terminal
	if errors.As(err, &terminal) {
		return terminal.Message
	}
	var op *net.OpError
	if errors.As(err, &op) {
		cause := op.Err.Error()
		var sys *os.SyscallError
		if errors.As(op.Err, &sys) {
			cause = sys.Err.Error()
		}
		if op.Addr != nil {
			return op.Addr.String() + ": " + cause
		}
		return cause
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}
