package host

import (
	"github.com/agentmux/agentmux/bot/config"
)

// Levels of isolation that exist.
const (
	levelNone   = "none"   // nothing but a built environment and a tokenless clone
	levelRunner = "runner" // the machine itself ends with the job
)

// sandboxLevel is the level in force: on a machine of one job the machine, else none.
func (h *Host) sandboxLevel(c *config.Config) string {
	if c.Sandbox.Level != "auto" {
		return c.Sandbox.Level
	}
	if kind, _ := h.Environ("RUNNER_ENVIRONMENT"); kind == "github-hosted" {
		return levelRunner
	}
	return levelNone
}

// mayActFreely reports whether programs may act without asking for permission.
func (h *Host) mayActFreely(c *config.Config) bool {
	if h.sandboxLevel(c) == levelRunner {
		return true
	}
	return c.Sandbox.UnsafeFlags != nil && *c.Sandbox.UnsafeFlags
}

// sandboxProblems names what the configuration asks for and nothing here would hold.
func (h *Host) sandboxProblems(c *config.Config) []string {
	var found []string
	level := h.sandboxLevel(c)
	if level != levelNone && level != levelRunner {
		found = append(found, "sandbox.level: "+level+" is not there yet; use none or runner")
	}
	if c.Sandbox.Net != "" && c.Sandbox.Net != "open" {
		found = append(found, "sandbox.net: "+c.Sandbox.Net+" needs a sandbox, and level "+level+" has no network of its own; use open")
	}
	return found
}
