package main

import (
	"github.com/agentmux/agentmux/bot/transcript"
	"github.com/spf13/cobra"
)

// newTranscriptCmd returns the command of the process behind a pane's pipe.
func newTranscriptCmd(a *app) *cobra.Command {
	return hidden(&cobra.Command{
		Use: "transcript DIR LAUNCH", Short: "Write down what an agent prints (internal)", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return transcript.Send(cmd.Context(), a.In, args[0], args[1])
		},
	})
}
