package fakehub

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// limit counts the requests of one actor to one resource in the current hour.
type limit struct {
	max, used int
	reset     time.Time
}

func (c *call) resource() string {
	switch {
	case c.route == nil:
		return "core"
	case c.route.pattern == "/graphql":
		return "graphql"
	case c.route.pattern == "/search/issues":
		return "search"
	}
	return "core"
}

// bucket is the actor's limit for a resource; tokens of one account share it.
func (c *call) bucket(resource string) *limit {
	who, most, window := "anonymous", 60, time.Hour
	if c.actor != nil {
		who, most = c.actor.login, 5000
	}
	if c.token != nil && c.token.hourly > 0 {
		who, most = "token "+c.token.value, c.token.hourly
	}
	if resource == "search" {
		most, window = 30, time.Minute
	}
	name := who + " " + resource
	b := c.limits[name]
	if b == nil {
		b = &limit{max: most}
		c.limits[name] = b
	}
	if !c.at.Before(b.reset) {
		b.used, b.reset = 0, c.at.Add(window)
	}
	return b
}

// uncounted are the routes that cost nothing.
func (c *call) uncounted() bool {
	free := c.route != nil && (c.route.pattern == "/rate_limit" || c.route.pattern == "/logs/{rid}/{id}")
	return c.opt.Enterprise || free
}

// overLimit takes one request from the bucket or answers that it is empty.
func (c *call) overLimit() *reply {
	b := c.bucket(c.resource())
	if c.uncounted() {
		return nil
	}
	if b.used >= b.max {
		who := "127.0.0.1"
		if c.actor != nil {
			who = fmt.Sprintf("user ID %d", c.actor.id)
		}
		out := fail(http.StatusForbidden, "API rate limit exceeded for "+who+".")
		return &out
	}
	b.used++
	return c.overContent()
}

// overContent refuses content that is written too fast, if the options say so.
func (c *call) overContent() *reply {
	if !c.opt.ContentLimits || c.route == nil || c.route.content == 0 {
		return nil
	}
	minute, hour := 0, 0
	for _, e := range c.log {
		if age := c.at.Sub(e.Time); e.Content > 0 && e.Actor == c.login() && age < time.Hour {
			hour++
			if age < time.Minute {
				minute++
			}
		}
	}
	if minute < 80 && hour < 500 {
		return nil
	}
	out := fail(http.StatusForbidden, "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. Please retry your request again later.")
	out = out.with("Retry-After", "60")
	return &out
}

// refund gives back the request of a 304.
func (c *call) refund() {
	if c.uncounted() {
		return
	}
	c.bucket(c.resource()).used--
	c.requests[len(c.requests)-1].Counted = false
	c.requests[len(c.requests)-1].Status = http.StatusNotModified
}

func (c *call) limitHeaders(out reply) reply {
	if c.opt.Enterprise {
		return out
	}
	resource := c.resource()
	b := c.bucket(resource)
	for name, value := range map[string]string{
		"Limit": strconv.Itoa(b.max), "Remaining": strconv.Itoa(b.max - b.used), "Used": strconv.Itoa(b.used),
		"Reset": strconv.FormatInt(b.reset.Unix(), 10), "Resource": resource,
	} {
		if out.header.Get("X-Ratelimit-"+name) == "" {
			out = out.with("X-Ratelimit-"+name, value)
		}
	}
	return out
}

func (l *limit) json() obj {
	return obj{"limit": l.max, "used": l.used, "remaining": l.max - l.used, "reset": l.reset.Unix()}
}

func getRateLimit(c *call) reply {
	if c.opt.Enterprise {
		return fail(http.StatusNotFound, "Rate limiting is not enabled.")
	}
	core := c.bucket("core").json()
	return ok(obj{"rate": core, "resources": obj{
		"core": core, "search": c.bucket("search").json(), "graphql": c.bucket("graphql").json(),
	}})
}

// SetRemaining sets what is left of an account's requests of the current hour;
// resource is core, search or graphql.
func (s *Server) SetRemaining(login, resource string, remaining int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &call{Server: s, actor: s.user(login), at: s.now()}
	b := c.bucket(resource)
	b.used = b.max - remaining
}
