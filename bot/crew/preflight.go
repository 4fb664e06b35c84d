package crew

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/redact"
)

// Preflight says what Lacks says, else which flags its installed program lacks.
func (r *sandbox) Preflight(ctx context.Context, p agent.Provider, interactive bool) []string {
	found := r.Lacks(p, interactive)
	if len(found) == 0 {
		effort := slices.ContainsFunc(slices.Collect(maps.Values(r.cfg.Roles)), func(role config.Role) bool { return role.Effort != "" })
		found = r.Helps.Outdated(ctx, p, r.access(interactive).Path, effort)
	}
	return found
}

// Lacks says what keeps the program of a provider from starting: it is not there, cannot log in, or may
// not act as the configuration says.
func (r *sandbox) Lacks(p agent.Provider, interactive bool) []string {
	env := r.access(interactive)
	if _, err := p.Program(r.Self, env.Path); err != nil {
		return []string{fmt.Sprintf("%s: its program %s is not in PATH; install it, or choose another provider (agentmux providers list)", p.Name, p.Command)}
	}
	var found []string
	login, _, err := p.Login(env)
	if err != nil {
		found = append(found, err.Error())
	}
	// A headless agent has no terminal at which it could ask, even in an interactive session.
	// An agent that uses the person's own login has a terminal.
	asks := interactive && (!r.cfg.RunsHeadless(p.Name) || login == agent.LoginShared)
	if !asks && p.SkipsPermissions && !r.MayActFreely() {
		found = append(found, fmt.Sprintf("%s would act without asking for permission: add \"sandbox: {unsafe_flags: true}\" "+
			"to your own configuration to allow that in unattended runs on this machine", p.Name))
	}
	return append(found, r.keyFaults(p)...)
}

// keyFaults says which variables must not reach the agents of a provider: what no text could be searched
// for, and a token with which the host acts.
func (r *sandbox) keyFaults(p agent.Provider) []string {
	env := agent.EnvSpec{Lookup: r.Environ, Extra: r.allowedEnvironment()}
	secrets := env.Secrets(p)
	var found []string
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if value := secrets[name]; value != "" && redact.Short(value) && !r.servedHere(p) {
			found = append(found, fmt.Sprintf("%s: the value of %s is shorter than 16 characters, so nothing could keep it out of commits and comments: "+
				"use a longer key; a placeholder is for a model at a loopback address", p.Name, name))
		}
	}
	for _, name := range slices.Sorted(slices.Values(slices.Concat(p.Env, slices.Collect(maps.Keys(env.Extra))))) {
		if value, ok := r.Environ(name); ok && r.Redactor.IsToken(value) {
			found = append(found, fmt.Sprintf("%s: %s is the token with which agentmux acts on GitHub, and its agents would get it: give them another one that can read no repository", p.Name, name))
		}
	}
	return found
}

// servedHere reports whether the provider is asked at an address of this machine. Such a service needs no
// key, and its program insists on one.
func (r *sandbox) servedHere(p agent.Provider) bool {
	return slices.ContainsFunc(p.Env, func(name string) bool {
		value, _ := r.Environ(name)
		at, err := url.Parse(value)
		if err != nil || !strings.HasSuffix(name, "_BASE_URL") {
			return false
		}
		ip := net.ParseIP(at.Hostname())
		return at.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	})
}
