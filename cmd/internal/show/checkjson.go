package show

import (
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/document"
)

// CheckJSON is what a check found about one thing: the configuration, or a workflow.
type CheckJSON struct {
	Name     string        `json:"name"`
	OK       bool          `json:"ok"`
	Problems []problemJSON `json:"problems"`
}

// problemJSON is one mistake; file and line are left out if they are unknown.
type problemJSON struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Path    string `json:"path,omitempty"`
	Text    string `json:"text"`
	Warning bool   `json:"warning"`
}

// Checked is the result of a check that found problems.
func Checked(name string, problems document.Problems) CheckJSON {
	c := CheckJSON{Name: name, OK: problems.Err() == nil, Problems: []problemJSON{}}
	for _, p := range problems {
		c.Problems = append(c.Problems, problemJSON(p))
	}
	return c
}

// PrintChecks prints the results. A problem also sets the exit code.
func PrintChecks(a *site.Finder, checks []CheckJSON, well bool) error {
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
