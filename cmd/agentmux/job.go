package main

import (
	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/spf13/cobra"
)

// newJobCmd is for the steps of the action that come after agentmux issue.
func newJobCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "job", Short: "Steps of the action", Args: unknownCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var output, summary string
	report := &cobra.Command{
		Use: "report", Short: "Write outputs and summary of a job", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return job.Report(output, summary) },
	}
	report.Flags().StringVar(&output, "output", "", "`file` of the outputs")
	report.Flags().StringVar(&summary, "summary", "", "`file` of the summary")
	cmd.AddCommand(report, &cobra.Command{
		Use: "left", Short: "Remove what a job left, and fail if a process or a socket was among it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return job.Left(cmd.Context(), a) },
	})
	return hidden(cmd)
}
