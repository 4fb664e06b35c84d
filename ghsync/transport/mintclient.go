package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/agentmux/agentmux/internal/ratelimit"
)

// MintClient sends what an App asks for itself, signed by its key: requests outside of every
// limit, with no token of a Stack.
type MintClient struct {
	Base *url.URL
	http http.Client
}

// Send sends a request once. again says that the same request may be sent again at once; the
// error is a type of this package. The response's body is read.
func (c *MintClient) Send(ctx context.Context, req *http.Request) (resp *http.Response, body []byte, again bool, err error) {
	req.Header.Set("Accept", mediaType)
	req.Header.Set("User-Agent", "agentmux")
	resp, err = c.http.Do(req)
	if err != nil {
		err = Plain(err)
		return nil, nil, ctx.Err() == nil && !IsMoved(err), err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	message := parseMessage(body)
	limit, isLimit := ratelimit.Of(resp, message.text(), message.Docs, time.Now())
	switch {
	case err != nil || ratelimit.Failed(resp.StatusCode):
		return resp, nil, true, &RetryAfter{Wait: bareLimit, Scope: "server", Err: errors.Join(err, fmt.Errorf("status %d", resp.StatusCode))}
	case isLimit:
		return resp, nil, false, &RetryAfter{Wait: cmp.Or(limit.Wait, bareLimit), Scope: limit.Scope, Err: errors.New(message.text())}
	case resp.StatusCode >= 300:
		return resp, nil, false, refusal(callOf(req), resp, message)
	}
	return resp, body, false, nil
}

// MintClient makes the client for an API base.
func (p *Process) MintClient(api string) (*MintClient, error) {
	base, err := parseBase("API URL", api)
	if err != nil {
		return nil, err
	}
	return &MintClient{Base: base, http: http.Client{Transport: p.pinned(origin(base)), CheckRedirect: checkRedirect}}, nil
}
