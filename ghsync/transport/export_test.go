package transport

import (
	"net/http"
	"net/url"

	"github.com/agentmux/agentmux/ghsync/transport/answers"
)

// Hooks for the tests of this package, which stand outside it.

// Guarded is auth, etag and pin above next, for one origin.
func Guarded(next http.RoundTripper, tokens TokenSource, base *url.URL) http.RoundTripper {
	return &auth{next: &etag{next: &pin{next: next, origin: origin(base)}, known: answers.New()}, tokens: tokens, origin: origin(base)}
}

// Open is auth alone above next.
func Open(next http.RoundTripper, tokens TokenSource, base *url.URL) http.RoundTripper {
	return &auth{next: next, tokens: tokens, origin: origin(base)}
}
