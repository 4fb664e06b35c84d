package transport

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/skew"
)

const maxRedirects = 3

// Options are what a Stack is made of. Token is required; empty URLs mean github.com.
type Options struct {
	APIURL, GraphQLURL, ServerURL string

	Token TokenSource

	// Shared is what this Stack has in common with others of its identity. HTTP and Limits are
	// those of Shared then. Nil: nothing.
	Shared *Shared
	// Presence is told after each call whether the server knows the identity: an *Away, or nil.
	// It must not block. May be nil.
	Presence func(error)

	HTTP   http.RoundTripper // nil: a transport of its own
	Log    *slog.Logger      // nil: none
	Now    func() time.Time  // nil: time.Now; for times that are recorded, not for waits
	Limits Limits
	Pause  time.Duration // before the first repetition; 0: one second
}

// Stack is the way of one token source to one GitHub server: its limits, its repetitions, its
// tokens and what it knows by entity tag. Many sessions may use it at once and then share them.
// Stacks whose tokens are of one identity share all but the tokens: see Shared.
type Stack struct {
	Options              Options // as completed by New
	API, GraphQL, Server *url.URL

	Clock *skew.Clock // the time of the server
	quota *quota
	top   http.RoundTripper
}

// New checks the options. It sends nothing.
func New(o Options) (*Stack, error) {
	bases := hostBases("")
	api, apiErr := parseBase("API URL", cmp.Or(o.APIURL, bases.API))
	graphQL, gqlErr := parseBase("GraphQL URL", cmp.Or(o.GraphQLURL, graphQLBeside(cmp.Or(o.APIURL, bases.API))))
	server, serverErr := parseBase("server URL", cmp.Or(o.ServerURL, bases.Server))
	if err := errors.Join(apiErr, gqlErr, serverErr); err != nil {
		return nil, err
	}
	if o.Token == nil {
		return nil, errors.New("no GitHub token")
	}
	if origin(api) != origin(graphQL) {
		return nil, fmt.Errorf("API %s and GraphQL %s are on two hosts", api, graphQL)
	}
	if !o.Token.Serves(api.String()) {
		return nil, fmt.Errorf("the GitHub token is not for %s", api.Host)
	}
	if !strings.HasSuffix(api.Path, "/") {
		api.Path += "/"
	}
	if o.Shared == nil {
		o.Shared = NewProcess(o.HTTP).Share(o.Limits.Of(o.Token.Mode()))
	}
	o.HTTP = o.Shared.process.http
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Stack{Options: o, API: api, GraphQL: graphQL, Server: server, quota: o.Shared.limit.quota}
	// Limit, retry, auth, etag and pin above the transport, outermost first.
	s.Clock = skew.New(o.Shared.process.pinned(origin(api)), o.Now)
	authorized := &auth{next: &etag{next: s.Clock, known: o.Shared.answers}, tokens: o.Token, origin: origin(api)}
	s.top = o.Shared.limit.above(&presence{tell: o.Presence, next: &retry{
		next: authorized, quota: s.quota, tokens: o.Token, pause: cmp.Or(o.Pause, firstPause),
	}})
	return s, nil
}

// Client returns an HTTP client whose requests go this way. Its errors are the types of this
// package, within an url.Error; Plain takes that off.
func (s *Stack) Client() *http.Client {
	return &http.Client{Transport: s.top, CheckRedirect: checkRedirect}
}

// Quotas are those of [Shared.Quotas].
func (s *Stack) Quotas() map[string]Quota { return s.quota.snapshot() }

// Insist makes a creating call again as long as its fate is unclear. It is for what is the
// same however often it is asked for; the stack, which does not know that, sends once.
func (s *Stack) Insist(ctx context.Context, call func() error) error {
	waits, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	for try := 1; ; try++ {
		err := call()
		unclear := errors.As(err, new(*Ambiguous)) || errors.As(err, new(*Unsent))
		if !unclear || try == maxTries || !Wait(waits, backoff(cmp.Or(s.Options.Pause, firstPause), try)) {
			return err
		}
	}
}

// checkRedirect follows a read within its origin, three times. Everything else would lose
// the method, or carry the token away.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	reads := req.Method == http.MethodGet || req.Method == http.MethodHead
	if len(via) > maxRedirects || !reads || req.Method != first.Method || origin(req.URL) != origin(first.URL) {
		return &Moved{Location: req.URL.Redacted()}
	}
	return nil
}

// Plain takes the library's and net/http's wrapping off our own errors.
func Plain(err error) error {
	var wrapped *url.Error
	switch {
	case errors.As(err, &wrapped):
		return wrapped.Err
	case Misread(err):
		return Unreadable()
	}
	return err
}

// Unreadable is the error of an answer that cannot be used.
func Unreadable() error {
	return &RetryAfter{Wait: 5 * firstPause, Scope: "server", Err: ErrUnreadable}
}

// Misread reports whether an answer is JSON of another shape than what was asked for.
func Misread(err error) bool {
	return errors.As(err, new(*json.UnmarshalTypeError)) || errors.As(err, new(*json.SyntaxError)) || errors.As(err, new(*time.ParseError))
}
