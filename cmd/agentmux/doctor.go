package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

// probe is one row of doctor.
type probe struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ok, warning, failed, skipped
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

const (
	probeOK      = "ok"
	probeWarning = "warning"
	probeFailed  = "failed"
	probeSkipped = "skipped"
)

func passed(name, format string, args ...any) probe {
	return probe{name, probeOK, fmt.Sprintf(format, args...), ""}
}

func skipped(name, detail, hint string) probe { return probe{name, probeSkipped, detail, hint} }

// doctorFlags are doctor's own.
type doctorFlags struct {
	asJSON, write bool
}

func newDoctorCmd(a *app) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor [SESSION]",
		Short: "Probe everything a run needs; each failure says how to fix it",
		Long: `Looks at this machine, the clone, the configuration, the agents' CLIs, the GitHub
server, the token and the repository, and says of each what it found and what to
do. With a session, checks that session's files against each other instead.

It only reads. What shows only by writing is tried with --write: the label of
requests is made if it is missing, a ref is made and deleted, and a pull request
and a commit status are asked for that cannot come about.

The exit code is 3 if something failed; warnings and skipped probes are no failure.`,
		Example: "  agentmux doctor\n  agentmux doctor --write\n  agentmux doctor --json\n  agentmux doctor '#42'",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runDoctor(cmd.Context(), a, args, f) },
	}
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "machine-readable output: a list of {name, state, detail, hint}")
	cmd.Flags().BoolVar(&f.write, "write", false, "also try what shows only by writing to the repository")
	return group(groupSetup, cmd)
}

func runDoctor(ctx context.Context, a *app, args []string, f doctorFlags) error {
	probes, err := runProbes(ctx, a, args, f)
	if err == nil {
		err = ctx.Err() // what an interrupted probe says is not so
	}
	if err != nil {
		return err
	}
	shown := a.Shown() // servers and programs said some of it
	for i := range probes {
		probes[i].Detail, probes[i].Hint = shown(probes[i].Detail), shown(probes[i].Hint)
	}
	if f.asJSON {
		err = a.PrintJSON(probes)
	} else {
		printProbes(a, probes)
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(probes, func(p probe) bool { return p.State == probeFailed }) {
		return exit.Quiet(exit.NeedsHuman)
	}
	return nil
}

func printProbes(a *app, probes []probe) {
	marks := map[string]console.Cell{
		probeOK: console.NewCell("ok", paint.Good), probeWarning: console.NewCell("warn", paint.Ask), probeFailed: console.NewCell("FAIL", paint.Bad), probeSkipped: console.NewCell("-", paint.Faint),
	}
	count, page := map[string]int{}, a.Page(a.Out)
	for _, p := range probes {
		count[p.State]++
		page.Finding(marks[p.State], p.Name, p.Detail)
		if p.Hint != "" {
			page.Finding(console.Cell{}, "", "-> "+p.Hint)
		}
	}
	failed := "nothing"
	if n := count[probeFailed]; n > 0 {
		failed = strconv.Itoa(n)
	}
	a.Print("\n%s failed, %s", failed, console.Counted(count[probeWarning], "warning", "warnings"))
}

func runProbes(ctx context.Context, a *app, args []string, f doctorFlags) ([]probe, error) {
	if len(args) == 1 {
		return probeSession(a, args)
	}
	project, err := a.projectDir()
	if err != nil {
		return nil, err
	}
	probes := probeMachine(ctx)
	if slices.ContainsFunc(probes, func(p probe) bool { return p.Name == "git" && p.State == probeFailed }) {
		probes = append(probes, skipped("clone", "git has to work first", ""))
	} else {
		probes = append(probes, probeClone(ctx, project))
	}
	c, problems := config.Check(a.sources(project))
	if problems.Err() != nil {
		lines := problems.Errors().Lines()
		return append(probes, probe{"config", probeFailed, strings.Join(lines, "\n"), "correct the file; agentmux config check looks again"}), nil
	}
	probes = append(probes, probeConfig(c, problems))
	probes = append(probes, probeBranches(ctx, project, c.GitHub.BranchPrefix)...)
	probes = append(probes, probeWorkflows(project), probeSandbox(c))
	probes = append(probes, probeProviders(ctx, c)...)
	probes = append(probes, probeGitHub(ctx, a, c, project, f.write)...)
	return append(probes, probeSessions(project)...), nil
}

func probeConfig(c *config.Config, problems document.Problems) probe {
	if len(problems) > 0 { // none of them is an error
		return probe{"config", probeWarning, strings.Join(problems.Lines(), "\n"), "agentmux config show names the values that hold"}
	}
	return passed("config", "%s", strings.Join(append(c.Source(), "defaults"), ", "))
}

func probeSession(a *app, args []string) ([]probe, error) {
	entry, err := a.find(args, nil)
	if err != nil {
		return nil, err
	}
	report := session.CheckDir(entry.Dir)
	backed := false
	if s, err := session.Open(entry.Dir); err == nil {
		_, err = s.ReadBackup()
		backed = err == nil
	}
	var probes []probe
	if len(report.Problems) == 0 {
		probes = append(probes, passed("session", "%s: its records lead to its state", entry.Name))
	}
	for i, problem := range report.Problems {
		hint := ""
		if backed && !report.Advised(i) {
			hint = "agentmux resume " + entry.Name + " --from-backup takes the state before the last phase"
		}
		probes = append(probes, probe{"session", probeFailed, problem, hint})
	}
	for _, note := range report.Notes {
		probes = append(probes, probe{"session", probeWarning, note, ""})
	}
	return probes, nil
}

func probeSessions(project string) []probe {
	entries, err := session.List(project)
	if err != nil {
		return []probe{{"sessions", probeFailed, err.Error(), "make " + session.Dir(project) + " readable for you"}}
	}
	probes := []probe{passed("sessions", "%d in %s", len(entries), session.Dir(project))}
	for _, e := range entries {
		if e.Err != nil {
			probes = append(probes, probe{"session", probeFailed, e.Name + ": " + e.Condition(), "agentmux doctor " + e.Name})
		}
	}
	return probes
}
