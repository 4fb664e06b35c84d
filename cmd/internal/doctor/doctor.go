// Package doctor probes what a run needs, row by row: the machine, the clone, the
// configuration, the agents' CLIs, the GitHub server, the account and the repository; for a bot, each
// repository that it serves; for a job of Actions, its event, its runner and its token. It only reads,
// except with write: then it makes the labels, and a ref that it deletes.
package doctor

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
	// Repository is the one that a row for a bot is about; empty for all others.
	Repository string `json:"repository,omitempty"`
}

const (
	OK      = "ok"
	Warning = "warning"
	Failed  = "failed"
	Skipped = "skipped"
)

func passed(name, format string, args ...any) Probe {
	return Probe{Name: name, State: OK, Detail: fmt.Sprintf(format, args...)}
}

func skipped(name, detail, hint string) Probe { return row(name, Skipped, detail, hint) }

func row(name, state, detail, hint string) Probe {
	return Probe{Name: name, State: state, Detail: detail, Hint: hint}
}

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

// Options say what is probed. The zero Options are the clone that the person is in, or outside of
// one what the configuration has the bot serve.
type Options struct {
	Session     []string // a session's name instead
	Repos, Orgs []string // what a bot serves instead
	Write       bool     // also try what shows only by writing
	Job         *Job     // what a job of Actions needs instead
}

// Run probes what the options say.
func Run(ctx context.Context, a *site.Finder, o Options) ([]Probe, error) {
	forBot := len(o.Repos)+len(o.Orgs) > 0
	switch {
	case o.Job != nil && (forBot || len(o.Session) > 0):
		return nil, exit.UsageText("--actions probes the job it is in, or the clone: leave --repo, --org and the session out")
	case o.Job != nil:
		return probeJob(ctx, a, o)
	case forBot && len(o.Session) > 0:
		return nil, exit.UsageText("--repo and --org probe what a bot serves, not a session: leave one of them out")
	case forBot:
		return probeBot(ctx, a, o)
	case len(o.Session) > 0:
		return probeSession(ctx, a, o.Session)
	}
	project, err := a.ProjectDir()
	if err != nil {
		return nil, err
	}
	if o.Repos, o.Orgs = served(ctx, a, project); len(o.Repos)+len(o.Orgs) > 0 {
		return probeBot(ctx, a, o)
	}
	return probeProject(ctx, a, project, o.Write)
}

// probeProject probes everything about a clone.
func probeProject(ctx context.Context, a *site.Finder, project string, write bool) ([]Probe, error) {
	probes := probeMachine(ctx)
	c, problems := config.Check(a.Sources(project))
	if slices.ContainsFunc(probes, func(p Probe) bool { return p.Name == "git" && p.State == Failed }) {
		probes = append(probes, skipped("clone", "git has to work first", ""))
	} else {
		var own []string
		if problems.Err() == nil {
			own = append(own, c.Agents.File)
		}
		probes = append(probes, probeClone(ctx, project, own...))
	}
	if problems.Err() != nil {
		lines := problems.Errors().Lines()
		return append(probes, row("config", Failed, strings.Join(lines, "\n"), "correct the file; agentmux config check looks again")), nil
	}
	probes = append(probes, probeConfig(c, problems))
	probes = append(probes, probeBranches(ctx, project, c.GitHub.BranchPrefix)...)
	probes = append(probes, probeWorkflows(project), probeSandbox(ctx, c), probeFiles(c))
	probes = append(probes, probeProviders(ctx, c, attended(c))...)
	probes = append(probes, probeGitHub(ctx, a, c, project, write)...)
	return append(probes, probeSessions(project)...), nil
}

func probeConfig(c *config.Config, problems document.Problems) Probe {
	if len(problems) > 0 { // none of them is an error
		return row("config", Warning, strings.Join(problems.Lines(), "\n"), "agentmux config show names the values that hold")
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
		probes = append(probes, row("session", Failed, problem, hint))
	}
	for _, note := range report.Notes {
		probes = append(probes, row("session", Warning, note, ""))
	}
	return probes, nil
}

func probeSessions(project string) []Probe {
	entries, err := session.List(project)
	if err != nil {
		return []Probe{row("sessions", Failed, err.Error(), "make "+session.Dir(project)+" readable for you")}
	}
	probes := []Probe{passed("sessions", "%d in %s", len(entries), session.Dir(project))}
	for _, e := range entries {
		if e.Err != nil {
			probes = append(probes, row("session", Failed, e.Name+": "+e.Condition(), "agentmux doctor "+e.Name))
		}
	}
	return probes
}
