package project

import (
	"net"
	"net/url"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
)

// OriginHost names the server of a clone's origin, without port; "" if it is on none.
func OriginHost(origin string) string {
	host, _ := splitOrigin(origin)
	return hostName(host)
}

// splitOrigin takes apart https://host/owner/name.git, ssh://git@host/owner/name and
// git@host:owner/name. Anything else is not a repository of a server.
func splitOrigin(origin string) (host string, repo ghsync.Repo) {
	var path string
	u, err := url.Parse(origin)
	switch {
	case err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http"):
		host, path = u.Host, u.Path
	case err == nil && u.Host != "" && u.Scheme == "ssh":
		host, path = u.Hostname(), u.Path
	default:
		user, rest, ok := strings.Cut(origin, "@")
		if !ok || strings.ContainsAny(user, "/:") {
			return "", repo
		}
		host, path, _ = strings.Cut(rest, ":")
	}
	owner, name, ok := strings.Cut(strings.Trim(path, "/"), "/")
	name = strings.TrimSuffix(name, ".git")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return "", repo
	}
	return host, ghsync.Repo{Owner: owner, Name: name}
}

// overSSH reports whether an address that splitOrigin has parsed is for ssh, not https.
func overSSH(origin string) bool { return !strings.HasPrefix(origin, "http") }

// hostName returns a host without its port.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}
