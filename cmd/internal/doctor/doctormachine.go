package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/cooldown"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/tmux"
	"github.com/agentmux/agentmux/workflows"
)

// Free space on the disk of the state home: workspaces are clones, and git needs space to pack.
const (
	roomEnough = 2 << 30
	roomLeast  = 200 << 20
)

// probeMachine looks at what is the same for every project.
func probeMachine(ctx context.Context) []Probe {
	probes := []Probe{probeGit(ctx), probeTmux(ctx), probeDir("state", site.StateHome()), probeDir("runtime", site.RuntimeDir()), probeDisk(site.StateHome())}
	if runtime.GOOS != "linux" {
		probes = append(probes, row("processes", Warning, "this system does not report the children of a child", "an agent's background processes are found by a mark in their environment only"))
	}
	return probes
}

// CheckPrograms fails unless the programs that every run needs are there. The error has all that is
// missing, a line each.
func CheckPrograms(ctx context.Context) error {
	if os.Getenv("HOME") == "" {
		return exit.UsageText("HOME is not set; agentmux keeps its state and finds your configuration there")
	}
	var missing []string
	for _, p := range []Probe{probeGit(ctx), probeTmux(ctx), probeDir("state", site.StateHome()), probeDir("runtime", site.RuntimeDir())} {
		if p.State == Failed {
			missing = append(missing, p.Detail+"; "+p.Hint)
		}
	}
	if len(missing) > 0 {
		return exit.UsageText(strings.Join(missing, "\n"))
	}
	return nil
}

func probeGit(ctx context.Context) Probe {
	install := site.InstallHint("git", site.OldestGit)
	version, err := gitrepo.Version(ctx)
	switch {
	case err != nil:
		return row("git", Failed, site.NotRun("git", err), install)
	case olderThan(version, site.OldestGit):
		return row("git", Failed, "git "+version+" is too old", install)
	}
	return passed("git", "%s", version)
}

// olderThan compares versions by their first two numbers.
func olderThan(version, oldest string) bool {
	var major, minor, wantMajor, wantMinor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return false // a build whose version is a name
	}
	_, _ = fmt.Sscanf(oldest, "%d.%d", &wantMajor, &wantMinor)
	return major < wantMajor || major == wantMajor && minor < wantMinor
}

func probeTmux(ctx context.Context) Probe {
	install := site.InstallHint("tmux", tmux.Oldest().String())
	server, err := tmux.New(tmux.Options{Socket: place.ProbeSocket(site.RuntimeDir())})
	if err != nil {
		return row("tmux", Failed, err.Error(), "set XDG_RUNTIME_DIR to a directory with a short name")
	}
	version, err := server.Version(ctx)
	switch {
	case errors.Is(err, tmux.ErrNoServer): // the question needs no server
		return row("tmux", Failed, "tmux -V ends with an error", install)
	case err != nil:
		return row("tmux", Failed, site.NotRun("tmux", err), install)
	case version.Before(tmux.Oldest()):
		return row("tmux", Failed, "tmux "+version.String()+" is too old", install)
	case len(version.Faults()) > 0:
		return row("tmux", Warning, version.String()+": "+strings.Join(version.Faults(), "; ")+" (worked around)", "3.4 or newer has fewer faults")
	}
	return passed("tmux", "%s", version)
}

func probeDir(name, dir string) Probe {
	if err := writable(dir); err != nil {
		return row(name, Failed, err.Error(), "make it writable for you, or set "+map[string]string{
			"state": "XDG_STATE_HOME", "runtime": "XDG_RUNTIME_DIR",
		}[name]+" to one that is")
	}
	if name == "runtime" {
		if err := shield.CheckPrivate(dir); err != nil {
			return row(name, Failed, err.Error(), "chmod 700 "+dir+" if it is yours, or set XDG_RUNTIME_DIR to a directory of your own")
		}
	}
	return passed(name, "%s", dir)
}

// writable creates the directory and writes a file in it. The file always has the same name, so
// that the next call removes what a killed process left.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the directory %s cannot be made: %w", dir, exit.Bare(err))
	}
	name := filepath.Join(dir, ".probe")
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("the directory %s cannot be written: %w", dir, exit.Bare(err))
	}
	err = os.Remove(name)
	if errors.Is(err, os.ErrNotExist) { // another process tried at the same time
		err = nil
	}
	return errors.Join(err, file.Close())
}

