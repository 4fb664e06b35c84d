package main

import (
	"fmt"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

func newSessionsCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "sessions",
		Short:   "List the sessions of this project",
		Example: "  agentmux sessions\n  agentmux sessions --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			project, err := a.ProjectDir()
			if err != nil {
				return err
			}
			entries, err := session.List(project)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(listJSON(entries))
			}
			listSessions(a, entries)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "machine-readable output")
	return group(groupStart, cmd)
}

// sessionJSON is one session of a listing.
type sessionJSON struct {
	Name      string `json:"name"`
	Dir       string `json:"dir"`
	Condition string `json:"condition"`
	Phase     string `json:"phase,omitempty"`
	Issue     int    `json:"issue,omitempty"`
	Branch    string `json:"branch,omitempty"`
	PR        string `json:"pr_url,omitempty"`
	Running   bool   `json:"running"`
}

func listJSON(entries []session.Entry) []sessionJSON {
	out := []sessionJSON{}
	for _, e := range entries {
		row := sessionJSON{Name: e.Name, Dir: e.Dir, Condition: e.Condition(), Running: e.Running}
		if e.State != nil {
			row.Phase, row.Issue, row.Branch = e.State.Phase, e.State.IssueNumber, e.State.FeatureBranch
			row.PR = e.State.Completion.PRURL
		}
		out = append(out, row)
	}
	return out
}

// listSessions prints a table of sessions for a person.
func listSessions(a *app, entries []session.Entry) {
	if len(entries) == 0 {
		a.Say("no sessions here; agentmux issue N or agentmux run \"...\" starts one")
		return
	}
	var rows [][]console.Cell
	for _, e := range entries {
		row := listJSON([]session.Entry{e})[0]
		issue, ink := "-", paint.Bad
		if row.Issue > 0 {
			issue = fmt.Sprintf("#%d", row.Issue)
		}
		if e.State != nil {
			_, ink = phaseText(e)
		}
		rows = append(rows, []console.Cell{console.NewCell(row.Name, paint.Strong), console.PlainCell(console.Dash(phaseName(e))), console.NewCell(row.Condition, ink), console.PlainCell(issue), console.PlainCell(console.Dash(row.PR))})
	}
	a.Page(a.Out).Table([]string{"SESSION", "PHASE", "CONDITION", "ISSUE", "PULL REQUEST"}, rows)
}

// phaseName is where a session is; of one that was stopped or failed, where it was then.
func phaseName(e session.Entry) string {
	switch {
	case e.State == nil:
		return ""
	case e.State.Phase == orchestrator.PhaseFailed && e.State.InterruptedPhase != "":
		return string(e.State.InterruptedPhase)
	}
	return e.State.Phase
}

// live reports whether a host runs the session.
func live(e session.Entry) bool { return e.State != nil && e.Running }

// ending reports whether a host still completes the end of its session, such as the words
// on the issue. It takes no commands any more.
func ending(e session.Entry) bool { return live(e) && e.State.Ended() }

// stillEnding refuses what has to wait for that host.
func stillEnding(e session.Entry) error {
	return &exit.Error{Code: exit.Locked, Err: fmt.Errorf("%s is ending; agentmux status %s says how, agentmux logs %s --follow waits until its host is gone", e.Name, e.Name, e.Name)}
}

// unfinished reports whether a resume could go on with the session.
func unfinished(e session.Entry) bool {
	return e.State != nil && !e.Running && e.State.Phase != orchestrator.PhaseDone
}
