package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
)

func newSubmitCmd(a *app) *cobra.Command {
	cmd := group(groupAgent, &cobra.Command{
		Use: "submit", Short: "Submit an agent's finished task", RunE: needsSubcommand, Args: unknownCommand,
		Example: "  agentmux " + toolExamples["plan"] + "\n  agentmux " + toolExamples["done N"],
	})
	cmd.AddCommand(
		newToolCmd(a, "pm", "Submit requirements.md", cobra.NoArgs, noParams("submit_pm_done")),
		newToolCmd(a, "plan", "Submit plan.yaml", cobra.NoArgs, noParams("submit_plan")),
		newToolCmd(a, "design", "Submit design.md", cobra.NoArgs, noParams("submit_design")),
		newToolCmd(a, "review", "Submit a review", cobra.NoArgs, noParams("submit_review")),
		newToolCmd(a, "summary", "Submit summary.md", cobra.NoArgs, noParams("submit_summary")),
		newToolCmd(a, "architecture", "Submit architecture.md", cobra.NoArgs, func(cmd *cobra.Command) func([]string) (string, map[string]any, error) {
			reviewers := cmd.Flags().StringArray("reviewer", nil, "nominate this reviewer `role` (repeatable)")
			return func([]string) (string, map[string]any, error) {
				params := map[string]any{}
				if len(*reviewers) > 0 {
					params["reviewers"] = anyList(*reviewers)
				}
				return "submit_architecture", params, nil
			}
		}),
		newToolCmd(a, "done N", "Submit subplan N", cobra.ExactArgs(1), func(*cobra.Command) func([]string) (string, map[string]any, error) {
			return func(args []string) (string, map[string]any, error) {
				n, err := strconv.Atoi(args[0])
				if err != nil {
					return "", nil, fmt.Errorf("submit done: %q is no number", args[0])
				}
				return "submit_done", map[string]any{"subplan_index": n}, nil
			}
		}),
		newToolCmd(a, "research TOPIC", "Submit a research result", cobra.ExactArgs(1), func(cmd *cobra.Command) func([]string) (string, map[string]any, error) {
			kind := cmd.Flags().String("type", "", "code or web (default: the role's)")
			return func(args []string) (string, map[string]any, error) {
				params := map[string]any{"topic": args[0]}
				if cmd.Flags().Changed("type") {
					params["type"] = *kind
				}
				return "submit_research_done", params, nil
			}
		}),
	)
	return cmd
}
