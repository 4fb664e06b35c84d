package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/workflows"
	"github.com/spf13/cobra"
)

// copyWorkflow gives the copy a name of its own: one that is built in cannot be taken.
const copyWorkflow = `  mkdir -p .agentmux/workflows
  agentmux workflows show quick | sed 's/^name: quick/name: careful/' > .agentmux/workflows/careful.yaml`

type workflowsListOptions struct{ json bool }

type workflowsCheckOptions struct{ json bool }

func newWorkflowsCmd(a *app) *cobra.Command {
	cmd := group(groupSetup, &cobra.Command{
		Use: "workflows", Short: "List, show and check workflows", Args: unknownCommand, RunE: needsSubcommand,
		Example: "  agentmux workflows list\n" + copyWorkflow + "\n  agentmux workflows check",
	})
	var listed workflowsListOptions
	list := &cobra.Command{
		Use: "list", Short: "List the workflows", Args: cobra.NoArgs, Example: "  agentmux workflows list\n  agentmux workflows list --json",
		RunE: func(*cobra.Command, []string) error { return runWorkflowsList(a, listed) },
	}
	list.Flags().BoolVar(&listed.json, "json", false, "machine-readable output: a list of {name, source, description, phases, problems}")
	var o workflowsCheckOptions
	check := &cobra.Command{
		Use: "check [NAME]", Short: "Check the project's workflows", Args: cobra.MaximumNArgs(1), Example: "  agentmux workflows check careful\n  agentmux workflows check --json",
		RunE: func(_ *cobra.Command, args []string) error { return runWorkflowsCheck(a, args, o) },
	}
	check.Flags().BoolVar(&o.json, "json", false, "machine-readable output: a list of {name, ok, problems}")
	cmd.AddCommand(
		list,
		&cobra.Command{Use: "show NAME", Short: "Print a workflow", Example: copyWorkflow, Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error { return runWorkflowsShow(a, args[0]) }},
		check,
	)
	return cmd
}

func runWorkflowsList(a *app, o workflowsListOptions) error {
	project, err := a.ProjectDir()
	if err != nil {
		return err
	}
	dir := site.Files(project)
	for _, file := range workflows.Unused(dir) {
		said, step := doctor.UnusedWords(file)
		a.Say("%s; %s", said, step)
	}
	rows := show.KnownWorkflows(dir)
	if o.json {
		return a.PrintJSON(rows)
	}
	show.PrintWorkflows(a.Console, rows)
	return nil
}

func runWorkflowsShow(a *app, name string) error {
	project, err := a.ProjectDir()
	if err != nil {
		return err
	}
	_, data, problems := workflows.Load(name, site.Files(project))
	if len(data) == 0 {
		return exit.UsageText(strings.Join(problems.Lines(), "; "))
	}
	_, err = a.Out.Write(data)
	return err
}

func runWorkflowsCheck(a *app, args []string, o workflowsCheckOptions) error {
	project, err := a.ProjectDir()
	if err != nil {
		return err
	}
	dir := site.Files(project)
	names := args
	if len(names) == 0 {
		names = workflows.Names(dir)
	}
	bad, checks, said := 0, []show.CheckJSON{}, map[string]bool{}
	for _, name := range names {
		problems := workflows.Check(name, dir)
		if checks = append(checks, show.Checked(name, problems)); o.json {
			if problems.Err() != nil {
				bad++
			}
			continue
		}
		for _, line := range problems.Lines() {
			if !said[line] { // texts for prompts belong to every workflow
				a.Say("%s", line)
			}
			said[line] = true
		}
		if problems.Err() != nil {
			bad++
			continue
		}
		a.Print("%s: ok", name)
	}
	if o.json {
		return show.PrintChecks(a, checks, bad == 0)
	}
	if bad > 0 {
		have := "have"
		if bad == 1 {
			have = "has"
		}
		return exit.Usage(fmt.Errorf("%d of %s %s problems; the project's are in %s", bad, console.Counted(len(names), "workflow", "workflows"), have,
			filepath.Join(project, filepath.FromSlash(workflows.ProjectWorkflows))))
	}
	return nil
}
