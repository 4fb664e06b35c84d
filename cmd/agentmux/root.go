package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Groups of commands in the help.
const (
	groupStart = "start"
	groupSteer = "steer"
	groupAgent = "agent"
	groupSetup = "setup"
)

// logLevels are what --log-level takes.
var logLevels = []string{"debug", "info", "warn", "error"}

func newRootCmd(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "agentmux",
		Short: "Turn an issue into a reviewed pull request",
		Long: `agentmux turns an issue into a reviewed pull request, with the coding-agent
CLIs you already have, in tmux, on your own machine.`,
		Example: `  agentmux init
  agentmux issue 42
  agentmux status
  agentmux attach`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("version") {
				return cmd.Help()
			}
			a.Print("agentmux %s", fullVersion()) // not by a template of cobra: with one, the linker keeps every exported method
			return nil
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if a.ConfigFile != "" {
				if info, err := os.Stat(a.ConfigFile); err != nil {
					return exit.Usage(fmt.Errorf("--config: %s cannot be read: %w", a.ConfigFile, exit.Bare(err)))
				} else if info.IsDir() {
					return exit.Usage(fmt.Errorf("--config: %s is a directory, not a file", a.ConfigFile))
				}
			}
			if a.LogLevel != "" && !slices.Contains(logLevels, a.LogLevel) {
				return exit.Usage(fmt.Errorf("--log-level: expected debug, info, warn or error, found %q", a.LogLevel))
			}
			return refuseAgents(cmd)
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.ConfigFile, "config", "", "configuration `file` above the project's and your own")
	flags.StringVar(&a.Project, "project", "", "project `directory` (default: the one you are in)")
	flags.StringVar(&a.LogLevel, "log-level", "", "debug, info, warn or error")
	flags.Var(&a.Format, "log-format", "what a run in the foreground prints: `lines` for a person, or its log as text or json")
	root.Flags().BoolP("version", "v", false, "print the version")
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(&cobra.Group{ID: groupStart, Title: "Start and watch:"}, &cobra.Group{ID: groupSteer, Title: "Steer:"},
		&cobra.Group{ID: groupAgent, Title: "For agents:"}, &cobra.Group{ID: groupSetup, Title: "Set up:"})
	root.SetHelpCommandGroupID(groupSetup)
	root.SetCompletionCommandGroupID(groupSetup)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.AddCommand(commands(a)...)
	standardCommands(root)
	usageArgs(root)
	return root
}

// valueWords say which values a flag of a type takes.
var valueWords = map[string]string{"duration": "a duration such as 36h", "bool": "true or false", "int": "a whole number", "format": "lines, text or json", "age": "an age such as 3d or 36h"}

// flagError says what is wrong with a flag. For a text that looks like a flag it says how to type
// it.
func flagError(cmd *cobra.Command, err error) error {
	text, hint := err.Error(), ""
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	var syntax *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &value):
		if words := valueWords[value.GetFlag().Value.Type()]; words != "" {
			text = fmt.Sprintf("--%s: expected %s, found %q", value.GetFlag().Name, words, value.GetValue())
		}
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		if near := nearestFlag(cmd, unknown.GetSpecifiedName()); near != "" {
			text += ": did you mean --" + near + "?"
		}
	case unknown != nil && cmd.Name() == "issue" && strings.Trim(unknown.GetSpecifiedShortnames(), "0123456789") == "":
		text = fmt.Sprintf("%q is not the number of an issue", "-"+unknown.GetSpecifiedShortnames())
	case takesText(cmd) && (unknown != nil || errors.As(err, &syntax)):
		hint = fmt.Sprintf("a text that begins with - goes last, behind --: %s -- '- like this'; ", cmd.CommandPath())
	}
	return exit.Usage(fmt.Errorf("%s; %ssee %s --help", text, hint, cmd.CommandPath()))
}

// takesText reports whether a command takes a text of the person.
func takesText(cmd *cobra.Command) bool {
	return strings.Contains(cmd.Use, "TEXT") || strings.Contains(cmd.Use, "PROMPT")
}

// flagLine is the beginning of a line of the help about a flag.
var flagLine = regexp.MustCompile(`(?m)^ +(?:-., )?--([a-z-]+)`)

// nearestFlag is the flag that a mistyped one most likely meant.
func nearestFlag(cmd *cobra.Command, name string) string {
	var names []string
	for _, m := range flagLine.FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
		names = append(names, m[1])
	}
	return document.Nearest(name, names)
}

