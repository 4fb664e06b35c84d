package crew

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/crew/grant"
	"github.com/agentmux/agentmux/internal/agent"
)

// Preflight says what Lacks says, else which flags its installed program lacks, and which tokens of GitHub its agents
// must not get.
func (r *sandbox) Preflight(ctx context.Context, p agent.Provider, interactive bool) []string {
	found := r.Lacks(p, interactive)
	if len(found) == 0 {
		effort := slices.ContainsFunc(slices.Collect(maps.Values(r.cfg.Roles)), func(role config.Role) bool { return role.Effort != "" })
		found = append(r.Helps.Outdated(ctx, p, r.access(interactive).Path, effort), r.grants().Readers(ctx, p)...)
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
	return append(found, r.grants().Faults(p)...)
}

// grants are the variables that agents get.
func (r *sandbox) grants() grant.Grants {
	return grant.Grants{Environ: r.Environ, Extra: r.allowedEnvironment(), Redactor: r.Redactor, Reach: r.Reach}
}
