package main

import (
	"errors"
	"os"
	"path/filepath"
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