// standardCommands adds the commands that cobra makes, and lets them refuse unknown words: by
// themselves they print a help text and succeed. Completion keeps the current output of root.
func standardCommands(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Short, cmd.Example = "Print the help of a command", "  agentmux help issue\n  agentmux help config show"
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				named, rest, err := cmd.Root().Find(args)
				if err == nil {
					err = unknownCommand(named, rest)
				}
				if err != nil {
					return fmt.Errorf("no help: %w", err)
				}
				return nil
			}
		case "completion":
			cmd.Short, cmd.Example = "Print a script that completes commands in a shell", "  source <(agentmux completion bash)"
			cmd.Args, cmd.RunE = unknownCommand, needsSubcommand
			for _, shell := range cmd.Commands() {
				shell.Short, shell.Example = "Print the script for "+shell.Name(), completionExamples[shell.Name()]
			}
		}
	}
}

// completionExamples load the script into the shell one types in.
var completionExamples = map[string]string{
	"bash": "  source <(agentmux completion bash)", "zsh": "  source <(agentmux completion zsh)",
	"fish": "  agentmux completion fish | source", "powershell": "  agentmux completion powershell | Out-String | Invoke-Expression",
}

func commands(a *app) []*cobra.Command {
	all := []*cobra.Command{
		newIssueCmd(a), newRunCmd(a), newBotCmd(a), newResumeCmd(a), newSessionsCmd(a), newStatusCmd(a), newDiffCmd(a), newAttachCmd(a),
		newLogsCmd(a), newMonitorCmd(a), newInitCmd(a), newAgentsCmd(a), newDoctorCmd(a), newConfigCmd(a), newWorkflowsCmd(a), newProvidersCmd(a),
		newDemoCmd(a), newVersionCmd(a), newCleanCmd(a), newPlayCmd(a), newSessionCmd(a), newMCPCmd(a),
		newHookCmd(a), newJobCmd(a), newPagesCmd(a), newTranscriptCmd(a),
	}
	return append(append(all, newToolCmds(a)...), newSteerCmds(a)...)
}

// usageArgs makes every complaint about arguments a usage error.
func usageArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			switch {
			case err == nil:
			case !errors.As(err, new(*wordError)): // cobra's own checks only count
				hint := ""
				if len(args) > 1 && strings.Contains(cmd.Use, "TEXT") {
					hint = steer.TextHint + "; "
				}
				return exit.Usage(fmt.Errorf("%s takes %s, not %s; %ssee %s --help", cmd.CommandPath(), takes(cmd), given(args), hint, cmd.CommandPath()))
			default:
				return exit.Usage(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
			}
			return nil
		}
	}
	for _, child := range cmd.Commands() {
		usageArgs(child)
	}
}

// takes returns the arguments that the help of a command shows behind its name.
func takes(cmd *cobra.Command) string {
	if _, rest, more := strings.Cut(cmd.Use, " "); more {
		return rest
	}
	return "no argument"
}

func given(args []string) string {
	if len(args) == 0 {
		return "nothing"
	}
	return strings.Join(args, " ")
}

// wordError says that the first word behind a command is not one of its commands.
type wordError struct{ text string }

func (e *wordError) Error() string { return e.text }

func wrongWord(format string, args ...any) error { return &wordError{fmt.Sprintf(format, args...)} }

// unknownCommand refuses a first word that is not a command. A mistyped command
// never starts a run, so a phrase or a file needs the word run.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	word := args[0]
	if strings.HasSuffix(word, ".md") || strings.Contains(word, " ") {
		return wrongWord("unknown command %q: to start a run, type agentmux run %q", word, word)
	}
	near := cmd.SuggestionsFor(word) // with this prefix
	if len(near) == 0 {
		near = nearest(cmd, word)
	}
	if len(near) > 0 {
		return wrongWord("unknown command %q: did you mean %s?", word, strings.Join(near, " or "))
	}
	return wrongWord("unknown command %q", word)
}

// nearest is the command that a mistyped word most likely meant.
func nearest(cmd *cobra.Command, word string) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" { // which cobra does not list
			names = append(names, c.Name())
		}
	}
	if name := document.Nearest(word, names); name != "" {
		return []string{name}
	}
	return nil
}

// group puts a command into a group of the help.
func group(id string, cmd *cobra.Command) *cobra.Command {
	cmd.GroupID = id
	return cmd
}

// example shows in the help what a person might type.
func example(text string, cmd *cobra.Command) *cobra.Command {
	cmd.Example = "  " + text
	return cmd
}

func hidden(cmd *cobra.Command) *cobra.Command {
	cmd.Hidden = true
	return cmd
}
