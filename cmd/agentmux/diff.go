package main

import (
	"context"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

type diffOptions struct {
	stat    bool
	session string
}

func newDiffCmd(a *app) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [S]",
		Short: "Show what a gate asks about: the plan, or what the commit would change",
		Long: `Shows what an open gate asks about: at the plan's the whole plan, at the result's what the
commit would change. Of a session without a gate it shows the work so far, of one that has
ended what was committed, or would have been.

A terminal gets it in a pager (PAGER, else less); anything else gets plain text. Characters
that would steer a terminal or are not seen are shown as <U+001B>.`,
		Example: "  agentmux diff\n  agentmux diff '#42' --stat",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runDiff(cmd.Context(), a, args, o) },
	}
	cmd.Flags().BoolVar(&o.stat, "stat", false, "only how many lines of which files")
	sessionFlag(cmd, &o.session)
	return group(groupSteer, cmd)
}

func runDiff(ctx context.Context, a *app, args []string, o diffOptions) error {
	name, err := chosen(args, o.session)
	if err != nil {
		return err
	}
	entry, err := differing(ctx, a, name)
	if err != nil {
		return err
	}
	if entry.Err != nil {
		return entry.Err
	}
	text, err := show.Diff(ctx, a, entry, o.stat)
	if err != nil {
		return err
	}
	return a.Paged(ctx, text)
}

// differing returns the session that args name, the only one at a gate, else the one that status
// shows.
func differing(ctx context.Context, a *app, name string) (session.Entry, error) {
	if name != "" {
		return steer.FindFor(ctx, a, "diff", []string{name}, nil)
	}
	if entry, err := a.Find(ctx, nil, site.Gated); err == nil || exit.As[*session.AmbiguousError](err) {
		return entry, err
	}
	return a.Find(ctx, nil, nil)
}