func probeDisk(dir string) Probe {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return skipped("disk", "the free space of "+dir+" is unknown: "+err.Error(), "")
	}
	free := uint64(stat.Bavail) * uint64(stat.Bsize) //nolint:unconvert // the types differ between systems
	detail := fmt.Sprintf("%.1f GiB free for %s", float64(free)/(1<<30), dir)
	const hint = "agentmux clean removes ended sessions and their workspaces"
	switch {
	case free < roomLeast:
		return row("disk", Failed, detail, hint)
	case free < roomEnough:
		return row("disk", Warning, detail, hint)
	}
	return passed("disk", "%s", detail)
}

func probeClone(ctx context.Context, project string, own ...string) Probe {
	clone, err := clone.Inspect(ctx, project, own...)
	switch {
	case err != nil:
		detail, hint := site.CloneWords(err, project)
		return row("clone", Failed, detail, hint)
	case clone.Head == "":
		return row("clone", Failed, project+" has no commit", "make one: git commit")
	case clone.Origin == "":
		return row("clone", Warning, project+" has no remote named origin", "without one a run ends with a branch in this clone: git remote add origin URL")
	}
	detail := clone.Root + " at a detached HEAD"
	if clone.Branch != "" {
		detail = clone.Root + " on " + clone.Branch
	}
	var left []string
	if clone.Changed > 0 {
		left = append(left, console.Counted(clone.Changed, "changed file", "changed files"))
	}
	if clone.Unpushed > 0 {
		left = append(left, console.Counted(clone.Unpushed, "unpushed commit", "unpushed commits"))
	}
	if len(left) > 0 {
		detail += "; not part of a run: " + strings.Join(left, ", ")
	}
	return passed("clone", "%s", detail)
}

// probeBranches looks for branches of the clone whose names keep those of sessions from being
// made. A run that pushes nothing leaves its work in the clone.
func probeBranches(ctx context.Context, project, prefix string) []Probe {
	found, err := clone.Obstacles(ctx, project, prefix)
	if err != nil {
		return nil // the row of the clone says so
	}
	var probes []Probe
	for _, o := range found {
		if o.Kind == clone.ExportLocked {
			probes = append(probes, row("clone", Failed, "branch "+o.Branch+" is locked by "+o.What, "remove that file if no git runs in the clone"))
			continue
		}
		probes = append(probes, row("clone", Failed, "a branch is named "+o.What+", so none can be named "+o.Branch,
			"git branch -m "+o.What+" NEW-NAME, or set github.branch_prefix"))
	}
	return probes
}

func probeWorkflows(project string) Probe {
	dir := site.Files(project)
	for _, name := range workflows.Names(dir) {
		if _, _, problems := workflows.Load(name, dir); problems.Err() != nil {
			return row("workflows", Failed, name+" is invalid\n"+strings.Join(problems.Errors().Lines(), "\n"), "agentmux workflows check "+name)
		}
	}
	if unused := workflows.Unused(dir); len(unused) > 0 {
		said, step := UnusedWords(unused[0])
		return row("workflows", Warning, said, step)
	}
	return passed("workflows", "%s", strings.Join(workflows.Names(dir), ", "))
}

// UnusedWords says what happens to a file with the name of a built-in workflow, and what its
// author can do.
func UnusedWords(file string) (said, step string) {
	name := strings.TrimSuffix(path.Base(file), ".yaml")
	return fmt.Sprintf("%s is never used: %s is built in, and that one runs", file, name),
		"rename the file and the name in it; agentmux workflows check " + name + " says what else it needs"
}

// memoryOfGit is open where git's own program has to speak with the server.
const memoryOfGit = "the memory of git while it fetches or pushes, which holds the token for a moment"

// openToAgents are the attacks that only a sandbox prevents, in the order of SECURITY.md.
var openToAgents = []string{
	"the environment of other processes of yours: keys of other agents, exported tokens",
	"the files you can read: token stores, ssh keys, keys of Apps, logins of the CLIs",
	"the files of the session, written by hand: a line without a launch, an answer to a gate",
	"the sockets of tmux: typing into panes, also into the monitor while you type there",
	"services of the machine that start a command: at, cron, systemd, rc files, authorized_keys",
	memoryOfGit,
	"the network: any host, name or metadata address; disk and processes without a limit",
	"workspaces and transcripts of other agents",
}

