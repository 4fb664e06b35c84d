package main

import (
	"github.com/spf13/cobra"
)

// newMsgCmd is for agents whose CLI speaks no MCP: without it they could not say that they
// read a message, and would get each one again.
func newMsgCmd(a *app) *cobra.Command {
	cmd := group(groupAgent, &cobra.Command{
		Use: "msg", Short: "List and read the messages to an agent", RunE: needsSubcommand, Args: unknownCommand,
		Example: "  agentmux " + toolExamples["list"] + "\n  agentmux " + toolExamples["read FILE"],
	})
	cmd.AddCommand(
		newToolCmd(a, "list", "List the messages to an agent", cobra.NoArgs, func(cmd *cobra.Command) func([]string) (string, map[string]any, error) {
			unread := cmd.Flags().Bool("unread", false, "only those it has not read")
			limit := cmd.Flags().Int("limit", 0, "the newest so many (default 20)")
			return func([]string) (string, map[string]any, error) {
				params := map[string]any{"unread": *unread}
				if cmd.Flags().Changed("limit") {
					params["limit"] = *limit
				}
				return "msg_list", params, nil
			}
		}),
		newToolCmd(a, "read FILE", "Print a message and note that it was read", cobra.ExactArgs(1), func(*cobra.Command) func([]string) (string, map[string]any, error) {
			return func(args []string) (string, map[string]any, error) {
				return "msg_read", map[string]any{"file": args[0]}, nil
			}
		}),
	)
	return cmd
}
