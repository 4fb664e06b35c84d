package main

import (
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/spf13/cobra"
)

// newSessionCmd is the process of a detached host.
func newSessionCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "session", Short: "Host sessions (internal)", RunE: needsSubcommand, Args: unknownCommand}
	var resume, backup, attended, tokenIn bool
	var changes, base string
	run := &cobra.Command{
		Use: "run DIR", Short: "Host the session in DIR", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if tokenIn {
				if err := a.Tokens.Read(a.In); err != nil {
					return err
				}
			}
			return hosting.RunSession(cmd.Context(), a, args[0], host.RunSpec{Resume: resume, Attended: attended, Changes: changes, Backup: backup, Base: base}, &hostlog.Log{Terminal: a.Err, Plain: true})
		},
	}
	flags := run.Flags()
	flags.BoolVar(&resume, "resume", false, "go on with an ended session")
	flags.BoolVar(&attended, "attended", false, "a person at a terminal resumes it")
	flags.BoolVar(&backup, "from-backup", false, "take the state before the last phase")
	flags.BoolVar(&tokenIn, "token-stdin", false, "read the GitHub token from standard input")
	flags.StringVar(&changes, "changes", "", "what is wanted different")
	flags.StringVar(&base, "base", "", "where the pull request goes from now on")
	cmd.AddCommand(run)
	return hidden(cmd)
}
