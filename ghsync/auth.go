package ghsync

import (
	"fmt"
	"net/http"
)

// tokenError keeps apart what failed while getting a token: the request itself was not sent.
type tokenError struct{ err error }

func (e *tokenError) Error() string { return fmt.Sprintf("get a token: %v", e.err) }

func (e *tokenError) Unwrap() error { return e.err }

// auth adds the token, to the API's own origin only.
type auth struct {
	next   http.RoundTripper
	tokens TokenSource
	origin string
}

func (t *auth) RoundTrip(req *http.Request) (*http.Response, error) {
	if origin(req.URL) != t.origin {
		return t.next.RoundTrip(req)
	}
	token, err := t.tokens.Token(req.Context())
	if err != nil {
		return nil, &tokenError{err: err}
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	return t.next.RoundTrip(req)
}
