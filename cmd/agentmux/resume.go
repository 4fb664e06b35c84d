package main

import (
	"github.com/agentmux/agentmux/cmd/internal/start"
	"github.com/spf13/cobra"
)

func newResumeCmd(a *app) *cobra.Command {
	var o start.ResumeOptions
	cmd := &cobra.Command{
		Use:     "resume [S]",
		Short:   "Continue a session that was interrupted, parked, paused or has an open pull request",
		Example: "  agentmux resume\n  agentmux resume '#42' --changes 'also cover the empty list'",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return start.Resume(cmd.Context(), a, args, o) },
	}
	cmd.Flags().BoolVar(&o.Backup, "from-backup", false, "take the state before the last phase, when state.json is corrupt")
	cmd.Flags().BoolVar(&o.Checkpoint, "from-checkpoint", false, "continue from the checkpoint on the server; S may be an issue whose session is of another machine")
	cmd.Flags().BoolVar(&o.Headless, "headless", false, "stay in the foreground; a session that asks the person at its terminal still asks")
	cmd.Flags().StringVar(&o.Changes, "changes", "", "what is wanted different, as `text`")
	cmd.Flags().StringVar(&o.Base, "base", "", "`branch` of the server that the pull request goes to from now on")
	cmd.Flags().BoolVar(&o.Take, "take", false, "continue although another host has claimed the issue, if nothing was heard of that host for 10 minutes")
	cmd.Flags().StringVar(&o.Adopted, "adopt", "", "show the session in `dir`, which was not made on this machine, ask, and continue it")
	return group(groupStart, cmd)
}
