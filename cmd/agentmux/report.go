package main

import (
	"github.com/spf13/cobra"
)

func newReportCmd(a *app) *cobra.Command {
	return group(groupAgent, newToolCmd(a, "report", "Report an agent's progress", cobra.NoArgs, func(cmd *cobra.Command) func([]string) (string, map[string]any, error) {
		message := cmd.Flags().String("message", "", "what is going on")
		percent := cmd.Flags().Int("percent", 0, "how much is done, 0 to 100")
		current := cmd.Flags().String("current", "", "the task at hand")
		return func([]string) (string, map[string]any, error) {
			params := map[string]any{"message": *message}
			if cmd.Flags().Changed("percent") {
				params["percent"] = *percent
			}
			if *current != "" {
				params["current_task"] = *current
			}
			return "report_status", params, nil
		}
	}))
}
