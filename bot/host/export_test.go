package host

import (
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/orchestrator"
)

// Hooks for the tests of this package, which are outside of it.

// Classed is what the engine is told of an error by a host with these options.
func Classed(o Options, err error) error {
	r := &runner{Host: &Host{Options: o}}
	return r.classed(err, err)
}

// SettingsOf are the settings of a session of a host with these options.
func SettingsOf(o Options, c *config.Config) orchestrator.Settings {
	return o.settings(c, orchestrator.KindPipeline, true)
}
