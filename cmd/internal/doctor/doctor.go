// Package doctor probes what a run needs, row by row: the machine, the clone, the
// configuration, the agents' CLIs, the GitHub server, the account and the repository. It only
// reads, except with write: then it makes the request label, and a ref that it deletes.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Probe is one row of doctor.
type Probe struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ok, warning, failed, skipped
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

const (
	OK      = "ok"
	Warning = "warning"
	Failed  = "failed"
	Skipped = "skipped"
)

func passed(name, format string, args ...any) Probe {
	return Probe{name, OK, fmt.Sprintf(format, args...), ""}
}

func skipped(name, detail, hint string) Probe { return Probe{name, Skipped, detail, hint} }

// Print writes the rows for a person.
func Print(a *console.Console, probes []Probe) {
	marks := map[string]console.Cell{
		OK: console.NewCell("ok", paint.Good), Warning: console.NewCell("warn", paint.Ask), Failed: console.NewCell("FAIL", paint.Bad), Skipped: console.NewCell("-", paint.Faint),
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
	if n := count[Failed]; n > 0 {
		failed = strconv.Itoa(n)
	}
	a.Print("\n%s failed, %s", failed, console.Counted(count[Warning], "warning", "warnings"))
}

// Run probes a session if args name one, else everything.
func Run(ctx context.Context, a *site.Finder, args []string, write bool) ([]Probe, error) {
	if len(args) == 1 {
		return probeSession(ctx, a, args)
	}
	project, err := a.ProjectDir()
	if err != nil {
		return nil, err
	}
	probes := probeMachine(ctx)
	if slices.ContainsFunc(probes, func(p Probe) bool { return p.Name == "git" && p.State == Failed }) {
		probes = append(probes, skipped("clone", "git has to work first", ""))
	} else {
		probes = append(probes, probeClone(ctx, project))
	}
	c, problems := config.Check(a.Sources(project))
	if problems.Err() != nil {
		lines := problems.Errors().Lines()
		return append(probes, Probe{"config", Failed, strings.Join(lines, "\n"), "correct the file; agentmux config check looks again"}), nil
	}
	probes = append(probes, probeConfig(c, problems))
	probes = append(probes, probeBranches(ctx, project, c.GitHub.BranchPrefix)...)
	probes = append(probes, probeWorkflows(project), probeSandbox(ctx, c))
	probes = append(probes, probeProviders(ctx, c)...)
	probes = append(probes, probeGitHub(ctx, a, c, project, write)...)
	return append(probes, probeSessions(project)...), nil
}

func probeConfig(c *config.Config, problems document.Problems) Probe {
	if len(problems) > 0 { // none of them is an error
		return Probe{"config", Warning, strings.Join(problems.Lines(), "\n"), "agentmux config show names the values that hold"}
	}
	return passed("config", "%s", strings.Join(append(c.Source(), "defaults"), ", "))
}

func probeSession(ctx context.Context, a *site.Finder, args []string) ([]Probe, error) {
	entry, err := a.Find(ctx, args, nil)
	if err != nil {
		return nil, err
	}
	report := session.CheckDir(entry.Dir)
	backed := false
	if s, err := session.Open(entry.Dir); err == nil {
		_, err = s.ReadBackup()
		backed = err == nil
	}
	var probes []Probe
	if len(report.Problems) == 0 {
		probes = append(probes, passed("session", "%s: its records lead to its state", entry.Name))
	}
	for i, problem := range report.Problems {
		hint := ""
		if backed && !report.Advised(i) {
			hint = "agentmux resume " + entry.Name + " --from-backup takes the state before the last phase"
		}
		probes = append(probes, Probe{"session", Failed, problem, hint})
	}
	for _, note := range report.Notes {
		probes = append(probes, Probe{"session", Warning, note, ""})
	}
	return probes, nil
}

func probeSessions(project string) []Probe {
	entries, err := session.List(project)
	if err != nil {
		return []Probe{{"sessions", Failed, err.Error(), "make " + session.Dir(project) + " readable for you"}}
	}
	probes := []Probe{passed("sessions", "%d in %s", len(entries), session.Dir(project))}
	for _, e := range entries {
		if e.Err != nil {
			probes = append(probes, Probe{"session", Failed, e.Name + ": " + e.Condition(), "agentmux doctor " + e.Name})
		}
	}
	return probes
}
