package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

func (a *app) sessionsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "sessions",
		Short:   "List the sessions of this project",
		Example: "  agentmux sessions\n  agentmux sessions --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			project, err := a.projectDir()
			if err != nil {
				return err
			}
			entries, err := session.List(project)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.out, listJSON(entries))
			}
			return a.listSessions(entries)
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

func (a *app) listSessions(entries []session.Entry) error {
	if len(entries) == 0 {
		a.say("no sessions here; agentmux issue N or agentmux run \"...\" starts one")
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "SESSION\tPHASE\tCONDITION\tISSUE\tPULL REQUEST")
	for _, row := range listJSON(entries) {
		issue := "-"
		if row.Issue > 0 {
			issue = fmt.Sprintf("#%d", row.Issue)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", row.Name, dash(row.Phase), row.Condition, issue, dash(row.PR))
	}
	return w.Flush()
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// live reports whether a host runs the session.
func live(e session.Entry) bool { return e.State != nil && e.Running }

// ending reports whether a host still completes the end of its session, such as the words
// on the issue. It takes no commands any more.
func ending(e session.Entry) bool { return live(e) && e.State.Ended() }

// stillEnding refuses what has to wait for that host.
func stillEnding(e session.Entry) error {
	return &codeError{exitLocked, fmt.Errorf("%s is ending; agentmux status %s says how, agentmux logs %s --follow waits until its host is gone", e.Name, e.Name, e.Name)}
}

// unfinished reports whether a resume could go on with the session.
func unfinished(e session.Entry) bool {
	return e.State != nil && !e.Running && e.State.Phase != orchestrator.PhaseDone
}
