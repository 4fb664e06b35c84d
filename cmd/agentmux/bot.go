package main

import (
	"github.com/agentmux/agentmux/cmd/internal/daemon"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newBotCmd(a *app) *cobra.Command {
	o := &daemon.Options{}
	cmd := &cobra.Command{
		Use:   "bot",
		Short: "Serve repositories: turn labelled issues into pull requests",
		Long: `Watches repositories and turns each issue that gets the label agentmux into a
session, for as long as it runs. Stopping it leaves the agents at work; the next
one continues with their sessions. It serves the repositories of --repo and
--org, else those of bot.repos and bot.orgs, else that of the clone you are in.`,
		Example: `  agentmux bot
  agentmux bot --repo octo/widgets --repo octo/gears --max 4
  agentmux bot --repo octo/widgets --once
  agentmux bot --repo octo/widgets --systemd > agentmux.service`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.Flags().Visit(func(f *pflag.Flag) {
				if f.Value.String() == "" {
					o.Empty = append(o.Empty, f.Name)
				}
			})
			return daemon.Run(cmd.Context(), a, o)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.Repos, "repo", nil, "`owner/name` of a repository to serve; may be given several times")
	flags.StringArrayVar(&o.Orgs, "org", nil, "`organisation` whose repositories are served; may be given several times")
	flags.StringVar(&o.Webhook, "webhook", "", "`address` at which webhooks are taken, as 8080 or 0.0.0.0:8080; polling goes on")
	flags.StringVar(&o.Interval, "interval", "", "`duration` between two looks at a repository, or auto")
	flags.StringVar(&o.Max, "max", "", "how many sessions work at a time: a `number`, or auto")
	flags.BoolVar(&o.Once, "once", false, "look at everything once, wait for the sessions, and end")
	flags.BoolVar(&o.DryRun, "dry-run", false, "print what would be written, and write nothing")
	flags.BoolVar(&o.Systemd, "systemd", false, "print a unit for systemd that runs this bot")
	return group(groupStart, cmd)
}
