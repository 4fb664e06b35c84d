package main

import (
	"context"
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
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// callerFlags identify the caller of a tool; the launch may also come from the environment.
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

func (f *callerFlags) caller(ctx context.Context, a *app) (tools.Caller, error) {
	who := tools.Caller{Dir: f.session, Role: f.role, Task: f.task, Launch: orchestrator.Launch(f.launch)}
	if who.Launch == "" {
		who.Launch = orchestrator.Launch(os.Getenv("AGENTMUX_LAUNCH"))
	}
	if who.Launch != "" {
		who.Seal = agent.Seal()
	}
	if launch, ok := who.Launch.Parts(); ok && who.Role == "" {
		who.Role, who.Task = launch.Role, launch.Task
	}
	if filepath.IsAbs(who.Dir) {
		return who, nil
	}
	var args []string
	if f.session != "" {
		args = []string{f.session}
	}
	entry, err := a.Find(ctx, args, site.Live)
	if err != nil {
		return who, err
	}
	who.Dir = entry.Dir
	return who, nil
}

// toolGroups are the commands that only hold twins of tools: what the help says about each,
// and the tools whose examples it shows.
var toolGroups = map[string]struct {
	short string
	tools []string
}{
	"submit":   {"Submit an agent's finished task", []string{toolset.SubmitPlan, toolset.SubmitDone}},
	"research": {"Dispatch research", []string{toolset.DispatchCode}},
	"msg":      {"List and read the messages to an agent", []string{toolset.MsgList, toolset.MsgRead}},
}

// newToolCmds makes a command for every tool, for agents whose CLI does not speak MCP.
// Without msg they could not acknowledge a message, and would get each one again.
func newToolCmds(a *app) []*cobra.Command {
	var commands []*cobra.Command
	groups := map[string]*cobra.Command{}
	for _, tool := range toolset.All() {
		name, _, nested := strings.Cut(tool.Command.Words, " ")
		if !nested {
			commands = append(commands, group(groupAgent, newToolCmd(a, tool)))
			continue
		}
		if groups[name] == nil {
			groups[name] = newToolGroup(name)
			commands = append(commands, groups[name])
		}
		groups[name].AddCommand(newToolCmd(a, tool))
	}
	addMail(a, groups["msg"])
	return commands
}

func newToolGroup(name string) *cobra.Command {
	var examples []string
	for _, member := range toolGroups[name].tools {
		tool, _ := toolset.Find(member)
		examples = append(examples, "  agentmux "+tool.Command.Example)
	}
	return group(groupAgent, &cobra.Command{
		Use: name, Short: toolGroups[name].short, RunE: needsSubcommand, Args: unknownCommand, Example: strings.Join(examples, "\n"),
	})
}

// newToolCmd makes the command-line twin of a tool.
func newToolCmd(a *app, tool toolset.Tool) *cobra.Command {
	f := &callerFlags{}
	words := strings.Fields(tool.Command.Words)
	cmd := &cobra.Command{Use: words[len(words)-1], Short: tool.Command.Short, Args: cobra.NoArgs, Example: "  agentmux " + tool.Command.Example}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "machine-readable output")
	for _, p := range tool.Params {
		switch {
		case p.Arg != "" && p.Required:
			cmd.Use += " " + p.Arg
			cmd.Args = cobra.ExactArgs(1)
		case p.Arg != "":
			cmd.Use += " [" + p.Arg + "]"
			cmd.Args = cobra.MaximumNArgs(1)
		case p.Flag != "":
			addParam(cmd.Flags(), p)
		}
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		params, err := toolParams(cmd.Flags(), tool, args)
		if err != nil {
			return exit.Usage(err)
		}
		return callTool(a, cmd, f, tool.Name, params)
	}
	return cmd
}

func addParam(flags *pflag.FlagSet, p toolset.Param) {
	switch p.Type {
	case toolset.TypeNumber:
		flags.Int(p.Flag, 0, p.Usage)
	case toolset.TypeFlag:
		flags.Bool(p.Flag, false, p.Usage)
	case toolset.TypeList:
		flags.StringArray(p.Flag, nil, p.Usage)
	default:
		flags.String(p.Flag, "", p.Usage)
	}
}

// toolParams collects what the command line gives. The tool says what a required parameter
// lacks, and has its own default for a flag that is not given.
func toolParams(flags *pflag.FlagSet, tool toolset.Tool, args []string) (tools.Params, error) {
	params := tools.Params{}
	for _, p := range tool.Params {
		var err error
		switch {
		case p.Arg != "" && len(args) == 0: // the tool takes the caller's own
		case p.Arg != "" && p.Type == toolset.TypeNumber:
			if params[p.Name], err = strconv.Atoi(args[0]); err != nil {
				return nil, fmt.Errorf("%s: %q is not a number", tool.Command.Words, args[0])
			}
		case p.Arg != "":
			params[p.Name] = args[0]
		case p.Flag != "" && (p.Required || flags.Changed(p.Flag)):
			if params[p.Name], err = paramValue(flags, p); err != nil {
				return nil, err
			}
		}
	}
	return params, nil
}

func paramValue(flags *pflag.FlagSet, p toolset.Param) (any, error) {
	switch p.Type {
	case toolset.TypeNumber:
		return flags.GetInt(p.Flag)
	case toolset.TypeFlag:
		return flags.GetBool(p.Flag)
	case toolset.TypeList:
		return flags.GetStringArray(p.Flag)
	}
	return flags.GetString(p.Flag)
}

// callTool prints the answer; a refusal is exit 1.
func callTool(a *app, cmd *cobra.Command, f *callerFlags, tool string, params tools.Params) error {
	who, err := f.caller(cmd.Context(), a)
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

func needsSubcommand(cmd *cobra.Command, _ []string) error {
	var names []string
	for _, child := range cmd.Commands() {
		names = append(names, cmd.CommandPath()+" "+child.Name())
	}
	return exit.Usage(errors.New("type one of " + strings.Join(names, ", ") + "; see " + cmd.CommandPath() + " --help"))
}
