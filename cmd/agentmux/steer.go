package main

import (
	"fmt"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

func newSteerCmds(a *app) []*cobra.Command {
	return []*cobra.Command{
		newPlainCmd(a, "stop", "Stop a session; its work is kept", site.Stoppable),
		newPlainCmd(a, "pause", "Start no new turns until resume", site.Live),
		newPlainCmd(a, "retry", "Start a failed or stalled agent again", site.Unended),
		newApproveCmd(a), newChangesCmd(a), newSayCmd(a), newAnswerCmd(a),
	}
}

// newPlainCmd is a command without arguments of its own.
func newPlainCmd(a *app, name, short string, can func(session.Entry) bool) *cobra.Command {
	named, role := "", ""
	cmd := &cobra.Command{
		Use:     name + " [S]",
		Short:   short,
		Example: "  agentmux " + name + " '#42'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := chosen(args, named)
			if err != nil {
				return err
			}
			return steer.Give(cmd.Context(), a, s, can, orchestrator.Payload{Name: name, Args: orchestrator.CommandArgs{Role: role}})
		},
	}
	sessionFlag(cmd, &named)
	if name != "pause" {
		cmd.Flags().StringVar(&role, "role", "", "only this `agent` of an agents file")
	}
	return group(groupSteer, cmd)
}

func sessionFlag(cmd *cobra.Command, named *string) {
	cmd.Flags().StringVar(named, "session", "", "the `session`, as a name, its beginning, a directory, N, #N or owner/repo#N")
}

// chosen is the session a person named by the last word or by --session.
func chosen(args []string, named string) (string, error) {
	switch {
	case len(args) == 0:
		return named, nil
	case named != "" && named != args[0]:
		return "", exit.Usage(fmt.Errorf("two sessions are named: %s and --session %s", args[0], named))
	}
	return args[0], nil
}
