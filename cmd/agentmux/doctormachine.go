package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/tmux"
	"github.com/agentmux/agentmux/workflows"
)

// Room on the disk of the state home: workspaces are clones, and git needs space to pack.
const (
	roomEnough = 2 << 30
	roomLeast  = 200 << 20
)

// probeMachine looks at what is the same for every project.
func probeMachine(ctx context.Context) []probe {
	probes := []probe{probeGit(ctx), probeTmux(ctx), probeDir("state", stateHome()), probeDir("runtime", runtimeDir()), probeDisk(stateHome())}
	if runtime.GOOS != "linux" {
		probes = append(probes, probe{"processes", probeWarning, "this system tells nobody of the children of a child", "an agent's background processes are found by a mark in their environment only"})
	}
	return probes
}

func probeGit(ctx context.Context) probe {
	install := installHint("git", oldestGit)
	version, err := gitrepo.Version(ctx)
	switch {
	case err != nil:
		return probe{"git", probeFailed, notRun("git", err), install}
	case olderThan(version, oldestGit):
		return probe{"git", probeFailed, "git " + version + " is too old", install}
	}
	return passed("git", "%s", version)
}

// oldestGit merges trees without a work tree.
const oldestGit = "2.38"

// olderThan compares versions by their first two numbers.
func olderThan(version, oldest string) bool {
	var major, minor, wantMajor, wantMinor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return false // a build with a name of its own
	}
	_, _ = fmt.Sscanf(oldest, "%d.%d", &wantMajor, &wantMinor)
	return major < wantMajor || major == wantMajor && minor < wantMinor
}

func probeTmux(ctx context.Context) probe {
	install := installHint("tmux", tmux.Oldest().String())
	server, err := tmux.New(tmux.Options{Socket: place.ProbeSocket(runtimeDir())})
	if err != nil {
		return probe{"tmux", probeFailed, err.Error(), "set XDG_RUNTIME_DIR to a directory with a short name"}
	}
	version, err := server.Version(ctx)
	switch {
	case errors.Is(err, tmux.ErrNoServer): // which that question needs none of
		return probe{"tmux", probeFailed, "tmux -V ends with an error", install}
	case err != nil:
		return probe{"tmux", probeFailed, notRun("tmux", err), install}
	case version.Before(tmux.Oldest()):
		return probe{"tmux", probeFailed, "tmux " + version.String() + " is too old", install}
	case len(version.Faults()) > 0:
		return probe{"tmux", probeWarning, version.String() + ": " + strings.Join(version.Faults(), "; ") + " (worked around)", "3.4 or newer has fewer faults"}
	}
	return passed("tmux", "%s", version)
}

// installHint is what to type where the package manager is known.
func installHint(name, oldest string) string {
	line := "apt-get install " + name + ", or your system's way"
	if runtime.GOOS == "darwin" {
		line = "brew install " + name
	}
	return "install " + name + " " + oldest + " or newer: " + line
}

func probeDir(name, dir string) probe {
	if err := writable(dir); err != nil {
		return probe{name, probeFailed, err.Error(), "make it writable for you, or set " + map[string]string{
			"state": "XDG_STATE_HOME", "runtime": "XDG_RUNTIME_DIR",
		}[name] + " to one that is"}
	}
	if name == "runtime" {
		if err := shield.CheckPrivate(dir); err != nil {
			return probe{name, probeFailed, err.Error(), "chmod 700 " + dir + " if it is yours, or set XDG_RUNTIME_DIR to a directory of your own"}
		}
	}
	return passed(name, "%s", dir)
}

// writable makes the directory and tries a file in it. The file has one name: what a killed
// process left of it goes with the next try.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the directory %s cannot be made: %w", dir, bare(err))
	}
	name := filepath.Join(dir, ".probe")
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("the directory %s cannot be written: %w", dir, bare(err))
	}
	err = os.Remove(name)
	if errors.Is(err, os.ErrNotExist) { // another process tried at the same time
		err = nil
	}
	return errors.Join(err, file.Close())
}

