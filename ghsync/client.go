package ghsync

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
	"sync"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/agentmux/agentmux/internal/crash"
)

const maxRedirects = 3

// Options are what a Client is made of. Token is required; empty URLs mean github.com.
type Options struct {
	APIURL, GraphQLURL, ServerURL string

	Token TokenSource

	HTTP   http.RoundTripper // nil: a transport of its own
	Log    *slog.Logger      // nil: none
	Now    func() time.Time  // nil: time.Now; for times that are recorded, not for waits
	Limits Limits
	Pause  time.Duration // before the first repetition; 0: one second
}

// Client is one identity at one GitHub server. It is safe for use by many sessions at once,
// which then share its limits and its cache.
type Client struct {
	options Options // as completed by New
	api     *github.Client
	graphql *url.URL
	server  *url.URL
	tokens  TokenSource
	quota   *quota
	log     *slog.Logger
	now     func() time.Time

	mu          sync.Mutex
	noGraphQL   bool // the endpoint answered that there is none
	viewer      *Account
	permissions map[string]remembered
}

// New makes a client and sends nothing.
func New(o Options) (*Client, error) {
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
	if o.HTTP == nil {
		o.HTTP = newTransport()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Token.Mode() == ModeActions {
		o.Limits.PerHour = cmp.Or(o.Limits.PerHour, 600)
	}
	c := &Client{
		options: o, graphql: graphQL, server: server, tokens: o.Token, quota: newQuota(),
		log: o.Log, now: o.Now, permissions: map[string]remembered{},
	}
	c.api = github.NewClient(&http.Client{Transport: c.stack(o, api), CheckRedirect: checkRedirect})
	c.api.BaseURL, c.api.UserAgent = api, "agentmux"
	return c, nil
}

// stack is limit, retry, auth, etag and pin above the transport, outermost first.
func (c *Client) stack(o Options, api *url.URL) http.RoundTripper {
	own := origin(api)
	tags := newETag(&pin{next: o.HTTP, origin: own})
	authorized := &auth{next: tags, tokens: o.Token, origin: own}
	again := &retry{next: authorized, quota: c.quota, tokens: o.Token, pause: cmp.Or(o.Pause, firstPause)}
	return newLimit(again, c.quota, o.Limits)
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

// Server is the address people see, without a final slash.
func (c *Client) Server() string { return strings.TrimSuffix(c.server.String(), "/") }

// Host is the server's name, with a port if it has one.
func (c *Client) Host() string { return c.server.Host }

// Mode is where the token comes from.
func (c *Client) Mode() Mode { return c.tokens.Mode() }

// Quotas returns the server's limits as last seen, by resource; empty where it has none.
func (c *Client) Quotas() map[string]Quota { return c.quota.snapshot() }

// do sends one REST request and decodes the answer into out, which may be nil.
func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	_, err := c.send(ctx, method, path, in, out)
	return err
}

// send is do with the response, for its links and headers.
func (c *Client) send(ctx context.Context, method, path string, in, out any) (*github.Response, error) {
	req, err := c.api.NewRequest(method, path, in)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	resp, err := c.api.Do(ctx, req, out)
	crash.Point("GitHub "+method, thing(req.URL.Path))
	if method == http.MethodPost && misread(err) {
		return resp, &Ambiguous{Method: method, Path: req.URL.Path, Err: errUnreadable}
	}
	return resp, plain(err)
}

// plain takes the library's and net/http's wrapping off our own errors.
func plain(err error) error {
	var wrapped *url.Error
	switch {
	case errors.As(err, &wrapped):
		return wrapped.Err
	case misread(err):
		return &RetryAfter{Wait: 5 * firstPause, Scope: "server", Err: errUnreadable}
	}
	return err
}

// misread reports whether an answer is JSON of another shape than what was asked for.
func misread(err error) bool {
	return errors.As(err, new(*json.UnmarshalTypeError)) || errors.As(err, new(*json.SyntaxError)) || errors.As(err, new(*time.ParseError))
}

// errNoGraphQL means that the server has no GraphQL endpoint; callers then read by REST.
var errNoGraphQL = errors.New("no GraphQL endpoint")

// ask sends one GraphQL document. A document that starts with "mutation" is a creating call.
func (c *Client) ask(ctx context.Context, document string, variables map[string]any, out any) error {
	if c.withoutGraphQL() {
		return errNoGraphQL
	}
	repeat := reading
	if strings.HasPrefix(document, "mutation") {
		repeat = creating
	}
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Errors []graphqlError  `json:"errors"`
	}
	in := map[string]any{"query": document, "variables": variables, "operationName": operationName(document)}
	err := c.do(context.WithValue(ctx, kindKey, repeat), http.MethodPost, c.graphql.String(), in, &answer)
	if IsNotFound(err) || isUnsupported(err) || errors.As(err, new(*foreign)) && c.hasREST(ctx) {
		c.mu.Lock()
		c.noGraphQL = true
		c.mu.Unlock()
		return errNoGraphQL
	}
	if err != nil {
		return err
	}
	if len(answer.Errors) > 0 {
		return graphqlFailure(answer.Errors)
	}
	return plain(json.Unmarshal(answer.Data, out))
}

// isUnsupported reports whether a server says that it does not know such a request at all.
func isUnsupported(err error) bool {
	var terminal *Terminal
	return errors.As(err, &terminal) && (terminal.Status == http.StatusMethodNotAllowed || terminal.Status == http.StatusNotImplemented)
}

// hasREST reports whether the rest of the server's interface answers.
func (c *Client) hasREST(ctx context.Context) bool {
	_, err := c.Meta(ctx)
	return err == nil
}

func (c *Client) withoutGraphQL() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.noGraphQL
}

// operationName is the word after query or mutation.
func operationName(document string) string {
	fields := strings.FieldsFunc(document, func(r rune) bool { return r == ' ' || r == '(' || r == '{' })
	if len(fields) < 2 {
		return ""
	}
	return fields[1]
}
