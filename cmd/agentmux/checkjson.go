package main

import (
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/document"
)

// checkJSON is what a check found about one thing: the configuration, or a workflow.
type checkJSON struct {
	Name     string        `json:"name"`
	OK       bool          `json:"ok"`
	Problems []problemJSON `json:"problems"`
}

// problemJSON is one mistake with its place; file and line are left out where there is none.
type problemJSON struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Path    string `json:"path,omitempty"`
	Text    string `json:"text"`
	Warning bool   `json:"warning"`
}

func checked(name string, problems document.Problems) checkJSON {
	c := checkJSON{Name: name, OK: problems.Err() == nil, Problems: []problemJSON{}}
	for _, p := range problems {
		c.Problems = append(c.Problems, problemJSON(p))
	}
	return c
}

// printChecks prints the results; what is not well is in the exit code, too.
func printChecks(a *app, checks []checkJSON, well bool) error {
	shown := a.Shown()
	for i := range checks {
		for j := range checks[i].Problems {
			p := &checks[i].Problems[j]
			p.File, p.Path, p.Text = shown(p.File), shown(p.Path), shown(p.Text)
		}
	}
	if err := a.PrintJSON(checks); err != nil || well {
		return err
	}
	return exit.Quiet(exit.BadUsage)
}
