package ghsync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/google/go-github/v62/github"

	"github.com/agentmux/agentmux/ghsync/joblog"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/ghsync/transport/thing"
	"github.com/agentmux/agentmux/internal/crash"
)

// Client is one identity at one GitHub server. It is safe for use by many sessions at once,
// which then share its limits and its cache.
type Client struct {
	rest  unsafe.Pointer // a *github.Client, see api
	stack *transport.Stack
	log   *slog.Logger
	Now   func() time.Time // by the clock of the server, as its answers tell

	mu          sync.Mutex
	noGraphQL   time.Time // until when the server is taken for one that has no GraphQL endpoint, as it answered
	viewer      *Account
	permissions map[string]remembered
}

// New makes a client and sends nothing.
func New(o transport.Options) (*Client, error) {
	stack, err := transport.New(o)
	if err != nil {
		return nil, err
	}
	c := &Client{stack: stack, log: stack.Options.Log, Now: stack.Clock.Now, permissions: map[string]remembered{}}
	rest := github.NewClient(stack.Client())
	rest.BaseURL, rest.UserAgent = stack.API, "agentmux"
	c.rest = unsafe.Pointer(rest)
	return c, nil
}

// api hides the type of the field from the linker. A Client becomes a value of interfaces, and below
// such a value the linker keeps every method of every type: all services of go-github, 1.6 MB.
func api(c *Client) *github.Client { return (*github.Client)(c.rest) }

// Server is the address people see, without a final slash.
func (c *Client) Server() string { return strings.TrimSuffix(c.stack.Server.String(), "/") }

// Host is the server's name, with a port if it has one.
func (c *Client) Host() string { return c.stack.Server.Host }

// Mode is where the token comes from.
func (c *Client) Mode() transport.Mode { return c.stack.Options.Token.Mode() }

// Quotas returns the server's limits as last seen, by resource; empty where it has none.
func (c *Client) Quotas() map[string]transport.Quota { return c.stack.Quotas() }

// do sends one REST request and decodes the answer into out, which may be nil.
func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	_, err := c.send(ctx, method, path, in, out)
	return err
}

// Read decodes the answer to a GET of a path below the API's base into out.
func (c *Client) Read(ctx context.Context, path string, out any) error {
	return c.do(ctx, http.MethodGet, path, nil, out)
}

// Post sends in to a path below the API's base, once.
func Post(ctx context.Context, c *Client, path string, in any) error {
	return c.do(ctx, http.MethodPost, path, in, nil)
}

// send is do with the response, for its links and headers.
func (c *Client) send(ctx context.Context, method, path string, in, out any) (*github.Response, error) {
	req, err := api(c).NewRequest(method, path, in)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	resp, err := api(c).Do(ctx, req, out)
	return resp, sent(c, req, err)
}

// served returns the error of a call through a service of the library, as do would.
func served(c *Client, resp *github.Response, err error) error {
	if resp == nil { // nothing came back
		return transport.Plain(err)
	}
	return sent(c, resp.Request, err)
}

// sent returns the error of a request that was sent.
func sent(c *Client, req *http.Request, err error) error {
	crash.Point("GitHub "+req.Method, thing.At(req.URL.Path))
	if transport.Misread(err) {
		c.stack.Discard(req)
	}
	if req.Method == http.MethodPost && transport.Misread(err) {
		return &transport.Ambiguous{Method: req.Method, Path: req.URL.Path, Err: transport.ErrUnreadable}
	}
	return transport.Plain(err)
}

// Query asks one GraphQL document that only reads, for packages beside this one. served is false
// where the server has no GraphQL, and where it tells of a part alone: REST has what it does not tell.
func (c *Client) Query(ctx context.Context, document string, variables map[string]any, out any) (served bool, err error) {
	err = c.ask(ctx, document, variables, out)
	if errors.Is(err, errNoGraphQL) || transport.IsForeign(err) {
		return false, nil
	}
	return true, err
}

// LogTail reads the end of the log of a job at a path; see joblog.Tail.
func (c *Client) LogTail(ctx context.Context, path string) (text []byte, cut bool, err error) {
	return joblog.Tail(ctx, c.stack, path)
}

// errNoGraphQL means that the server has no GraphQL endpoint; callers then read by REST.
var errNoGraphQL = errors.New("no GraphQL endpoint")

// ask sends one GraphQL document. A document that starts with "mutation" is a creating call.
func (c *Client) ask(ctx context.Context, document string, variables map[string]any, out any) error {
	if c.withoutGraphQL() {
		return errNoGraphQL
	}
	if !strings.HasPrefix(document, "mutation") {
		ctx = transport.Reading(ctx)
	}
	var answer struct {
		Data   json.RawMessage          `json:"data"`
		Errors []transport.GraphQLError `json:"errors"`
	}
	in := map[string]any{"query": document, "variables": variables, "operationName": operationName(document)}
	err := c.do(ctx, http.MethodPost, c.stack.GraphQL.String(), in, &answer)
	if transport.IsNotFound(err) || isUnsupported(err) || transport.IsForeign(err) && c.hasREST(ctx) {
		c.mu.Lock()
		c.noGraphQL = c.Now().Add(time.Hour) // a proxy may have answered, while the server was down
		c.mu.Unlock()
		return errNoGraphQL
	}
	if err != nil {
		return err
	}
	if len(answer.Errors) > 0 {
		return transport.GraphQLFailure(answer.Errors)
	}
	return transport.Plain(json.Unmarshal(answer.Data, out))
}

// isUnsupported reports whether a server says that it does not know such a request at all.
func isUnsupported(err error) bool {
	var terminal *transport.Terminal
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
	return c.Now().Before(c.noGraphQL)
}

// operationName is the word after query or mutation.
func operationName(document string) string {
	fields := strings.FieldsFunc(document, func(r rune) bool { return r == ' ' || r == '(' || r == '{' })
	if len(fields) < 2 {
		return ""
	}
	return fields[1]
}
