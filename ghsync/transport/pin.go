package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// maxResponse is more than any answer this package asks for.
	maxResponse = 32 << 20
	// headerTime and responseTime bound one try; a retry starts them again.
	headerTime   = 30 * time.Second
	responseTime = 60 * time.Second
)

var errTooLarge = errors.New("response larger than 32 MiB")

// refusedHost is the error of pin for a request to another origin.
type refusedHost struct{ host string }

func (e *refusedHost) Error() string {
	return fmt.Sprintf("refused a request to %s: not the API's origin", e.host)
}

// pin is the innermost layer of ours: one origin, bounded size, bounded time. The logs of jobs lie elsewhere; package joblog reads them past it.
type pin struct {
	next   http.RoundTripper
	origin string
}

func (t *pin) RoundTrip(req *http.Request) (*http.Response, error) {
	if origin(req.URL) != t.origin {
		return nil, &refusedHost{host: req.URL.Host}
	}
	ctx, cancel := context.WithTimeout(req.Context(), responseTime)
	resp, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &boundedBody{body: resp.Body, left: maxResponse, cancel: cancel}
	return resp, nil
}

// boundedBody ends with an error past its limit and frees the try's timer when closed.
type boundedBody struct {
	body   io.ReadCloser
	left   int64
	cancel context.CancelFunc
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	n, err := b.body.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

func (b *boundedBody) Close() error {
	b.cancel()
	return b.body.Close()
}

// NewHTTP returns a transport to be below all layers. Its dials and handshakes are bounded so
// that what was not sent is known not to be.
func NewHTTP() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = headerTime
	t.MaxIdleConnsPerHost = 8
	return t
}
