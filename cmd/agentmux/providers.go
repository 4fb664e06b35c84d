package main

import (
	"github.com/agentmux/agentmux/cmd/internal/providers"
	"github.com/agentmux/agentmux/cmd/internal/trial"
	"github.com/spf13/cobra"
)

func newProvidersCmd(a *app) *cobra.Command {
	cmd := group(groupSetup, &cobra.Command{
		Use: "providers", Short: "List, show and test the agents' CLIs, and log one in", Args: unknownCommand, RunE: needsSubcommand,
		Example: "  agentmux providers list\n  agentmux providers login claude\n  agentmux providers test claude",
	})
	var asJSON bool
	list := &cobra.Command{
		Use: "list", Short: "List the providers", Args: cobra.NoArgs, Example: "  agentmux providers list\n  agentmux providers list --json",
		RunE: func(*cobra.Command, []string) error { return providers.List(a, asJSON) },
	}
	list.Flags().BoolVar(&asJSON, "json", false, "machine-readable output: a list of {name, state, command, path, install}")
	cmd.AddCommand(
		list,
		example("agentmux providers show claude", &cobra.Command{Use: "show NAME", Short: "Print what is known of a provider", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error { return providers.Show(a, args[0]) }}),
		example("agentmux providers login claude", &cobra.Command{
			Use: "login NAME", Short: "Log a CLI in for agentmux alone; your own login stays as it is", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return providers.Login(cmd.Context(), a, args[0]) },
		}),
		newProvidersTestCmd(a),
	)
	return cmd
}

func newProvidersTestCmd(a *app) *cobra.Command {
	var o trial.Options
	cmd := &cobra.Command{
		Use: "test NAME", Short: "Start a CLI once with a tiny task on its real model, and say what worked", Args: cobra.ExactArgs(1),
		Example: "  agentmux providers test claude\n  agentmux providers test codex --headless --yes",
		RunE:    func(cmd *cobra.Command, args []string) error { return trial.Run(cmd.Context(), a, args[0], o) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.Headless, "headless", false, "without a terminal and a person, as a bot may start it")
	flags.BoolVar(&o.TUI, "tui", false, "at a terminal")
	flags.BoolVarP(&o.Yes, "yes", "y", false, "ask nothing")
	flags.BoolVar(&o.AsJSON, "json", false, "machine-readable output: a list of {name, state, detail, hint}")
	flags.DurationVar(&o.Limit, "limit", trial.Limit, "how long it may take")
	return cmd
}
