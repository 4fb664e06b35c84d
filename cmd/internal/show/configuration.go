package show

import (
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
)

// Configuration prints every value of the configuration.
func Configuration(a *site.Finder, asJSON bool) error {
	project, err := a.ProjectDir()
	if err != nil {
		return err
	}
	c, err := a.Config(project)
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON(Settings(c))
	}
	PrintSettings(a.Console, c)
	return nil
}

// CheckConfiguration prints every problem of the configuration, and fails if there is an error.
func CheckConfiguration(a *site.Finder, asJSON bool) error {
	project, err := a.ProjectDir()
	if err != nil {
		return err
	}
	c, problems := config.Check(a.Sources(project))
	if asJSON {
		return PrintChecks(a, []CheckJSON{Checked("config", problems)}, problems.Err() == nil)
	}
	for _, line := range problems.Lines() {
		a.Say("%s", line)
	}
	if problems.Err() != nil {
		return exit.UsageText("the configuration has problems")
	}
	for _, file := range c.Source() {
		a.Print("%s: ok", file)
	}
	if len(c.Source()) == 0 {
		a.Print("no configuration files; the defaults hold")
	}
	return nil
}
