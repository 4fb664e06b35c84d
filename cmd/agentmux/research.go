package main

import (
	"github.com/spf13/cobra"
)

func newResearchCmd(a *app) *cobra.Command {
	cmd := group(groupAgent, &cobra.Command{
		Use: "research", Short: "Dispatch research", RunE: needsSubcommand, Args: unknownCommand, Example: "  agentmux " + toolExamples["code"],
	})
	for _, kind := range []string{"code", "web"} {
		cmd.AddCommand(newToolCmd(a, kind, "Dispatch "+kind+" research", cobra.NoArgs, func(cmd *cobra.Command) func([]string) (string, map[string]any, error) {
			topic := cmd.Flags().String("topic", "", "short `name` of the topic")
			background := cmd.Flags().String("context", "", "what the researcher must know")
			questions := cmd.Flags().StringArray("question", nil, "`question` to answer (repeatable)")
			hints := cmd.Flags().StringArray("scope", nil, "where to look (repeatable)")
			return func([]string) (string, map[string]any, error) {
				params := map[string]any{"topic": *topic, "context": *background, "questions": anyList(*questions)}
				if len(*hints) > 0 {
					params["scope_hints"] = anyList(*hints)
				}
				return "research_dispatch_" + kind, params, nil
			}
		}))
	}
	return cmd
}
