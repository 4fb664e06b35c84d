package transport

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/ratelimit"
)

const (
	bareLimit    = time.Minute
	maxBareLimit = 15 * time.Minute
	quickLimit   = 10 * time.Minute
	maxQuick     = time.Hour
)

// quota is what the server has said about its limits. limit reads it before a call, retry
// writes it after each answer. A server without rate headers leaves it empty.
type quota struct {
	mu      sync.Mutex
	left    map[string]share // by resource
	closed  map[string]closing
	bare    time.Duration // the last wait for a limit without a time
	quick   time.Duration // the last wait for "submitted too quickly"
	content time.Time     // no content write before
}

type share struct {
	limit, remaining int
	reset            time.Time
	discovery        int // what discovery has used of it since the last reset
}

// sameReset is by how much servers differ about the end of one hour.
const sameReset = 10 * time.Second

type closing struct {
	until time.Time
	scope string
}

func newQuota() *quota {
	return &quota{left: map[string]share{}, closed: map[string]closing{}}
}

// note keeps the rate numbers of an answer; a success ends the growth of bare limits.
func (q *quota) note(c call, resp *http.Response) {
	resource := c.resource
	if named := resp.Header.Get("X-RateLimit-Resource"); named != "" {
		resource = named
	}
	limit, limitErr := strconv.Atoi(resp.Header.Get("X-RateLimit-Limit"))
	remaining, err := strconv.Atoi(resp.Header.Get("X-RateLimit-Remaining"))
	reset, ok := ratelimit.Reset(resp.Header, time.Now())
	q.mu.Lock()
	defer q.mu.Unlock()
	if resp.StatusCode < 300 {
		q.bare = 0
	}
	if limitErr != nil || err != nil || !ok {
		return
	}
	now := share{limit: limit, remaining: remaining, reset: reset}
	if former := q.left[resource]; reset.Sub(former.reset) <= sameReset {
		now.discovery = former.discovery
	}
	if c.priority == PriorityDiscovery && resp.Header.Get(cachedHeader) == "" {
		now.discovery++
	}
	q.left[resource] = now
}

// limited records a limit and returns how long it holds.
func (q *quota) limited(c call, l ratelimit.Limit) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	switch {
	case l.Scope == "content":
		q.quick = grow(q.quick, quickLimit, maxQuick)
		q.content = now.Add(q.quick)
		return q.quick
	case l.Bare:
		q.bare = grow(q.bare, bareLimit, maxBareLimit)
		l.Wait = q.bare
	}
	resource := c.resource
	if l.Scope == "secondary" {
		resource = ""
	}
	if until := now.Add(l.Wait); until.After(q.closed[resource].until) {
		q.closed[resource] = closing{until: until, scope: l.Scope}
	}
	return l.Wait
}

func grow(former, first, most time.Duration) time.Duration {
	return min(max(first, 2*former), most)
}

// hold is how long a call has to stay back, and for which limit. Below a tenth of the
// quota only finishing calls pass, and discovery may use half of it.
func (q *quota) hold(c call) (time.Duration, string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	var until time.Time
	scope := ""
	later := func(t time.Time, name string) {
		if t.After(now) && t.After(until) {
			until, scope = t, name
		}
	}
	later(q.closed[""].until, q.closed[""].scope)
	later(q.closed[c.resource].until, q.closed[c.resource].scope)
	if c.bucket == contentBucket {
		later(q.content, "content")
	}
	s := q.left[c.resource]
	if s.remaining*10 < s.limit && (c.priority != PriorityFinishing || s.remaining == 0) {
		later(s.reset.Add(time.Second), "primary")
	}
	if c.priority == PriorityDiscovery && s.limit > 0 && s.discovery*2 >= s.limit {
		later(s.reset.Add(time.Second), "own")
	}
	return until.Sub(now), scope
}

// Quota is one of the server's limits as last seen.
type Quota struct {
	Limit, Remaining int
	Reset            time.Time
	Discovery        int // what calls with PriorityDiscovery have used since the last reset
}

func (q *quota) snapshot() map[string]Quota {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := map[string]Quota{}
	for name, s := range q.left {
		all[name] = Quota{Limit: s.limit, Remaining: s.remaining, Reset: s.reset, Discovery: s.discovery}
	}
	return all
}
