package main

import (
	"github.com/spf13/cobra"
)

func newAskCmd(a *app) *cobra.Command {
	return group(groupAgent, newToolCmd(a, "ask", "Ask a person", cobra.NoArgs, func(cmd *cobra.Command) func([]string) (string, map[string]any, error) {
		question := cmd.Flags().String("question", "", "the question")
		options := cmd.Flags().StringArray("option", nil, "an answer to choose (repeatable)")
		return func([]string) (string, map[string]any, error) {
			params := map[string]any{"question": *question}
			if len(*options) > 0 {
				params["options"] = anyList(*options)
			}
			return "ask_human", params, nil
		}
	}))
}
