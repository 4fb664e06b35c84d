package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/agentmux/agentmux/internal/config"
	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	cmd := group(groupSetup, &cobra.Command{
		Use: "config", Short: "Show and check the configuration", Args: unknownCommand, RunE: needsSubcommand,
		Example: "  agentmux config show\n  agentmux config check",
	})
	var asJSON bool
	show := &cobra.Command{
		Use: "show", Short: "Print every value and where it is from", Args: cobra.NoArgs, Example: "  agentmux config show\n  agentmux config show --json",
		RunE: func(*cobra.Command, []string) error { return a.showConfig(asJSON) },
	}
	show.Flags().BoolVar(&asJSON, "json", false, "machine-readable output: a list of {key, value, layer, file, line}")
	cmd.AddCommand(
		show,
		example("agentmux config check", &cobra.Command{Use: "check", Short: "Report every problem; exit 2 if there is one", Args: cobra.NoArgs, RunE: a.checkConfig}),
	)
	return cmd
}

// settingJSON is one value of the configuration; file and line are those of a file that sets it.
type settingJSON struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	Layer string `json:"layer"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
}

func (a *app) showConfig(asJSON bool) error {
	project, err := a.projectDir()
	if err != nil {
		return err
	}
	c, err := a.config(project)
	if err != nil {
		return err
	}
	if asJSON {
		rows := []settingJSON{}
		for _, v := range c.Show() {
			rows = append(rows, settingJSON{v.Path, v.Plain, v.Layer, v.File, v.Line})
		}
		return printJSON(a.out, rows)
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "KEY\tVALUE\tFROM")
	for _, v := range c.Show() {
		from := v.Layer
		if v.File != "" {
			from = fmt.Sprintf("%s (%s:%d)", v.Layer, v.File, v.Line)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Path, v.Text, from)
	}
	return w.Flush()
}

func (a *app) checkConfig(*cobra.Command, []string) error {
	project, err := a.projectDir()
	if err != nil {
		return err
	}
	c, problems := config.Load(a.sources(project))
	for _, line := range problems.Lines() {
		a.say("%s", line)
	}
	if problems.Err() != nil {
		return usageText("the configuration has problems")
	}
	for _, file := range c.Source() {
		a.print("%s: ok", file)
	}
	if len(c.Source()) == 0 {
		a.print("no configuration files; the defaults hold")
	}
	return nil
}
