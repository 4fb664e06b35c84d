package main

import (
	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/cmd/internal/start"
	"github.com/spf13/cobra"
)

// addStartFlags adds the flags that issue and run share.
func addStartFlags(cmd *cobra.Command, f *start.Options) {
	flags := cmd.Flags()
	flags.StringVar(&f.Name, "name", "", "`name` of the session")
	flags.StringVar(&f.Workflow, "workflow", "", "`workflow` to use (default: the configured one)")
	flags.StringVar(&f.Base, "base", "", "branch of the server, or HEAD or a commit of the clone, to start from")
	flags.BoolVar(&f.ProductManager, "product-manager", false, "begin with a product manager")
	flags.BoolVar(&f.Headless, "headless", false, "stay in the foreground, ask no questions, end with the session")
	flags.BoolVar(&f.Dry, "dry-run", false, "print what would be done and write nothing")
	flags.BoolVar(&f.AsJSON, "json", false, "with --dry-run: machine-readable output, see docs/commands.md")
	flags.BoolVar(&f.Wait, "wait", false, "with a detached session: wait for its end")
}

func newIssueCmd(a *app) *cobra.Command {
	f := &start.Options{}
	cmd := &cobra.Command{
		Use:   "issue N|#N|URL",
		Short: "Work on an issue until there is a reviewed pull request",
		Long: `Starts a session for an issue. At a terminal the session runs detached and the
terminal joins its tmux; detaching changes nothing. With --headless it runs in
the foreground and asks no questions.`,
		Example: `  agentmux issue 42
  agentmux issue 42 --workflow quick --headless
  agentmux issue https://github.com/octo/widgets/issues/42 --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if job.Here() {
				return job.Run(cmd.Context(), a, args[0])
			}
			return start.Issue(cmd.Context(), a, args[0], f)
		},
	}
	addStartFlags(cmd, f)
	flags := cmd.Flags()
	flags.StringVar(&f.Repo, "repo", "", "the issue's repository as `[host/]owner/name`, when it is not origin's")
	flags.BoolVar(&f.Mirror, "mirror", false, "show the session on the issue although it has no label")
	flags.BoolVar(&f.NoMirror, "no-mirror", false, "write nothing on the issue, and read no comments there")
	flags.BoolVar(&f.New, "new", false, "start a new session although there is an unfinished one, or an open pull request")
	flags.BoolVar(&f.Take, "take", false, "start although another host is at work on the issue, if nothing was heard of that host for 10 minutes")
	return group(groupStart, cmd)
}
