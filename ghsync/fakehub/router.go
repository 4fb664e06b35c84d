package fakehub

import (
	"net/url"
	"strings"

	"github.com/agentmux/agentmux/ghsync/fakehub/pattern"
)

// route is one line of the table of resources.
type route struct {
	method, pattern string
	// need is the role a person must have; None for routes without a repository.
	need Role
	// perm is the permission of an app's token: read for GET, else write.
	perm    string
	handler func(*call) reply
	// content is what the request costs in content writes.
	content float64
}

func (r route) name() string { return r.method + " " + r.pattern }

// split cuts an escaped path into unescaped segments, without the prefix of GHES.
func split(escaped string) []string {
	path := strings.Trim(escaped, "/")
	if rest, cut := strings.CutPrefix(path, "api/v3/"); cut {
		path = rest
	}
	if path == "api/graphql" {
		path = "graphql"
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if text, err := url.PathUnescape(segment); err == nil {
			segments[i] = text
		}
	}
	return segments
}

// find returns the line of the table for a request.
func (s *Server) find(method string, segments []string) (*route, map[string]string) {
	for i := range s.table {
		if s.table[i].method != method {
			continue
		}
		if params, fits := pattern.Match(s.table[i].pattern, segments); fits {
			return &s.table[i], params
		}
	}
	return nil, nil
}
