package main

import (
	"slices"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/start"
	"github.com/agentmux/agentmux/cmd/internal/team"
	"github.com/spf13/cobra"
)

func newAgentsCmd(a *app) *cobra.Command {
	cmd := group(groupSetup, &cobra.Command{
		Use: "agents", Short: "Run several agents at once from an agents file", Args: unknownCommand, RunE: needsSubcommand,
		Example: "  agentmux agents init\n  agentmux agents start\n  agentmux agents status",
	})
	var o team.Options
	init := &cobra.Command{
		Use:   "init",
		Short: "Write an agents file from your answers, or from issues",
		Long: `Asks for the session, the parent of the worktrees and a pane for you, then for each
agent its name, role, branch, task and the agents it waits for, and writes agents.file of the
configuration, .dmux-agents.yml. With --from-issue it asks nothing: each issue becomes an agent.
A file that is there is kept.`,
		Example: "  agentmux agents init\n  agentmux agents init --from-issue 12,15",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return team.Init(cmd.Context(), a, o) },
	}
	cmd.AddCommand(newAgentsStartCmd(a))
	cmd.AddCommand(newAgentsRunCmds(a)...)
	init.Flags().StringSliceVar(&o.Issues, "from-issue", nil, "an agent for each of these issues: `N,N`")
	init.Flags().BoolVar(&o.Force, "force", false, "replace an existing agents file")
	cmd.AddCommand(init)
	return cmd
}

func newAgentsStartCmd(a *app) *cobra.Command {
	var o start.AgentsOptions
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Start the agents of an agents file, in the order of what they depend on",
		Long: `Checks the file, its branches, directories, programs and logins, shows what would be
started and asks. Each agent works in a clone of its own beside the project; what it
hands in becomes one commit on its branch in this clone, which is not checked out.
A session that was interrupted or stopped is continued with the agents that have no
marker; --new removes it first and begins afresh, and work that is in no branch is kept.
Where agents work for issues, another machine continues the run with --from-checkpoint,
from the same agents file; --take also where the host that has the issues is gone.`,
		Example: "  agentmux agents start\n  agentmux agents start --only auth,basket --yes --headless",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Only = slices.DeleteFunc(o.Only, func(name string) bool { return strings.TrimSpace(name) == "" })
			o.OnlyNone = cmd.Flags().Changed("only") && len(o.Only) == 0
			return start.Agents(cmd.Context(), a, o)
		},
	}
	cmd.Flags().StringVar(&o.File, "file", "", "read this agents `file` (default agents.file of the configuration, .dmux-agents.yml)")
	cmd.Flags().StringSliceVar(&o.Only, "only", nil, "start these agents and those they need: `NAME,NAME`")
	cmd.Flags().BoolVar(&o.New, "new", false, "begin afresh: remove the ended session of an earlier run")
	cmd.Flags().BoolVar(&o.Checkpoint, "from-checkpoint", false, "continue the run of another machine, from its checkpoint on the server")
	cmd.Flags().BoolVar(&o.Take, "take", false, "take the issues over from a host that was silent for 10 minutes")
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&o.Headless, "headless", false, "run in the foreground without a terminal for agents")
	return cmd
}

// newAgentsRunCmds are the commands on a run.
func newAgentsRunCmds(a *app) []*cobra.Command {
	var asJSON bool
	var code int
	var named string
	var discard []string
	one := cobra.MaximumNArgs(1)
	status := &cobra.Command{
		Use: "status [S]", Short: "Show how far the agents of a run are, also after its end", Args: one,
		Example: "  agentmux agents status\n  agentmux agents status shop --json",
		RunE:    func(cmd *cobra.Command, args []string) error { return team.Status(cmd.Context(), a, args, asJSON) },
	}
	status.Flags().BoolVar(&asJSON, "json", false, "machine-readable output, see docs/commands.md")
	done := &cobra.Command{
		Use: "done NAME", Short: "Mark an agent by hand: its work is taken as it is", Args: cobra.ExactArgs(1),
		Example: "  agentmux agents done auth\n  agentmux agents done auth --exit 1",
		RunE: func(cmd *cobra.Command, args []string) error {
			return team.Done(cmd.Context(), a, named, args[0], code)
		},
	}
	done.Flags().IntVar(&code, "exit", 0, "exit `code`: 0 is done, 99 blocked, another one failed")
	sessionFlag(done, &named)
	changelog := &cobra.Command{
		Use: "changelog [S]", Short: "Write what the agents did to AGENTS_CHANGELOG.md", Args: one, Example: "  agentmux agents changelog",
		RunE: func(cmd *cobra.Command, args []string) error { return team.Changelog(cmd.Context(), a, args) },
	}
	clean := &cobra.Command{
		Use: "cleanup [S]", Short: "Stop a run, keep what is in no branch, remove its worktrees", Args: one,
		Example: "  agentmux agents cleanup\n  agentmux agents cleanup --discard basket",
		RunE:    func(cmd *cobra.Command, args []string) error { return team.Cleanup(cmd.Context(), a, args, discard) },
	}
	clean.Flags().StringSliceVar(&discard, "discard", nil, "give up what this agent did and no branch has: `NAME,NAME`")
	return []*cobra.Command{status, done, changelog, clean}
}
