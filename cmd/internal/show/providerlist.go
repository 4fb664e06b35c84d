package show

import (
	"os/exec"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/internal/agent"
)

// ProviderJSON is one provider of a listing. What is built in has no command; a program that
// is not in PATH has no path.
type ProviderJSON struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Command string `json:"command,omitempty"`
	Path    string `json:"path,omitempty"`
	Install string `json:"install,omitempty"`
}

// KnownProviders lists all providers with the paths of their programs.
func KnownProviders(providers agent.Providers) []ProviderJSON {
	rows := []ProviderJSON{}
	for _, name := range providers.Names() {
		p := providers[name]
		row := ProviderJSON{Name: name, State: "unproven", Install: p.Install}
		if p.Proven {
			row.State = "proven"
		}
		if p.Command != "{self}" {
			row.Command = p.Command
			row.Path, _ = exec.LookPath(p.Command) // "" if it is not in PATH
		}
		rows = append(rows, row)
	}
	return rows
}

// PrintProviders prints a table of them.
func PrintProviders(a *console.Console, rows []ProviderJSON) {
	var table [][]console.Cell
	for _, row := range rows {
		program := row.Path
		switch {
		case row.Command == "":
			program = "built in"
		case row.Path == "":
			program = row.Command + " (not in PATH)"
		}
		table = append(table, []console.Cell{console.NewCell(row.Name, paint.Strong), console.PlainCell(row.State), console.PlainCell(program)})
	}
	a.Page(a.Out).Table([]string{"NAME", "STATE", "PROGRAM"}, table)
}
