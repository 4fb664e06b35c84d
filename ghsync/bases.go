package ghsync

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Addresses are the three places of one GitHub server. API ends with a slash.
type Addresses struct {
	API, GraphQL, Server string
}

// Bases returns the addresses of host. GITHUB_API_URL, GITHUB_GRAPHQL_URL and
// GITHUB_SERVER_URL, looked up by env, stand above what follows from the host's name.
func Bases(host string, env func(string) string) Addresses {
	host = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(host), "/"))
	var bases Addresses
	switch {
	case host == "" || host == "github.com":
		bases = Addresses{API: "https://api.github.com/", GraphQL: "https://api.github.com/graphql", Server: "https://github.com"}
	case strings.HasSuffix(host, ".ghe.com"):
		bases = Addresses{API: "https://api." + host + "/", GraphQL: "https://api." + host + "/graphql", Server: "https://" + host}
	default:
		bases = Addresses{API: "https://" + host + "/api/v3/", GraphQL: "https://" + host + "/api/graphql", Server: "https://" + host}
	}
	if v := env("GITHUB_API_URL"); v != "" {
		bases.API = strings.TrimSuffix(v, "/") + "/"
		bases.GraphQL = graphQLBeside(bases.API)
	}
	if v := env("GITHUB_GRAPHQL_URL"); v != "" {
		bases.GraphQL = strings.TrimSuffix(v, "/")
	}
	if v := env("GITHUB_SERVER_URL"); v != "" {
		bases.Server = strings.TrimSuffix(v, "/")
	}
	return bases
}

// graphQLBeside is the GraphQL address that belongs to an API base.
func graphQLBeside(api string) string {
	if root, ok := strings.CutSuffix(api, "/api/v3/"); ok {
		return root + "/api/graphql"
	}
	return api + "graphql"
}

// Enterprise reports whether the addresses are of a server that is not run by GitHub.
func (a Addresses) Enterprise() bool {
	u, err := url.Parse(a.Server)
	if err != nil {
		return false
	}
	return u.Hostname() != "github.com" && !strings.HasSuffix(u.Hostname(), ".ghe.com")
}

// parseBase checks an address that a token will be sent to: https, or http to loopback.
func parseBase(name, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	if u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("%s %q: want https://host/path", name, text)
	}
	if u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()) {
		return u, nil
	}
	return nil, fmt.Errorf("%s %q: want https (plain http only to this machine)", name, text)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// origin is scheme, host and port, with the port written out.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
