package main

import (
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/spf13/cobra"
)

type configShowOptions struct{ json bool }

type configCheckOptions struct{ json bool }

func newConfigCmd(a *app) *cobra.Command {
	cmd := group(groupSetup, &cobra.Command{
		Use: "config", Short: "Show and check the configuration", Args: unknownCommand, RunE: needsSubcommand,
		Example: "  agentmux config show\n  agentmux config check",
	})
	var shown configShowOptions
	values := &cobra.Command{
		Use: "show", Short: "Print every value and where it is from", Args: cobra.NoArgs, Example: "  agentmux config show\n  agentmux config show --json",
		RunE: func(*cobra.Command, []string) error { return runConfigShow(a, shown) },
	}
	values.Flags().BoolVar(&shown.json, "json", false, "machine-readable output: a list of {key, value, layer, file, line, adds_to, overruled}")
	var o configCheckOptions
	check := &cobra.Command{
		Use: "check", Short: "Report every problem; exit 2 if there is one", Args: cobra.NoArgs, Example: "  agentmux config check\n  agentmux config check --json",
		RunE: func(*cobra.Command, []string) error { return runConfigCheck(a, o) },
	}
	check.Flags().BoolVar(&o.json, "json", false, "machine-readable output: a list of {name, ok, problems}")
	cmd.AddCommand(values, check)
	return cmd
}

func runConfigShow(a *app, o configShowOptions) error {
	project, err := a.ProjectDir()
	if err != nil {
		return err
	}
	c, err := a.Config(project)
	if err != nil {
		return err
	}
	if o.json {
		return a.PrintJSON(show.Settings(c))
	}
	show.PrintSettings(a.Console, c)
	return nil
}

func runConfigCheck(a *app, o configCheckOptions) error {
	project, err := a.ProjectDir()
	if err != nil {
		return err
	}
	c, problems := config.Check(a.Sources(project))
	if o.json {
		return show.PrintChecks(a, []show.CheckJSON{show.Checked("config", problems)}, problems.Err() == nil)
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
