package main

import (
	"context"
	"slices"

	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/spf13/cobra"
)

type doctorOptions struct {
	doctor.Options
	json, actions bool
}

func newDoctorCmd(a *app) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [SESSION]",
		Short: "Probe everything a run needs; each failure says how to fix it",
		Long: `Looks at this machine, the clone, the configuration, the agents' CLIs, the GitHub
server, the token and the repository, and says of each what it found and what to
do. With a session, checks that session's files against each other instead. With
--repo or --org, or outside of a clone where bot.repos or bot.orgs is set, probes
what a bot would serve: this machine, and each repository with its account. With
--actions, in a step of a workflow, probes what the job has: event, token, runner;
in a clone, what a job would need.

It only reads. What shows only by writing is tried with --write: the label of
requests is made if it is missing, a ref is made and deleted, and a pull request
and a commit status are asked for that cannot come about.

The exit code is 3 if something failed; warnings and skipped probes are not failures.`,
		Example: "  agentmux doctor\n  agentmux doctor --write\n  agentmux doctor --json\n  agentmux doctor '#42'\n  agentmux doctor --repo octo/widgets --repo octo/gears --write\n  agentmux doctor --actions",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Session = args
			return runDoctor(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "machine-readable output: a list of {name, state, detail, hint, repository}")
	cmd.Flags().StringArrayVar(&o.Repos, "repo", nil, "`owner/name` of a repository that a bot serves; may be given several times")
	cmd.Flags().StringArrayVar(&o.Orgs, "org", nil, "`organisation` that a bot serves; may be given several times")
	cmd.Flags().BoolVar(&o.Write, "write", false, "also try what shows only by writing to the repository")
	cmd.Flags().BoolVar(&o.actions, "actions", false, "probe what a job of GitHub Actions needs, in the job or in a clone")
	return group(groupSetup, cmd)
}

func runDoctor(ctx context.Context, a *app, o doctorOptions) error {
	if o.actions {
		o.Job = job.ForDoctor(a)
		if !o.json {
			defer job.Quote(a)()
		}
	}
	probes, err := doctor.Run(ctx, a, o.Options)
	if err == nil {
		err = ctx.Err() // an interrupted probe reports a wrong reason
	}
	if err != nil && job.Here() && ctx.Err() == nil {
		a.Say("%v", err)
		return nil // the next step of the action says it as an annotation, and decides whether the job fails
	}
	if err != nil {
		return err
	}
	shown := a.Shown() // some of it is text of servers and programs
	for i := range probes {
		probes[i].Detail, probes[i].Hint = shown(probes[i].Detail), shown(probes[i].Hint)
	}
	if o.json {
		err = a.PrintJSON(probes)
	} else {
		doctor.Print(a.Console, probes)
	}
	if err != nil {
		return err
	}
	if !job.Here() && slices.ContainsFunc(probes, func(p doctor.Probe) bool { return p.State == doctor.Failed }) {
		return exit.Quiet(exit.NeedsHuman)
	}
	return nil
}
