package story

import (
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
)

// Crew tells who worked in a session: each role with every provider, model and effort that it was started with, in the order of
// their first starts.
type Crew struct{ workers []worker }

// worker is one way in which a role was started.
type worker struct {
	role, task              string
	provider, model, effort string
	instead                 string // the configured provider, if another one took over
}

// Fold takes in one record.
func (c *Crew) Fold(e orchestrator.Event) {
	d, ok := e.Data.(orchestrator.AgentStartedRecord)
	if !ok || d.Role == "" {
		return
	}
	if w := (worker{d.Role, d.Task, d.Provider, d.Model, d.Effort, d.FallbackFor}); !slices.Contains(c.workers, w) {
		c.workers = append(c.workers, w)
	}
}

// maxCrew bounds the lines of a crew.
const maxCrew = 24

// Lines names who worked for a task, as for an agent of an agents file, or in the whole session if task is empty: a line for
// each role and what it ran on.
func (c Crew) Lines(task string) (lines []string) {
	for _, w := range c.workers {
		line := w.String()
		if task != "" && w.task != task || slices.Contains(lines, line) {
			continue
		}
		lines = append(lines, line)
	}
	if more := len(lines) - maxCrew; more > 0 {
		lines = append(lines[:maxCrew], fmt.Sprintf("and %d more", more))
	}
	return lines
}

// String is the worker in a line.
func (w worker) String() string {
	line := w.role + ": " + w.provider
	if w.model != "" {
		line += ", model " + w.model
	} else {
		line += ", its default model"
	}
	if w.effort != "" {
		line += ", effort " + w.effort
	}
	if w.instead != "" {
		line += ", in place of " + w.instead
	}
	return line
}
