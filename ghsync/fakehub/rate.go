package fakehub

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// meter counts a call against the limits of its actor.
type meter struct{ *call }

// limit counts the requests of one actor to one resource in the current hour.
type limit struct {
	max, used int
	reset     time.Time
}

func (m meter) resource() string {
	switch {
	case m.route == nil:
		return "core"
	case m.route.pattern == "/graphql":
		return "graphql"
	case m.route.pattern == "/search/issues":
		return "search"
	}
	return "core"
}

// bucket is the actor's limit for a resource; tokens of one account share it.
func (m meter) bucket(resource string) *limit {
	who, most, window := "anonymous", 60, time.Hour
	if m.actor != nil {
		who, most = m.actor.login, 5000
	}
	if m.token != nil && m.token.hourly > 0 {
		who, most = "token "+m.token.value, m.token.hourly
	}
	if resource == "search" {
		most, window = 30, time.Minute
	}
	name := who + " " + resource
	b := m.server.limits[name]
	if b == nil {
		b = &limit{max: most}
		m.server.limits[name] = b
	}
	if !m.at.Before(b.reset) {
		b.used, b.reset = 0, m.at.Add(window)
	}
	return b
}

// uncounted are the routes that cost nothing.
func (m meter) uncounted() bool {
	free := m.route != nil && (m.route.pattern == "/rate_limit" || m.route.pattern == "/logs/{rid}/{id}" || m.route.perm == signed)
	return m.opt.Enterprise || free
}

// overLimit takes one request from the bucket or answers that it is empty.
func (m meter) overLimit() *reply {
	b := m.bucket(m.resource())
	if m.uncounted() {
		return nil
	}
	if b.used >= b.max {
		who := "127.0.0.1"
		if m.actor != nil {
			who = fmt.Sprintf("user ID %d", m.actor.id)
		}
		out := fail(http.StatusForbidden, "API rate limit exceeded for "+who+".")
		return &out
	}
	b.used++
	return m.overContent()
}

// overContent refuses content that is written too fast, if the options say so.
func (m meter) overContent() *reply {
	if !m.opt.ContentLimits || m.route == nil || m.route.content == 0 {
		return nil
	}
	minute, hour := 0, 0
	for _, e := range m.server.log {
		if age := m.at.Sub(e.Time); e.Content > 0 && e.Actor == m.login() && age < time.Hour {
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
func (m meter) refund() {
	if m.uncounted() {
		return
	}
	m.bucket(m.resource()).used--
	m.server.requests[len(m.server.requests)-1].Counted = false
	m.server.requests[len(m.server.requests)-1].Status = http.StatusNotModified
}

func (m meter) limitHeaders(out reply) reply {
	if m.opt.Enterprise {
		return out
	}
	resource := m.resource()
	b := m.bucket(resource)
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
	m := meter{c}
	core := m.bucket("core").json()
	return ok(obj{"rate": core, "resources": obj{
		"core": core, "search": m.bucket("search").json(), "graphql": m.bucket("graphql").json(),
	}})
}

// SetRemaining sets what is left of an account's requests of the current hour;
// resource is core, search or graphql.
func (s *Server) SetRemaining(login, resource string, remaining int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &call{viewer: viewer{hub: s.hub, actor: s.user(login)}, server: s, at: s.now()}
	b := meter{c}.bucket(resource)
	b.used = b.max - remaining
}