// levelNone is the level at which agents have what the person has, for as long as the machine exists.
const levelNone = "none"

// probeSandbox says plainly what is open without one.
func probeSandbox(ctx context.Context, c *config.Config) Probe {
	open := openToAgents
	if remote.Closed(ctx) {
		open = slices.DeleteFunc(slices.Clone(open), func(what string) bool { return what == memoryOfGit })
	}
	level, words := host.Sandbox(c, os.LookupEnv)
	detail := words + ". What only a sandbox or another user of the machine closes is open to them:\n- " + strings.Join(open, "\n- ")
	hint := "use trusted repositories and authors only"
	if c.Sandbox.UnsafeFlags == nil && level == levelNone {
		hint += "; CLIs that skip every question are refused unattended until sandbox.unsafe_flags is set in your own configuration"
	}
	return row("sandbox", Warning, detail, hint)
}

// probeProviders looks for the program of every role. The login that they are known by is the one of a run
// with access.
func probeProviders(ctx context.Context, c *config.Config, access agent.EnvSpec) []Probe {
	providers, err := host.Providers(c)
	if err != nil {
		return []Probe{row("providers", Failed, err.Error(), "agentmux config check")}
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
	var probes []Probe
	for _, name := range providers.Names() {
		if len(roles[name]) > 0 {
			probes = append(probes, coolingDown(providers[name], access, Provider(ctx, providers[name], rolesText(len(roles[name])), path)))
		}
	}
	return probes
}

// Provider probes the program of a provider, wanted for something.
func Provider(ctx context.Context, p agent.Provider, wanted, path string) Probe {
	if p.Command == "{self}" {
		return passed(p.Name, "built in, for %s", wanted)
	}
	if _, err := p.Program("", path); err != nil {
		return row(p.Name, Failed, fmt.Sprintf("%s is not in PATH, wanted for %s", p.Command, wanted),
			getProgram(p)+", or choose another with defaults.provider (agentmux providers list)")
	}
	found, err := p.Probe(ctx, path)
	if err != nil {
		return row(p.Name, Failed, err.Error(), "see that "+p.Command+" --version works")
	}
	detail := fmt.Sprintf("%s, %s, for %s", found.Path, console.Dash(found.Version), wanted)
	if n := len(found.Missing); n > 0 && n < len(p.Flags) {
		return row(p.Name, Failed, detail+"; it does not know "+strings.Join(found.Missing, ", "), p.Newer())
	}
	login, hint := LoginOf(p)
	detail += "; login: " + login
	switch {
	case hint != "":
		return row(p.Name, Warning, detail, hint)
	case !p.Proven:
		return row(p.Name, Warning, detail, "unproven: agentmux was not tested with this CLI")
	case !found.Known && len(p.Versions) > 0:
		return row(p.Name, Warning, detail, "tested with version "+strings.Join(p.Versions, ", "))
	}
	return passed(p.Name, "%s", detail)
}

// coolingDown adds to the row of a provider until when it refuses more to the login of a run. Nothing has to be done:
// sessions wait.
func coolingDown(provider agent.Provider, access agent.EnvSpec, p Probe) Probe {
	login := cooldown.Login{Provider: provider.Name, Account: provider.Account(access)}
	c, cools := cooldown.In(site.StateHome()).Of(login, time.Now())
	if !cools || p.State == Failed {
		return p
	}
	p.State, p.Detail = Warning, p.Detail+"; "+c.String()
	if p.Hint == "" {
		p.Hint = "sessions wait for it and continue by themselves"
	}
	return p
}

// unattended is where a run without a person finds its logins.
func unattended() agent.EnvSpec {
	return agent.EnvSpec{Home: site.StateHome(), Logins: filepath.Join(site.StateHome(), "logins"), Lookup: os.LookupEnv}
}

// attended is where a run with a person finds them: the person's own comes last.
func attended(c *config.Config) agent.EnvSpec {
	access := unattended()
	if c.Sandbox.Home != "private" {
		access.RealHome = site.Home()
	}
	return access
}

// getProgram says how to install a missing program.
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

// LoginOf says which login an unattended run of the program would use. The hint is empty
// if there is a login.
func LoginOf(p agent.Provider) (login, hint string) {
	kind, dir, err := p.Login(unattended())
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
