package show

import (
	"io/fs"
	"slices"
	"strconv"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/workflows"
)

// WorkflowJSON is one workflow of a listing. It has no phases if it has problems.
type WorkflowJSON struct {
	Name        string   `json:"name"`
	Source      string   `json:"source"`
	Description string   `json:"description"`
	Phases      []string `json:"phases"`
	Problems    []string `json:"problems"`
}

// KnownWorkflows lists the built-in workflows and the project's.
func KnownWorkflows(dir fs.FS) []WorkflowJSON {
	rows := []WorkflowJSON{}
	for _, name := range workflows.Names(dir) {
		row := WorkflowJSON{Name: name, Source: "project", Phases: []string{}, Problems: []string{}}
		if slices.Contains(workflows.Shipped(), name) {
			row.Source = "built in"
		}
		def, _, problems := workflows.Load(name, dir)
		if problems.Err() != nil {
			row.Problems = problems.Errors().Lines()
			rows = append(rows, row)
			continue
		}
		row.Description = def.Description
		for _, phase := range def.Phases {
			row.Phases = append(row.Phases, phase.ID)
		}
		rows = append(rows, row)
	}
	return rows
}

// PrintWorkflows prints a table of them.
func PrintWorkflows(a *console.Console, rows []WorkflowJSON) {
	var table [][]console.Cell
	for _, row := range rows {
		phases, last := strconv.Itoa(len(row.Phases)), console.PlainCell(row.Description)
		if len(row.Problems) > 0 {
			phases, last = "-", console.NewCell("invalid: agentmux workflows check "+row.Name, paint.Bad)
		}
		table = append(table, []console.Cell{console.NewCell(row.Name, paint.Strong), console.PlainCell(row.Source), console.PlainCell(phases), last})
	}
	a.Page(a.Out).Table([]string{"NAME", "SOURCE", "PHASES", "DESCRIPTION"}, table)
}