// bare takes the operation and the path off an error of a file.
func bare(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func probeDisk(dir string) probe {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return skipped("disk", "the free space of "+dir+" is unknown: "+err.Error(), "")
	}
	free := uint64(stat.Bavail) * uint64(stat.Bsize) //nolint:unconvert // the types differ between systems
	detail := fmt.Sprintf("%.1f GiB free for %s", float64(free)/(1<<30), dir)
	const hint = "agentmux clean removes ended sessions and their workspaces"
	switch {
	case free < roomLeast:
		return probe{"disk", probeFailed, detail, hint}
	case free < roomEnough:
		return probe{"disk", probeWarning, detail, hint}
	}
	return passed("disk", "%s", detail)
}

// cloneWords says what stands in the place of a clone, and what a person can do about it.
func cloneWords(err error, dir string) (detail, hint string) {
	var temp *gitrepo.TempError
	switch {
	case errors.As(err, &temp):
		return temp.Error(), "df " + temp.Dir + " says how much room is left"
	case errors.Is(err, gitrepo.ErrBare):
		return dir + " is a bare repository", "agentmux works in a clone of it: git clone " + dir
	case errors.Is(err, gitrepo.ErrNotClone):
		return dir + " is no git clone", "go into one, or make one with git init"
	case errors.Is(err, gitrepo.ErrForeign):
		return dir + " belongs to another user", "work in a clone of your own, or make this one yours with chown -R"
	case notFound(err):
		return notRun("git", err), installHint("git", oldestGit)
	}
	return dir + ": " + strings.TrimPrefix(err.Error(), "inspect "+dir+": "), "git status says more"
}

func probeClone(ctx context.Context, project string) probe {
	clone, err := gitrepo.Inspect(ctx, project)
	switch {
	case err != nil:
		detail, hint := cloneWords(err, project)
		return probe{"clone", probeFailed, detail, hint}
	case clone.Head == "":
		return probe{"clone", probeFailed, project + " has no commit", "make one: git commit"}
	case clone.Origin == "":
		return probe{"clone", probeWarning, project + " has no remote named origin", "without one a run ends with a branch in this clone: git remote add origin URL"}
	}
	detail := clone.Root + " at a detached HEAD"
	if clone.Branch != "" {
		detail = clone.Root + " on " + clone.Branch
	}
	var left []string
	if clone.Changed > 0 {
		left = append(left, counted(clone.Changed, "changed file", "changed files"))
	}
	if clone.Unpushed > 0 {
		left = append(left, counted(clone.Unpushed, "unpushed commit", "unpushed commits"))
	}
	if len(left) > 0 {
		detail += "; not part of a run: " + strings.Join(left, ", ")
	}
	return passed("clone", "%s", detail)
}

// probeBranches looks for what keeps our branches from being made in the clone, where a run
// that pushes nothing leaves its work.
func probeBranches(ctx context.Context, project, prefix string) []probe {
	found, err := gitrepo.Obstacles(ctx, project, prefix)
	if err != nil {
		return nil // the row of the clone tells
	}
	var probes []probe
	for _, o := range found {
		if o.Kind == gitrepo.ExportLocked {
			probes = append(probes, probe{"clone", probeFailed, "branch " + o.Branch + " is locked by " + o.What, "remove that file if no git runs in the clone"})
			continue
		}
		probes = append(probes, probe{"clone", probeFailed, "a branch is named " + o.What + ", so none can be named " + o.Branch,
			"git branch -m " + o.What + " NEW-NAME, or set github.branch_prefix"})
	}
	return probes
}

func probeWorkflows(project string) probe {
	dir := os.DirFS(project)
	for _, name := range workflows.Names(dir) {
		if _, _, problems := workflows.Load(name, dir); problems.Err() != nil {
			return probe{"workflows", probeFailed, name + " is invalid\n" + strings.Join(problems.Errors().Lines(), "\n"), "agentmux workflows check " + name}
		}
	}
	if unused := workflows.Unused(dir); len(unused) > 0 {
		said, step := unusedWords(unused[0])
		return probe{"workflows", probeWarning, said, step}
	}
	return passed("workflows", "%s", strings.Join(workflows.Names(dir), ", "))
}

