package request

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
)

// Ref names an issue as a person typed it.
type Ref struct {
	Repo   *ghsync.Repo // nil: the project's
	Number int
}

// ParseRef parses N, #N, owner/repo#N or the URL of an issue on the server.
func ParseRef(arg, server string) (Ref, error) {
	if strings.Contains(arg, "://") {
		return parseURL(arg, server)
	}
	name, number, found := strings.Cut(arg, "#")
	if !found {
		name, number = "", arg
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return Ref{}, refuse(fmt.Errorf("%q is not an issue; give N, #N, owner/repo#N or the URL of one", arg))
	}
	ref := Ref{Number: n}
	if name != "" {
		owner, repo, ok := strings.Cut(name, "/")
		if !ok || owner == "" || repo == "" || strings.Contains(repo, "/") {
			return Ref{}, refuse(fmt.Errorf("%q is not a repository; give owner/repo#N", name))
		}
		ref.Repo = &ghsync.Repo{Owner: owner, Name: repo}
	}
	return ref, nil
}

func parseURL(arg, server string) (Ref, error) {
	u, err := url.Parse(arg)
	if err != nil {
		var bad *url.Error
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return Ref{}, refuse(fmt.Errorf("%q is not a URL: %w", arg, err))
	}
	want, err := url.Parse(server)
	if err != nil || !strings.EqualFold(u.Host, want.Host) {
		return Ref{}, refuse(fmt.Errorf("%s is not on %s; set github.host for another server", arg, server))
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) == 4 && parts[2] == "pull" {
		return Ref{}, refuse(fmt.Errorf("%s is a pull request; give an issue", arg))
	}
	if len(parts) != 4 || parts[2] != "issues" {
		return Ref{}, refuse(fmt.Errorf("%s is not an issue; expected %s/OWNER/REPO/issues/N", arg, server))
	}
	n, err := strconv.Atoi(parts[3])
	if err != nil || n < 1 {
		return Ref{}, refuse(fmt.Errorf("%s: %q is not an issue number", arg, parts[3]))
	}
	return Ref{Repo: &ghsync.Repo{Owner: parts[0], Name: parts[1]}, Number: n}, nil
}

// In returns the repository of the issue; own is the repository of origin.
func (r Ref) In(own ghsync.Repo) (ghsync.Repo, error) {
	if r.Repo != nil && !strings.EqualFold(r.Repo.String(), own.String()) {
		return ghsync.Repo{}, refuse(fmt.Errorf("the issue is of %s, but origin is %s; give --repo %s if origin is a fork of it", r.Repo, own, r.Repo))
	}
	return own, nil
}

// ParseRepo parses the flag --repo, owner/name with or without the server in front.
func ParseRepo(flag, server string) (ghsync.Repo, error) {
	parts := strings.Split(flag, "/")
	if len(parts) == 3 {
		if u, err := url.Parse(server); err != nil || !strings.EqualFold(parts[0], u.Host) {
			return ghsync.Repo{}, refuse(fmt.Errorf("--repo: %s is not on %s: set github.host in your own configuration if %s is your GitHub server", flag, server, parts[0]))
		}
		parts = parts[1:]
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return ghsync.Repo{}, refuse(fmt.Errorf("--repo: %q is not an owner/name", flag))
	}
	return ghsync.Repo{Owner: parts[0], Name: parts[1]}, nil
}
