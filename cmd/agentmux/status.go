package main

import (
	"context"
	"slices"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

func newStatusCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [S]",
		Short: "Show a session: phase, agents, questions, what to do next",
		Long: `Shows a session: where it is or how it ended and why, who works, what waits for a
person, what keeps it from going on, what it still owes, and what can be done next.
Without S it shows the one that runs, else the newest; where several run, it lists them.`,
		Example: "  agentmux status\n  agentmux status '#42' --json",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runStatus(cmd.Context(), a, args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "machine-readable output, see docs/commands.md")
	return group(groupStart, cmd)
}

func runStatus(ctx context.Context, a *app, args []string, asJSON bool) error {
	entry, several, err := statusEntry(a, args)
	switch {
	case err != nil:
		return err
	case len(several) > 0 && asJSON:
		return a.PrintJSON(show.ListJSON(several))
	case len(several) > 0:
		show.PrintSessions(a, several)
		a.Say("several sessions run; agentmux status NAME shows one")
		return nil
	case entry.Err != nil:
		return entry.Err
	case asJSON:
		return a.PrintJSON(show.StatusOf(ctx, a, entry))
	}
	show.PrintStatus(ctx, a, a.Out, entry)
	return nil
}

// statusEntry is the session that is named; without a name the one that runs, else the one
// that was touched last. Where several run, those are several.
func statusEntry(a *app, args []string) (entry session.Entry, several []session.Entry, err error) {
	if len(args) > 0 {
		entry, err = a.Find(args, nil)
		return entry, nil, err
	}
	project, err := a.ProjectDir()
	if err != nil {
		return entry, nil, err
	}
	entries, err := session.List(project)
	if err != nil {
		return entry, nil, err
	}
	running := slices.DeleteFunc(slices.Clone(entries), func(e session.Entry) bool { return !site.Live(e) })
	switch {
	case len(running) > 1:
		return entry, running, nil
	case len(running) == 1:
		return running[0], nil, nil
	case len(entries) == 0:
		return entry, nil, &session.NotFoundError{}
	}
	return slices.MaxFunc(entries, func(a, b session.Entry) int { return touched(a).Compare(touched(b)) }), nil, nil
}

// touched is when a session changed last; of one that cannot be read nothing is known.
func touched(e session.Entry) time.Time {
	if e.State == nil {
		return time.Time{}
	}
	return show.EndedAt(e)
}
