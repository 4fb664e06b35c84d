package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/tools"
	"github.com/spf13/cobra"
)

// callerFlags tell a tool who calls; the launch also comes from the environment.
type callerFlags struct {
	session, role, task, launch string
	json                        bool
}

func (f *callerFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.session, "session", "", "session `directory` or name")
	flags.StringVar(&f.role, "role", "", "`role` of the agent")
	flags.StringVar(&f.task, "task", "", "`task` of the agent")
	flags.StringVar(&f.launch, "launch", "", "`launch` of the agent (default: $AGENTMUX_LAUNCH)")
}

func (f *callerFlags) caller(a *app) (tools.Caller, error) {
	who := tools.Caller{Dir: f.session, Role: f.role, Task: f.task, Launch: f.launch}
	if who.Launch == "" {
		who.Launch = os.Getenv("AGENTMUX_LAUNCH")
	}
	if who.Launch != "" {
		who.Seal = agent.Seal()
	}
	if _, role, task, _, ok := orchestrator.LaunchParts(who.Launch); ok && who.Role == "" {
		who.Role, who.Task = role, task
	}
	if filepath.IsAbs(who.Dir) {
		return who, nil
	}
	var args []string
	if f.session != "" {
		args = []string{f.session}
	}
	entry, err := a.Find(args, site.Live)
	if err != nil {
		return who, err
	}
	who.Dir = entry.Dir
	return who, nil
}

// callTool prints the answer; a refusal is exit 1.
func callTool(a *app, cmd *cobra.Command, f *callerFlags, tool string, params map[string]any) error {
	who, err := f.caller(a)
	if err != nil {
		return err
	}
	answer := tools.Call(cmd.Context(), who, tool, params)
	if f.json {
		if err := a.PrintJSON(answer); err != nil {
			return err
		}
	} else {
		a.Print("%s", answer.Text)
	}
	switch {
	case answer.OK:
		return nil
	case answer.Usage:
		return exit.Quiet(exit.BadUsage)
	}
	return exit.Quiet(exit.Failed)
}

// newToolCmd makes the command-line twin of a tool.
func newToolCmd(a *app, use, short string, args cobra.PositionalArgs, make func(*cobra.Command) func([]string) (string, map[string]any, error)) *cobra.Command {
	f := &callerFlags{}
	cmd := &cobra.Command{Use: use, Short: short, Args: args, Example: "  agentmux " + toolExamples[use]}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "machine-readable output")
	call := make(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		tool, params, err := call(args)
		if err != nil {
			return exit.Usage(err)
		}
		return callTool(a, cmd, f, tool, params)
	}
	return cmd
}

// toolExamples are the lines of the help, as a prompt gives them to its agent.
var toolExamples = map[string]string{
	"pm":             "submit pm --session DIR --role product-manager",
	"architecture":   "submit architecture --reviewer reviewer_expert --session DIR --role architect",
	"plan":           "submit plan --session DIR --role planner",
	"design":         "submit design --session DIR --role designer",
	"done N":         "submit done 2 --session DIR --role coder",
	"review":         "submit review --session DIR --role reviewer_logic",
	"summary":        "submit summary --session DIR --role reviewer_logic",
	"research TOPIC": "submit research retries --type code --session DIR --role code-researcher",
	"code":           "research code --topic retries --question 'Who calls the retry helper?' --session DIR --role architect",
	"web":            "research web --topic retries --question 'How long do others wait?' --session DIR --role architect",
	"report":         "report --message 'The parser is done' --percent 60 --session DIR --role coder",
	"list":           "msg list --unread --session DIR --role coder",
	"read FILE":      "msg read msgs/1122090000-status-core-core--pipeline-coder-1-m12.md --session DIR --role coder --task 1",
	"ask":            "ask --question 'Which endpoint?' --option v1 --option v2 --session DIR --role coder",
}

// noParams is a tool without parameters.
func noParams(tool string) func(*cobra.Command) func([]string) (string, map[string]any, error) {
	return func(*cobra.Command) func([]string) (string, map[string]any, error) {
		return func([]string) (string, map[string]any, error) { return tool, map[string]any{}, nil }
	}
}

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

// anyList is a list as a decoded JSON document has it.
func anyList(items []string) []any {
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = item
	}
	return out
}

func needsSubcommand(cmd *cobra.Command, _ []string) error {
	var names []string
	for _, child := range cmd.Commands() {
		names = append(names, cmd.CommandPath()+" "+child.Name())
	}
	return exit.Usage(errors.New("type one of " + strings.Join(names, ", ") + "; see " + cmd.CommandPath() + " --help"))
}

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
