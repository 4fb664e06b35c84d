package transport

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Addresses are the three places of one GitHub server. API ends with a slash.
type Addresses struct {
	API, GraphQL, Server string
}

// OtherServerError says that the environment names another server than the person did.
type OtherServerError struct {
	Host            string // as configured
	Variable, Value string
}

func (e *OtherServerError) Error() string {
	return fmt.Sprintf("github.host is %s, but %s is %s", e.Host, e.Variable, e.Value)
}

// addressVariables name the server in the environment, as a job of GitHub Actions has them.
var addressVariables = []string{"GITHUB_API_URL", "GITHUB_GRAPHQL_URL", "GITHUB_SERVER_URL"}

// Bases returns the addresses of the server. host is the name that a person configured, or
// empty. GITHUB_API_URL, GITHUB_GRAPHQL_URL and GITHUB_SERVER_URL, looked up by env, name the
// server if host is empty. If it is not, they have to name the same server; the error is an
// *OtherServerError.
func Bases(host string, env func(string) string) (Addresses, error) {
	host = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(host), "/"))
	bases := hostBases(host)
	for _, name := range addressVariables {
		if v := env(name); host != "" && v != "" && !bases.sameServer(v) {
			return bases, &OtherServerError{Host: host, Variable: name, Value: v}
		}
	}
	api, graphQL, server := env("GITHUB_API_URL"), env("GITHUB_GRAPHQL_URL"), strings.TrimSuffix(env("GITHUB_SERVER_URL"), "/")
	switch {
	case server != "":
		bases = serverBases(server, bases)
	case api != "":
		bases.Server = serverBeside(api)
	}
	if api != "" {
		bases.API = strings.TrimSuffix(api, "/") + "/"
		bases.GraphQL = graphQLBeside(bases.API)
	}
	if graphQL != "" {
		bases.GraphQL = strings.TrimSuffix(graphQL, "/")
	}
	return bases, nil
}

// serverBases are the addresses that follow from the one that people see.
func serverBases(server string, otherwise Addresses) Addresses {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		otherwise.Server = server // which New refuses
		return otherwise
	}
	bases := hostBases(strings.ToLower(u.Host))
	if u.Scheme == "http" {
		bases.API, bases.GraphQL = "http"+strings.TrimPrefix(bases.API, "https"), "http"+strings.TrimPrefix(bases.GraphQL, "https")
	}
	bases.Server = server
	return bases
}

// serverBeside is the address for people that belongs to an API base.
func serverBeside(api string) string {
	u, err := url.Parse(api)
	if err != nil {
		return api
	}
	host := strings.ToLower(u.Host)
	if host == "api.github.com" || strings.HasSuffix(host, ".ghe.com") {
		host = strings.TrimPrefix(host, "api.")
	}
	return u.Scheme + "://" + host
}

// hostBases are the addresses that follow from a server's name; empty means github.com.
func hostBases(host string) Addresses {
	switch {
	case host == "" || host == "github.com":
		return Addresses{API: "https://api.github.com/", GraphQL: "https://api.github.com/graphql", Server: "https://github.com"}
	case strings.HasSuffix(host, ".ghe.com"):
		return Addresses{API: "https://api." + host + "/", GraphQL: "https://api." + host + "/graphql", Server: "https://" + host}
	}
	return Addresses{API: "https://" + host + "/api/v3/", GraphQL: "https://" + host + "/api/graphql", Server: "https://" + host}
}

// sameServer reports whether an address is of a host, with its port, that a goes to.
func (a Addresses) sameServer(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	return slices.ContainsFunc([]string{a.API, a.Server}, func(own string) bool {
		o, err := url.Parse(own)
		return err == nil && strings.EqualFold(o.Hostname(), u.Hostname()) && (o.Port() == u.Port() || originPort(o) == originPort(u))
	})
}

// graphQLBeside is the GraphQL address that belongs to an API base.
func graphQLBeside(api string) string {
	if root, ok := strings.CutSuffix(api, "/api/v3/"); ok {
		return root + "/api/graphql"
	}
	return api + "graphql"
}

// Enterprise reports whether one of the addresses is of a server that is not run by GitHub.
func (a Addresses) Enterprise() bool {
	return slices.ContainsFunc([]string{a.API, a.GraphQL, a.Server}, func(address string) bool {
		u, err := url.Parse(address)
		if err != nil {
			return true
		}
		name := strings.ToLower(u.Hostname())
		return name != "github.com" && name != "api.github.com" && !strings.HasSuffix(name, ".ghe.com")
	})
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
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), originPort(u))
}

// originPort is the port of an address, also where it is left out.
func originPort(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)])
}
