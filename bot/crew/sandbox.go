package crew

import (
	"errors"
	"path/filepath"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/redact"
)

// Levels of isolation that exist.
const (
	levelNone   = "none"   // nothing but a built environment and a tokenless clone
	levelRunner = "runner" // the machine itself ends with the job
)

// sandbox is what agents get of the machine, and what they may do there.
type sandbox struct {
	Options
	cfg *config.Config
}

// NewSandbox is the sandbox of a configuration, for who has no session yet.
func NewSandbox(o Options, c *config.Config) *sandbox { return &sandbox{Options: o, cfg: c} }

// Level is the one in force: on a machine of one job the machine, else none.
func (r *sandbox) Level() string {
	if r.cfg.Sandbox.Level != "auto" {
		return r.cfg.Sandbox.Level
	}
	if kind, _ := r.Environ("RUNNER_ENVIRONMENT"); kind == "github-hosted" {
		return levelRunner
	}
	return levelNone
}

// MayActFreely reports whether programs may act without asking for permission.
func (r *sandbox) MayActFreely() bool {
	if r.Level() == levelRunner {
		return true
	}
	return r.cfg.Sandbox.UnsafeFlags != nil && *r.cfg.Sandbox.UnsafeFlags
}

// Problems names what the configuration asks for and nothing here would hold.
func (r *sandbox) Problems() []string {
	var found []string
	level := r.Level()
	if level != levelNone && level != levelRunner {
		found = append(found, "sandbox.level: "+level+" is not there yet; use none or runner")
	}
	if net := r.cfg.Sandbox.Net; net != "" && net != "open" {
		found = append(found, "sandbox.net: "+net+" needs a sandbox, and level "+level+" has no network of its own; use open")
	}
	return found
}

// Logins is where logins made for this program are kept, one directory per provider.
func (r *sandbox) Logins() string { return filepath.Join(r.StateHome, "logins") }

// allowedEnvironment are the variables of this process that every agent gets.
func (r *sandbox) allowedEnvironment() map[string]string {
	allowed := map[string]string{}
	for _, name := range r.cfg.Sandbox.EnvAllow {
		if value, ok := r.Environ(name); ok {
			allowed[name] = value
		}
	}
	return allowed
}

// AgentPath is the PATH of agents.
func (r *sandbox) AgentPath() string {
	if r.cfg.Sandbox.Path != "" {
		return r.cfg.Sandbox.Path
	}
	path, _ := r.Environ("PATH")
	return path
}

// HideCredentials has the redactor know the keys that agents get. What is shorter than it
// can look for is a stand-in for a service that wants none.
func (r *sandbox) HideCredentials(providers agent.Providers) error {
	env := agent.EnvSpec{Lookup: r.Environ, Extra: r.allowedEnvironment()}
	for _, p := range providers {
		for _, value := range env.Secrets(p) {
			if err := r.Redactor.Add("provider-key", value); err != nil && !errors.Is(err, redact.ErrShort) {
				return err
			}
		}
	}
	return nil
}
