package main

import (
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/spf13/cobra"
)

func newConfigCmd(a *app) *cobra.Command {
	cmd := group(groupSetup, &cobra.Command{
		Use: "config", Short: "Show and check the configuration", Args: unknownCommand, RunE: needsSubcommand,
		Example: "  agentmux config show\n  agentmux config check",
	})
	var shown, checked bool
	values := &cobra.Command{
		Use: "show", Short: "Print every value and where it is from", Args: cobra.NoArgs, Example: "  agentmux config show\n  agentmux config show --json",
		RunE: func(*cobra.Command, []string) error { return show.Configuration(a, shown) },
	}
	values.Flags().BoolVar(&shown, "json", false, "machine-readable output: a list of {key, value, layer, file, line, adds_to, overruled}")
	check := &cobra.Command{
		Use: "check", Short: "Report every problem; exit 2 if there is one", Args: cobra.NoArgs, Example: "  agentmux config check\n  agentmux config check --json",
		RunE: func(*cobra.Command, []string) error { return show.CheckConfiguration(a, checked) },
	}
	check.Flags().BoolVar(&checked, "json", false, "machine-readable output: a list of {name, ok, problems}")
	cmd.AddCommand(values, check)
	return cmd
}
