package main

import (
	"fmt"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/spf13/cobra"
)

func newConfigCmd(a *app) *cobra.Command {
	cmd := group(groupSetup, &cobra.Command{
		Use: "config", Short: "Show and check the configuration", Args: unknownCommand, RunE: needsSubcommand,
		Example: "  agentmux config show\n  agentmux config check",
	})
	var asJSON bool
	show := &cobra.Command{
		Use: "show", Short: "Print every value and where it is from", Args: cobra.NoArgs, Example: "  agentmux config show\n  agentmux config show --json",
		RunE: func(*cobra.Command, []string) error { return runConfigShow(a, asJSON) },
	}
	show.Flags().BoolVar(&asJSON, "json", false, "machine-readable output: a list of {key, value, layer, file, line, adds_to, overruled}")
	var checkAsJSON bool
	check := &cobra.Command{
		Use: "check", Short: "Report every problem; exit 2 if there is one", Args: cobra.NoArgs, Example: "  agentmux config check\n  agentmux config check --json",
		RunE: func(*cobra.Command, []string) error { return runConfigCheck(a, checkAsJSON) },
	}
	check.Flags().BoolVar(&checkAsJSON, "json", false, "machine-readable output: a list of {name, ok, problems}")
	cmd.AddCommand(show, check)
	return cmd
}

// settingJSON is one value of the configuration; file and line are those of a file that sets it.
type settingJSON struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	Layer string `json:"layer"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	// AddsTo is the layer whose items the list has besides its own.
	AddsTo    string          `json:"adds_to,omitempty"`
	Overruled []overruledJSON `json:"overruled,omitempty"`
}

// overruledJSON is a value that a file gives in vain.
type overruledJSON struct {
	Value  any    `json:"value"`
	Layer  string `json:"layer"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

func settings(c *config.Config) []settingJSON {
	rows := []settingJSON{}
	for _, v := range c.Show() {
		row := settingJSON{Key: v.Path, Value: v.Plain, Layer: v.Layer, File: v.File, Line: v.Line, AddsTo: v.AddsTo}
		for _, o := range v.Overruled {
			row.Overruled = append(row.Overruled, overruledJSON{o.Plain, o.Layer, o.File, o.Line, o.Why})
		}
		rows = append(rows, row)
	}
	return rows
}

func runConfigShow(a *app, asJSON bool) error {
	project, err := a.ProjectDir()
	if err != nil {
		return err
	}
	c, err := a.Config(project)
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON(settings(c))
	}
	var rows [][]console.Cell
	for _, v := range c.Show() {
		from := v.Layer
		if v.File != "" {
			from = fmt.Sprintf("%s (%s:%d)", v.Layer, v.File, v.Line)
		}
		if v.AddsTo != "" {
			from += ", added to " + v.AddsTo
		}
		for _, o := range v.Overruled {
			from += fmt.Sprintf("; not %s of %s (%s:%d): %s", o.Text, o.Layer, o.File, o.Line, o.Why)
		}
		ink := paint.Plain
		if v.Layer == config.LayerBuiltIn {
			ink = paint.Faint
		}
		rows = append(rows, []console.Cell{console.NewCell(v.Path, ink), console.NewCell(v.Text, ink), console.NewCell(from, paint.Faint)})
	}
	a.Page(a.Out).Table([]string{"KEY", "VALUE", "FROM"}, rows)
	return nil
}

func runConfigCheck(a *app, asJSON bool) error {
	project, err := a.ProjectDir()
	if err != nil {
		return err
	}
	c, problems := config.Check(a.Sources(project))
	if asJSON {
		return printChecks(a, []checkJSON{checked("config", problems)}, problems.Err() == nil)
	}
	for _, line := range problems.Lines() {
		a.Say("%s", line)
	}
	if problems.Err() != nil {
		return exit.UsageText("the configuration has problems")
	}
	for _, file := range c.Source() {
		a.Print("%s: ok", file)
	}
	if len(c.Source()) == 0 {
		a.Print("no configuration files; the defaults hold")
	}
	return nil
}
