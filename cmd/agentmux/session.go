package main

import (
	"errors"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/trial"
	"github.com/spf13/cobra"
)

// newSessionCmd returns the command of a detached host's process.
func newSessionCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "session", Short: "Host sessions (internal)", RunE: needsSubcommand, Args: unknownCommand}
	var resume, backup, attended, handed, take bool
	var changes, base string
	run := &cobra.Command{
		Use: "run DIR", Short: "Host the session in DIR", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec := host.RunSpec{Resume: resume, Attended: attended, Changes: changes, Backup: backup, Base: base}
			if !handed {
				return hosting.RunSession(cmd.Context(), a, args[0], spec, nil, take)
			}
			launcher, err := site.ReadHanded(a.In)
			if err = errors.Join(err, a.CloseIn()); err != nil {
				return err
			}
			return hosting.RunSession(cmd.Context(), a, args[0], spec, launcher, take)
		},
	}
	flags := run.Flags()
	flags.BoolVar(&resume, "resume", false, "continue an ended session")
	flags.BoolVar(&attended, "attended", false, "a person at a terminal resumes it")
	flags.BoolVar(&backup, "from-backup", false, "take the state before the last phase")
	flags.BoolVar(&handed, "handed", false, "read what the launcher hands over from standard input: configuration, account, clone")
	flags.BoolVar(&take, "take", false, "take the claim of a host that is gone")
	flags.StringVar(&changes, "changes", "", "what is wanted different")
	flags.StringVar(&base, "base", "", "where the pull request goes from now on")
	cmd.AddCommand(run, &cobra.Command{
		Use: "sweep DIR", Short: "Remove the test of a provider in DIR once its input ends", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return trial.Sweep(cmd.Context(), a, args[0], a.In) },
	})
	return hidden(cmd)
}
