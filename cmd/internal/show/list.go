package show

import (
	"fmt"
	"slices"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// SessionJSON is one session of a listing.
type SessionJSON struct {
	Name      string `json:"name"`
	Dir       string `json:"dir"`
	Condition string `json:"condition"`
	Phase     string `json:"phase,omitempty"`
	Issue     int    `json:"issue,omitempty"`
	Repo      string `json:"repository,omitempty"`
	Branch    string `json:"branch,omitempty"`
	PR        string `json:"pr_url,omitempty"`
	Running   bool   `json:"running"`
}

// ListJSON is a listing for a script.
func ListJSON(entries []session.Entry) []SessionJSON {
	out := []SessionJSON{}
	for _, e := range entries {
		row := SessionJSON{Name: e.Name, Dir: e.Dir, Condition: e.Condition(), Running: e.Running}
		if e.State != nil {
			row.Phase, row.Issue, row.Branch = e.State.Phase, e.State.IssueNumber, branchOf(e.State)
			row.Repo = string(e.State.Repo)
			row.PR = e.State.Completion.PRURL
		}
		out = append(out, row)
	}
	return out
}

// PrintSessions prints a table of sessions for a person.
func PrintSessions(a *site.Finder, entries []session.Entry) {
	if len(entries) == 0 {
		a.Say("no sessions here; agentmux issue N or agentmux run \"...\" starts one")
		return
	}
	printList(a, entries, false)
}

// printList prints the table; with repositories as a column of its own.
func printList(a *site.Finder, entries []session.Entry, repositories bool) {
	header := []string{"SESSION", "REPOSITORY", "PHASE", "CONDITION", "ISSUE", "PULL REQUEST"}
	var rows [][]console.Cell
	for _, e := range entries {
		row := ListJSON([]session.Entry{e})[0]
		issue, ink := "-", paint.Bad
		if row.Issue > 0 {
			issue = fmt.Sprintf("#%d", row.Issue)
		}
		if e.State != nil {
			_, ink = phaseText(e)
		}
		rows = append(rows, []console.Cell{
			console.NewCell(row.Name, paint.Strong), console.PlainCell(console.Dash(row.Repo)), console.PlainCell(console.Dash(phaseName(e))),
			console.NewCell(row.Condition, ink), console.PlainCell(issue), console.PlainCell(console.Dash(row.PR)),
		})
	}
	if !repositories {
		header = slices.Delete(header, 1, 2)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 1, 2)
		}
	}
	a.Page(a.Out).Table(header, rows)
	for _, e := range entries {
		if note := diskNote(e); note != "" && e.Running {
			a.Say("%s: %s", e.Name, note)
			break // sessions share a disk, as a rule
		}
	}
}

// phaseName returns the phase of a session; the last one if it was stopped or failed.
func phaseName(e session.Entry) string {
	switch {
	case e.State == nil:
		return ""
	case e.State.Phase == orchestrator.PhaseFailed && e.State.InterruptedPhase != "":
		return string(e.State.InterruptedPhase)
	}
	return e.State.Phase
}

// EndedAt returns when a session changed last.
func EndedAt(e session.Entry) time.Time {
	at, err := time.Parse(time.RFC3339, e.State.UpdatedAt)
	if err != nil {
		return time.Time{}
	}
	return at
}
