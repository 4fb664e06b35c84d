// Package grant says which variables of the host must not reach the agents of a provider: a key that no
// text could be searched for, the token with which the host acts on GitHub, and a token that would let
// agents read a private repository. It changes nothing, and keeps no value.
package grant

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/redact"
)

// Grants are the variables that agents would get.
type Grants struct {
	Environ  func(name string) (string, bool)
	Extra    map[string]string // those that agents of every provider get
	Redactor *redact.Redactor
	// Reach names a private repository that a token of GitHub can read; empty if it can read none. Nil: GitHub
	// is not asked.
	Reach func(ctx context.Context, token string) (repository string, err error)
}

// Faults says what is wrong without asking anyone.
func (g Grants) Faults(p agent.Provider) []string {
	secrets := agent.EnvSpec{Lookup: g.Environ, Extra: g.Extra}.Secrets(p)
	var found []string
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if value := secrets[name]; value != "" && redact.Short(value) && !g.servedHere(p) {
			found = append(found, fmt.Sprintf("%s: the value of %s is shorter than 16 characters, so nothing could keep it out of commits and comments: "+
				"use a longer key; a placeholder is for a model at a loopback address", p.Name, name))
		}
	}
	for _, name := range slices.Sorted(slices.Values(slices.Concat(p.Env, slices.Collect(maps.Keys(g.Extra))))) {
		if value, ok := g.Environ(name); ok && g.Redactor.IsToken(value) {
			found = append(found, fmt.Sprintf("%s: %s is the token with which agentmux acts on GitHub, and its agents would get it: give them another one that can read no repository", p.Name, name))
		}
	}
	return found
}

// Readers says which tokens of GitHub that a provider logs in with could read a private repository in the hands of
// its agents. One about which GitHub could not be asked is held back, too. What a person passes on beside the logins,
// as for a registry of packages, is that person's choice.
func (g Grants) Readers(ctx context.Context, p agent.Provider) []string {
	if g.Reach == nil {
		return nil
	}
	var found []string
	for _, name := range p.Credentials {
		value, _ := g.Environ(name)
		token := strings.TrimSpace(value)
		if !tokenForm().MatchString(token) {
			continue
		}
		switch repo, err := g.Reach(ctx, token); {
		case err != nil:
			found = append(found, fmt.Sprintf("%s: its agents would get the token in %s, and GitHub could not be asked whether it reads a private repository: %v", p.Name, name, err))
		case repo != "":
			found = append(found, fmt.Sprintf("%s: the token in %s reads the private repository %s, and its agents would get it: "+
				"make a fine-grained token without a repository, with the permission that the program needs alone", p.Name, name, repo))
		}
	}
	return found
}

// tokenForm is what tokens of GitHub look like:
// https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats
func tokenForm() *regexp.Regexp {
	return regexp.MustCompile(`^(gh[opsur]_|github_pat_)[A-Za-z0-9_]{16,255}$`)
}

// servedHere reports whether the provider is asked at an address of this machine. Such a service needs no
// key, and its program insists on one.
func (g Grants) servedHere(p agent.Provider) bool {
	return slices.ContainsFunc(p.Env, func(name string) bool {
		value, _ := g.Environ(name)
		at, err := url.Parse(value)
		if err != nil || !strings.HasSuffix(name, "_BASE_URL") {
			return false
		}
		ip := net.ParseIP(at.Hostname())
		return at.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	})
}
