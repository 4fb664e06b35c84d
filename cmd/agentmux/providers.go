package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/providers"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/spf13/cobra"
)

func newProvidersCmd(a *app) *cobra.Command {
	cmd := group(groupSetup, &cobra.Command{
		Use: "providers", Short: "List and show the agents' CLIs, and log one in", Args: unknownCommand, RunE: needsSubcommand,
		Example: "  agentmux providers list\n  agentmux providers login claude",
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
			RunE: func(cmd *cobra.Command, args []string) error { return runProvidersLogin(cmd.Context(), a, args[0]) },
		}),
	)
	return cmd
}

// runProvidersLogin runs a CLI's own login in a directory that only agentmux uses.
func runProvidersLogin(ctx context.Context, a *app, name string) (err error) {
	p, err := providers.Find(a, name)
	if err != nil {
		return err
	}
	if err := p.CheckLogin(); err != nil {
		return exit.Usage(err)
	}
	if !a.Terminal {
		return exit.UsageText("a login needs a terminal")
	}
	run, err := p.StartLogin(filepath.Join(site.StateHome(), "logins"), os.Getenv("PATH"), os.Getenv("TERM"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Abort()) }()
	cmd := exec.CommandContext(ctx, run.Argv[0], run.Argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = slices.Clone(run.Env), os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s was not logged in: %w", name, err)
	}
	if err := run.Finish(); err != nil {
		return err
	}
	a.Say("logged in; sessions use it from their next agent on")
	return nil
}
