package config

import (
	"slices"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/workflows"
)

// Provider is what a file says about one CLI: a change to a built-in one, or a
// provider of its own. Empty fields leave the built-in value.
type Provider struct {
	Command         string              `doc:"command"`
	ModelFlag       *string             `doc:"model_flag"`
	DefaultModel    string              `doc:"default_model"`
	ModelArgs       map[string][]string `doc:"model_args"`
	InteractiveArgs []string            `doc:"interactive_args"`
	HeadlessArgs    []string            `doc:"headless_args"`
	RoleArgs        map[string][]string `doc:"role_args"`
	Effort          map[string][]string `doc:"effort"`      // arguments per level
	ToolName        string              `doc:"tool_name"`   // with {tool} in it
	Flags           []string            `doc:"flags"`       // that its help must name
	PromptMode      string              `doc:"prompt_mode"` // arg, stdin, flag
	PromptFlag      string              `doc:"prompt_flag"`
	Trust           []agent.Dialog      `doc:"trust"`
	Dialogs         []agent.Menu        `doc:"dialogs"`
	MCP             *string             `doc:"mcp"`
	Hooks           *string             `doc:"hooks"`
	Env             []string            `doc:"env"`
}

// Choice is how an agent of a role is started.
type Choice struct {
	Provider string
	Model    string   // empty = the provider's default
	Effort   string   // low, medium, high; empty = the program's own
	Args     []string // nil = the provider's
}

// Choose returns the provider and model of role: those of the role, else the defaults. The
// default model is only for the default provider.
func (c *Config) Choose(role string) Choice {
	r := c.Roles[role]
	choice := Choice{Provider: c.Defaults.Provider, Model: r.Model, Effort: r.Effort, Args: r.Args}
	if r.Provider != "" {
		choice.Provider = r.Provider
	}
	if choice.Model == "" && choice.Provider == c.Defaults.Provider {
		choice.Model = c.Defaults.Model
	}
	return choice
}

// Substitute returns how an agent of a role is started with a provider in place of the one of its role: the
// model and the arguments of the role are for that one.
func (c *Config) Substitute(role, provider string) Choice {
	choice := Choice{Provider: provider, Effort: c.Roles[role].Effort}
	if provider == c.Defaults.Provider {
		choice.Model = c.Defaults.Model
	}
	return choice
}

// Transport returns how an agent of a role runs: auto, tui or headless. Who needs it to end by itself asks for headless:
// that yields to what the configuration says of the role, and of a researcher to what it says of all agents.
func (c *Config) Transport(role string, headless bool) string {
	t := c.Roles[role].Transport
	if t == "" && (!headless || slices.Contains([]string{workflows.RoleCodeResearcher, workflows.RoleWebResearcher}, role)) {
		t = c.Agents.Transport
	}
	if headless && t != "tui" {
		return "headless"
	}
	return t
}

// RunsHeadless reports whether agents of a provider run without a terminal though a person is there.
func (c *Config) RunsHeadless(provider string) bool {
	for role, r := range c.Roles {
		if r.Transport == "headless" && (c.Choose(role).Provider == provider || slices.Contains(r.Fallback, provider)) {
			return true
		}
	}
	return c.Agents.Transport == "headless"
}

// Fallbacks lists the providers that may take over from those of roles that refuse more; none with a wait without end.
func (c *Config) Fallbacks(roles []string) (names []string) {
	if c.Limits.ProviderWait <= 0 {
		return nil
	}
	for _, role := range roles {
		names = append(names, c.Roles[role].Fallback...)
	}
	return names
}

// usedProviders maps each provider that a run may start to a key that names it.
func (c *Config) usedProviders() map[string]string {
	used := map[string]string{c.Defaults.Provider: "defaults.provider"}
	for role, r := range c.Roles {
		if r.Provider != "" {
			used[r.Provider] = document.Key(document.Key("roles", role), "provider")
		}
	}
	return used
}

// Overrides returns what the files say about providers, for agent.Load.
func (c *Config) Overrides() map[string]agent.Override {
	overrides := map[string]agent.Override{}
	for name, p := range c.Providers {
		overrides[name] = agent.Override{
			Command: p.Command, ModelFlag: p.ModelFlag, DefaultModel: p.DefaultModel, ModelArgs: p.ModelArgs,
			InteractiveArgs: p.InteractiveArgs, HeadlessArgs: p.HeadlessArgs, RoleArgs: p.RoleArgs,
			PromptMode: p.PromptMode, PromptFlag: p.PromptFlag, Trust: p.Trust, Dialogs: p.Dialogs, MCP: p.MCP, Hooks: p.Hooks, Env: p.Env,
			Effort: p.Effort, ToolName: p.ToolName, Flags: p.Flags,
		}
	}
	return overrides
}
