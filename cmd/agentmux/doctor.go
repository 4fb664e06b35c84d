package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/config"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/host"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
	"github.com/agentmux/agentmux/workflows"
	"github.com/spf13/cobra"
)

// probe is one row of doctor.
type probe struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ok, warning, failed
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

const (
	probeOK      = "ok"
	probeWarning = "warning"
	probeFailed  = "failed"
)

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "doctor [SESSION]",
		Short:   "Probe everything a run needs; each failure says how to fix it",
		Example: "  agentmux doctor\n  agentmux doctor --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			probes, err := a.probes(cmd.Context(), args)
			if err != nil {
				return err
			}
			if asJSON {
				if err := printJSON(a.out, probes); err != nil {
					return err
				}
			} else {
				a.printProbes(probes)
			}
			if slices.ContainsFunc(probes, func(p probe) bool { return p.State == probeFailed }) {
				return quiet(exitNeedsHuman)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "machine-readable output")
	return group(groupSetup, cmd)
}

func (a *app) printProbes(probes []probe) {
	marks := map[string]string{probeOK: "ok  ", probeWarning: "warn", probeFailed: "FAIL"}
	for _, p := range probes {
		a.print("%s  %-12s %s", marks[p.State], p.Name, p.Detail)
		if p.Hint != "" {
			a.print("      %-12s -> %s", "", p.Hint)
		}
	}
}

func (a *app) probes(ctx context.Context, args []string) ([]probe, error) {
	if len(args) == 1 {
		return a.probeSession(args)
	}
	project, err := a.projectDir()
	if err != nil {
		return nil, err
	}
	probes := []probe{probeGit(ctx), probeTmux(ctx), probeDir("state", stateHome()), probeDir("runtime", runtimeDir())}
	probes = append(probes, probeClone(ctx, project))
	c, problems := config.Load(a.sources(project))
	if problems.Err() != nil {
		return append(probes, probe{"config", probeFailed, problems.Errors().Lines()[0], "agentmux config check"}), nil
	}
	probes = append(probes, probe{"config", probeOK, strings.Join(append(c.Source(), "defaults"), ", "), ""})
	probes = append(probes, probeWorkflows(project), probeSandbox())
	probes = append(probes, probeProviders(c)...)
	probes = append(probes, a.probeGitHub(ctx, c, project)...)
	return append(probes, probeSessions(project)...), nil
}

func probeGit(ctx context.Context) probe {
	version, err := gitrepo.Version(ctx)
	if err != nil {
		return probe{"git", probeFailed, err.Error(), "install git 2.38 or newer"}
	}
	return probe{"git", probeOK, version, ""}
}

func probeTmux(ctx context.Context) probe {
	install := "install tmux " + tmux.Oldest().String() + " or newer (apt-get install tmux, brew install tmux)"
	server, err := tmux.New(tmux.Options{Socket: filepath.Join(runtimeDir(), "probe.sock")})
	if err != nil {
		return probe{"tmux", probeFailed, err.Error(), ""}
	}
	version, err := server.Version(ctx)
	switch {
	case err != nil:
		return probe{"tmux", probeFailed, err.Error(), install}
	case version.Before(tmux.Oldest()):
		return probe{"tmux", probeFailed, version.String(), install}
	case len(version.Faults()) > 0:
		return probe{"tmux", probeWarning, version.String() + ": " + strings.Join(version.Faults(), "; ") + " (worked around)", "3.4 or newer has fewer faults"}
	}
	return probe{"tmux", probeOK, version.String(), ""}
}

func probeDir(name, dir string) probe {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return probe{name, probeFailed, err.Error(), "make the directory writable for you"}
	}
	file, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return probe{name, probeFailed, err.Error(), "make the directory writable for you"}
	}
	_ = file.Close()
	_ = os.Remove(file.Name())
	return probe{name, probeOK, dir, ""}
}

func probeClone(ctx context.Context, project string) probe {
	clone, err := gitrepo.Inspect(ctx, project)
	switch {
	case err != nil:
		return probe{"clone", probeFailed, err.Error(), "run agentmux inside a git clone, or git init"}
	case clone.Head == "":
		return probe{"clone", probeFailed, project + " has no commit", "git commit something first"}
	case clone.Origin == "":
		return probe{"clone", probeWarning, project + " has no remote", "without origin a run ends with a local branch"}
	}
	detail := fmt.Sprintf("%s on %s", clone.Root, dash(clone.Branch))
	if clone.Changed+clone.Unpushed > 0 {
		detail += fmt.Sprintf("; %d changed files and %d unpushed commits are not part of a run", clone.Changed, clone.Unpushed)
	}
	return probe{"clone", probeOK, detail, ""}
}

func probeWorkflows(project string) probe {
	dir := os.DirFS(project)
	for _, name := range workflows.Names(dir) {
		if _, _, problems := workflows.Load(name, dir); problems.Err() != nil {
			return probe{"workflows", probeFailed, name + " is invalid", "agentmux workflows check " + name}
		}
	}
	return probe{"workflows", probeOK, strings.Join(workflows.Names(dir), ", "), ""}
}

// probeSandbox says plainly that there is none yet.
func probeSandbox() probe {
	return probe{"sandbox", probeWarning, "none: agents run as you and can read what you can read", "use trusted repositories and authors only"}
}

// probeProviders looks for the program of every role.
func probeProviders(c *config.Config) []probe {
	providers, problems := host.Providers(c)
	if problems != nil {
		return []probe{{"providers", probeFailed, problems.Error(), "agentmux config check"}}
	}
	roles := map[string][]string{}
	for _, role := range workflows.Roles() {
		name := c.Choose(role).Provider
		roles[name] = append(roles[name], role)
	}
	var probes []probe
	for _, name := range providers.Names() {
		if len(roles[name]) > 0 {
			probes = append(probes, probeProvider(providers[name], roles[name]))
		}
	}
	return probes
}

func probeProvider(p agent.Provider, roles []string) probe {
	what := fmt.Sprintf("%d roles", len(roles))
	if p.Command == "{self}" {
		return probe{p.Name, probeOK, "built in, for " + what, ""}
	}
	path, err := exec.LookPath(p.Command)
	if err != nil {
		return probe{p.Name, probeFailed, p.Command + " is not in PATH, wanted by " + what, "install it, or choose another with defaults.provider"}
	}
	if !p.Proven {
		return probe{p.Name, probeWarning, path + " (unproven), for " + what, "agentmux was not tested with it"}
	}
	return probe{p.Name, probeOK, path + ", for " + what, ""}
}

func (a *app) probeSession(args []string) ([]probe, error) {
	entry, err := a.find(args, nil)
	if err != nil {
		return nil, err
	}
	report := session.CheckDir(entry.Dir)
	if len(report.Problems) == 0 {
		return []probe{{"session", probeOK, entry.Name + ": replay equals state", ""}}, nil
	}
	var probes []probe
	for _, problem := range report.Problems {
		probes = append(probes, probe{"session", probeFailed, problem, "agentmux resume " + entry.Name + " --from-backup"})
	}
	return probes, nil
}

func probeSessions(project string) []probe {
	entries, err := session.List(project)
	if err != nil {
		return []probe{{"sessions", probeFailed, err.Error(), ""}}
	}
	probes := []probe{{"sessions", probeOK, fmt.Sprintf("%d in %s", len(entries), filepath.Join(project, ".agentmux")), ""}}
	for _, e := range entries {
		if e.Err != nil {
			probes = append(probes, probe{"session", probeFailed, e.Name + ": " + e.Condition(), "agentmux resume " + e.Name + " --from-backup"})
		}
	}
	return probes
}
