package transport

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/oauth2"

	"github.com/agentmux/agentmux/internal/redact"
)

// tokenError keeps apart what failed while getting a token: the request itself was not sent.
type tokenError struct{ err error }

func (e *tokenError) Error() string { return fmt.Sprintf("get a token: %v", e.err) }

func (e *tokenError) Unwrap() error { return e.err }

// mediaType is what GitHub recommends to accept.
const mediaType = "application/vnd.github+json"

// auth adds the token, to the API's own origin only, and only if the token is for it. It also asks for JSON: the names of old
// previews, which the library puts in its place, are unknown to a server that reads them.
type auth struct {
	next   http.RoundTripper
	tokens TokenSource
	origin string
}

func (t *auth) RoundTrip(req *http.Request) (*http.Response, error) {
	if origin(req.URL) != t.origin || !t.tokens.Serves(req.URL.String()) {
		return t.next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	req.Header.Set("Accept", accepted(req))
	return (&oauth2.Transport{Source: t.source(req), Base: t.next}).RoundTrip(req)
}

// accepted is the type of answers that the server is asked for.
func accepted(req *http.Request) string {
	if kind := req.Header.Get("Accept"); strings.Contains(kind, "json") {
		return kind
	}
	return mediaType
}

// source gives the token of one request. Each request asks on its own, so that the wait for a
// token ends with the request's context.
func (t *auth) source(req *http.Request) oauth2.TokenSource {
	return sourceFunc(func() (*oauth2.Token, error) {
		token, err := t.tokens.Token(req.Context())
		if err != nil {
			return nil, &tokenError{err: err}
		}
		if note, ok := req.Context().Value(noteKey{}).(*redact.Secret); ok {
			*note = token
		}
		return &oauth2.Token{AccessToken: token.Reveal()}, nil
	})
}

// sourceFunc is a function as an oauth2.TokenSource.
type sourceFunc func() (*oauth2.Token, error)

func (f sourceFunc) Token() (*oauth2.Token, error) { return f() }

type noteKey struct{}

// noting returns a context whose request leaves its token in note. By the time of its answer
// the token source may have another one.
func noting(ctx context.Context, note *redact.Secret) context.Context {
	return context.WithValue(ctx, noteKey{}, note)
}