// openToAgents are the attacks that nothing closes without a sandbox, in the order in which
// SECURITY.md tells of them.
var openToAgents = []string{
	"the environment of other processes of yours: keys of other agents, exported tokens",
	"the files you can read: token stores, ssh keys, keys of Apps, logins of the CLIs",
	"the files of the session, written by hand: a line without a launch, an answer to a gate",
	"the sockets of tmux: typing into panes, also into the monitor while you type there",
	"services of the machine that start a command: at, cron, systemd, rc files, authorized_keys",
	"the memory of git while it fetches or pushes, which holds the token for a moment",
	"the network: any host, name or metadata address; disk and processes without a limit",
	"workspaces and transcripts of other agents",
}

// probeSandbox says plainly what is open without one.
func probeSandbox(c *config.Config) probe {
	detail := "none. Agents run as you; what only a sandbox or another user of the machine closes is open to them:\n- " +
		strings.Join(openToAgents, "\n- ")
	hint := "use trusted repositories and authors only"
	if c.Sandbox.UnsafeFlags == nil {
		hint += "; CLIs that skip every question are refused unattended until sandbox.unsafe_flags is set in your own configuration"
	}
	return probe{"sandbox", probeWarning, detail, hint}
}

// probeProviders looks for the program of every role.
func probeProviders(ctx context.Context, c *config.Config) []probe {
	providers, err := host.Providers(c)
	if err != nil {
		return []probe{{"providers", probeFailed, err.Error(), "agentmux config check"}}
	}
	roles := map[string][]string{}
	for _, role := range workflows.Roles() {
		name := c.Choose(role).Provider
		roles[name] = append(roles[name], role)
	}
	path := os.Getenv("PATH")
	if c.Sandbox.Path != "" {
		path = c.Sandbox.Path
	}
	var probes []probe
	for _, name := range providers.Names() {
		if len(roles[name]) > 0 {
			probes = append(probes, probeProvider(ctx, providers[name], len(roles[name]), path))
		}
	}
	return probes
}

func probeProvider(ctx context.Context, p agent.Provider, roles int, path string) probe {
	if p.Command == "{self}" {
		return passed(p.Name, "built in, for %s", rolesText(roles))
	}
	if _, err := p.Program("", path); err != nil {
		return probe{p.Name, probeFailed, fmt.Sprintf("%s is not in PATH, wanted for %s", p.Command, rolesText(roles)),
			getProgram(p) + ", or choose another with defaults.provider (agentmux providers list)"}
	}
	found, err := p.Probe(ctx, path)
	if err != nil {
		return probe{p.Name, probeFailed, err.Error(), "see that " + p.Command + " --version works"}
	}
	detail := fmt.Sprintf("%s, %s, for %s", found.Path, dash(found.Version), rolesText(roles))
	if len(found.Missing) > 0 {
		return probe{p.Name, probeFailed, detail + "; it does not know " + strings.Join(found.Missing, ", "), "install version " + strings.Join(p.Versions, " or ")}
	}
	login, hint := loginOf(p)
	detail += "; login: " + login
	switch {
	case hint != "":
		return probe{p.Name, probeWarning, detail, hint}
	case !p.Proven:
		return probe{p.Name, probeWarning, detail, "unproven: agentmux was not tested with this CLI"}
	case !found.Known && len(p.Versions) > 0:
		return probe{p.Name, probeWarning, detail, "tested with version " + strings.Join(p.Versions, ", ")}
	}
	return passed(p.Name, "%s", detail)
}

// getProgram is what to do about a program that is not there.
func getProgram(p agent.Provider) string {
	if p.Install == "" {
		return "install it"
	}
	return "install it (" + p.Install + ")"
}

func rolesText(n int) string {
	if n == 1 {
		return "1 role"
	}
	return fmt.Sprintf("%d roles", n)
}

// loginOf says which login an unattended run of the program would have. The hint is empty
// if there is one.
func loginOf(p agent.Provider) (login, hint string) {
	kind, dir, err := p.Login(agent.EnvSpec{Home: stateHome(), Logins: filepath.Join(stateHome(), "logins"), Lookup: os.LookupEnv})
	switch {
	case err != nil:
		return "yours, in sessions at a terminal only", "for unattended runs " + strings.TrimPrefix(err.Error(), p.Name+": "+agent.ErrNoLogin.Error()+": ")
	case kind == agent.LoginToken:
		return "a key in a variable", ""
	case kind == agent.LoginOwn:
		return "made for agentmux, in " + dir, ""
	}
	return "none needed", ""
}
