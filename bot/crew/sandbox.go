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
	LevelNone   = "none"   // only a built environment and a clone without a token
	levelRunner = "runner" // the machine itself ends with the job
)

// sandbox decides what agents get of the machine and what they may do there.
type sandbox struct {
	Options
	cfg *config.Config
}

// NewSandbox returns the sandbox of a configuration, for callers without a session.
func NewSandbox(o Options, c *config.Config) *sandbox { return &sandbox{Options: o, cfg: c} }

// Level returns the effective level: runner on a machine of one job, else none.
func (r *sandbox) Level() string {
	if r.cfg.Sandbox.Level != "auto" {
		return r.cfg.Sandbox.Level
	}
	if kind, _ := r.Environ("RUNNER_ENVIRONMENT"); kind == "github-hosted" {
		return levelRunner
	}
	return LevelNone
}

// Describe returns the level, and in a few words what it means.
func (r *sandbox) Describe() (level, words string) {
	switch level = r.Level(); level {
	case LevelNone:
		return level, "none (agents run as you)"
	case levelRunner:
		return level, "runner (agents run as you, on a machine that ends with the job)"
	}
	return level, level
}

// MayActFreely reports whether programs may act without asking for permission.
func (r *sandbox) MayActFreely() bool {
	if r.Level() == levelRunner {
		return true
	}
	return r.cfg.Sandbox.UnsafeFlags != nil && *r.cfg.Sandbox.UnsafeFlags
}

// Problems lists the settings that this version cannot enforce.
func (r *sandbox) Problems() []string {
	var found []string
	level := r.Level()
	if level != LevelNone && level != levelRunner {
		found = append(found, "sandbox.level: "+level+" is not there yet; use none or runner")
	}
	if net := r.cfg.Sandbox.Net; net != "" && net != "open" {
		found = append(found, "sandbox.net: "+net+" needs a sandbox, and level "+level+" has no network of its own; use open")
	}
	return found
}

// Logins returns the directory of the logins made for agentmux, one directory per provider.
func (r *sandbox) Logins() string { return filepath.Join(r.StateHome, "logins") }

// allowedEnvironment returns the variables of this process that every agent gets.
func (r *sandbox) allowedEnvironment() map[string]string {
	allowed := map[string]string{}
	for _, name := range r.cfg.Sandbox.EnvAllow {
		if value, ok := r.Environ(name); ok {
			allowed[name] = value
		}
	}
	return allowed
}

// AgentPath returns the PATH of agents.
func (r *sandbox) AgentPath() string {
	if r.cfg.Sandbox.Path != "" {
		return r.cfg.Sandbox.Path
	}
	path, _ := r.Environ("PATH")
	return path
}

// HideCredentials adds the keys that agents get to the redactor. One that is too short for it is a
// placeholder for a service that needs none, or no agent gets it: see Lacks.
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
