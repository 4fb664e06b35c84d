// Package skew estimates the time of a server from the Date of its answers. What a server dates, a
// comment or an edit, is as old as that server's clock says: the clock of this machine may be a day off,
// or be set while the program runs. It stores nothing.
package skew

import (
	"net/http"
	"sync"
	"time"
)

// Clock sends requests and learns from the answers what time it is at their server. It is safe for
// concurrent use.
type Clock struct {
	next  http.RoundTripper
	local func() time.Time

	mu     sync.Mutex
	server time.Time // when local showed at; zero: no answer has disagreed with local
	at     time.Time
}

// New returns a Clock above a transport that sends to one server. Times of local have a monotonic reading, like
// those of [time.Now], or a clock that is set shows until the next answer.
func New(next http.RoundTripper, local func() time.Time) *Clock {
	return &Clock{next: next, local: local}
}

// RoundTrip sends a request.
func (c *Clock) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := c.local()
	resp, err := c.next.RoundTrip(req)
	if err == nil {
		c.note(resp.Header.Get("Date"), sent, c.local())
	}
	return resp, err
}

// Now is the time of the server; that of this machine as long as no answer disagrees with it.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of(c.local())
}

func (c *Clock) of(local time.Time) time.Time {
	if c.server.IsZero() {
		return local
	}
	return c.server.Add(local.Sub(c.at))
}

// granularity is that of the header: a time in it is cut to its second.
const granularity = time.Second

// note corrects the estimate by no more than an answer proves. The server wrote its date after the request
// was sent and before the answer came, however slow either was.
func (c *Clock) note(date string, sent, received time.Time) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if latest := at.Add(granularity); c.of(sent).After(latest) {
		c.server, c.at = latest, sent
	} else if c.of(received).Before(at) {
		c.server, c.at = at, received
	}
}
