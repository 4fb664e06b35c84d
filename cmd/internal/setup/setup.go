// Package setup makes a clone ready for runs: a small configuration, a .gitignore for sessions,
// the labels, and the person's answer to whether CLIs may skip every question on this machine.
// It keeps what exists already.
package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
)

// Options are those of init.
type Options struct {
	Force, Defaults, Actions bool
	Write, Check             bool   // with Actions
	Commit                   string // of this program; "" if it is not known
}

// Run looks, writes what is missing, and says what it did.
func Run(ctx context.Context, a *site.Finder, f Options) error {
	if f.Actions {
		return actions(ctx, a, f)
	}
	project, err := a.ProjectDir()
	if err != nil {
		return err
	}
	clone, err := clone.Inspect(ctx, project)
	if err != nil {
		return site.ExplainProject(err, project)
	}
	note(a, "clone", "%s", cloneText(clone))
	providers, problems := agent.Load(nil)
	if err := problems.Err(); err != nil {
		return err
	}
	found := installed(providers)
	note(a, "CLIs", "%s", foundText(providers, found))
	if err := writeConfig(a, project, found, f.Force); err != nil {
		return err
	}
	if err := ignoreSessions(a, project); err != nil {
		return err
	}
	c, err := a.Config(project)
	if err != nil {
		return err
	}
	tellLogins(a, c, providers, found)
	if err := askUnsafe(ctx, a, c, providers, found, f.Defaults); err != nil {
		return err
	}
	if clone.Origin != "" {
		if s, repo := makeLabel(ctx, a, project, clone, c); s != nil {
			offerBot(ctx, a, s, repo)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	note(a, "next", "%s", nextAfterInit(clone, found, c, providers))
	return nil
}

// note prints a line of what was found or done.
func note(a *site.Finder, name, format string, args ...any) {
	a.Print("%-8s %s", name, fmt.Sprintf(format, args...))
}

func cloneText(clone clone.Clone) string {
	text := clone.Root
	switch {
	case clone.Head == "":
		text += ", no commit yet"
	case clone.Branch != "":
		text += " on " + clone.Branch
	default:
		text += " at a detached HEAD"
	}
	if clone.Origin == "" {
		return text + ", no remote named origin: a run ends with a branch in this clone"
	}
	return text
}

func foundText(providers agent.Providers, found []string) string {
	if len(found) == 0 {
		return "none found in PATH; looked for " + strings.Join(commandNames(providers), ", ")
	}
	var list []string
	for _, name := range found {
		if providers[name].Proven {
			list = append(list, name)
		} else {
			list = append(list, name+" (unproven)")
		}
	}
	return strings.Join(list, ", ")
}

func nextAfterInit(clone clone.Clone, found []string, c *config.Config, providers agent.Providers) string {
	if p, known := providers[c.Defaults.Provider]; known && p.Command != "{self}" && !slices.Contains(found, p.Name) {
		if p.Install == "" {
			return "install " + p.Command + ", then agentmux doctor"
		}
		return p.Install + ", or set another provider in " + config.ProjectFiles()[0] + "; then agentmux doctor"
	}
	if clone.Head == "" {
		return "make a first commit, then agentmux doctor"
	}
	if clone.Origin == "" { // without a server there are no issues
		return "agentmux doctor, then agentmux run \"...\""
	}
	return "agentmux doctor, then agentmux issue N"
}

// installed lists the known CLIs that are in PATH, proven ones first.
func installed(providers agent.Providers) []string {
	var proven, others []string
	for _, name := range providers.Names() {
		p := providers[name]
		if p.Command == "{self}" {
			continue
		}
		if _, err := exec.LookPath(p.Command); err != nil {
			continue
		}
		if p.Proven {
			proven = append(proven, name)
		} else {
			others = append(others, name)
		}
	}
	return append(proven, others...)
}

func commandNames(providers agent.Providers) []string {
	var names []string
	for _, name := range providers.Names() {
		if c := providers[name].Command; c != "{self}" {
			names = append(names, c)
		}
	}
	return names
}

// writeConfig writes the project's configuration unless there is one. With force it is
// replaced, by a file of the same name.
func writeConfig(a *site.Finder, project string, found []string, force bool) error {
	dir := filepath.Join(project, ".agentmux")
	file := filepath.Join(project, config.ProjectFiles()[0])
	for i, name := range config.ProjectFiles() {
		old := filepath.Join(project, name)
		if _, err := os.Lstat(old); err != nil {
			continue
		}
		if !force || i > 0 {
			note(a, "kept", "%s%s", old, map[bool]string{true: " (--force replaces it)"}[i == 0])
			return nil
		}
		break
	}
	text, provider := firstConfig(a, project, found)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cannotWrite(dir, err)
	}
	// A link of the repository is replaced, because its target may be outside of the project.
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cannotWrite(file, err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return cannotWrite(file, err)
	}
	note(a, "wrote", "%s (provider %s)", file, provider)
	return nil
}

// firstConfig returns a configuration without the keys that the person's own sets already.
func firstConfig(a *site.Finder, project string, found []string) (text, provider string) {
	sources := a.Sources(project)
	sources.Project = nil
	own, problems := config.Load(sources)
	provider = "claude"
	if len(found) > 0 {
		provider = found[0]
	}
	defaults := fmt.Sprintf("defaults:\n  provider: %s   # the CLI that plays every role\n  # workflow: quick   # plan, code, one review; without it: feature\n", provider)
	if problems.Err() == nil && own.Layer("defaults.provider") != config.LayerBuiltIn {
		provider = own.Defaults.Provider + ", from your own configuration"
		defaults = "# defaults:\n#   provider: claude   # the CLI that plays every role, where it is not yours\n#   workflow: quick    # plan, code, one review; without it: feature\n"
	}
	return `# agentmux: see "agentmux config show" for every key and its value.
version: 2
` + defaults + `# roles:
#   reviewer_logic: {provider: codex}   # a review by another vendor's model
`, provider
}

func cannotWrite(path string, err error) error {
	return fmt.Errorf("%s cannot be written: %w; make it writable for you", path, exit.Bare(err))
}

// ignoreSessions keeps sessions out of commits; an existing file is left alone.
func ignoreSessions(a *site.Finder, project string) error {
	name := filepath.Join(project, ".agentmux", ".gitignore")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = f.WriteString(".sessions/\n.last_completion.json\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return cannotWrite(name, err)
	}
	note(a, "wrote", "%s", name)
	return nil
}

// tellLogins says how unattended runs log in, if that is still to be done.
func tellLogins(a *site.Finder, c *config.Config, providers agent.Providers, found []string) {
	p, ok := providers[c.Defaults.Provider]
	if !ok || !slices.Contains(found, p.Name) { // to be installed first
		return
	}
	if _, hint := doctor.LoginOf(p); hint != "" {
		note(a, "login", "%s uses your own login in sessions at a terminal; %s", p.Name, hint)
		note(a, "", "keep keys in the environment or in a file that only you can read, never in the repository")
	}
}

// askUnsafe asks a person, once, whether programs may skip every question on this machine.
func askUnsafe(ctx context.Context, a *site.Finder, c *config.Config, providers agent.Providers, found []string, defaults bool) error {
	var skips []string
	for _, name := range found {
		if providers[name].SkipsPermissions {
			skips = append(skips, name)
		}
	}
	if level, _ := a.Sandbox(nil); c.Sandbox.UnsafeFlags != nil || len(skips) == 0 || level != "none" {
		return nil
	}
	file := filepath.Join(site.ConfigHome(), "agentmux", "config.yaml")
	const key = "sandbox: {unsafe_flags: true}"
	if defaults || !a.Terminal {
		note(a, "sandbox", "none; unattended runs of %s are refused until %q is in %s", strings.Join(skips, ", "), key, file)
		return nil
	}
	allowed, err := a.Ask(ctx, fmt.Sprintf(`
%s can work unattended only by skipping every permission question. There is no
sandbox: such an agent can read and change whatever you can. Allow it on this machine,
in unattended runs? You can change the answer in %s.`, strings.Join(skips, ", "), file))
	if err != nil {
		return err
	}
	wrote, err := addSetting(file, fmt.Sprintf("sandbox: {unsafe_flags: %t}\n", allowed))
	switch {
	case err != nil:
		return err
	case !wrote:
		note(a, "sandbox", "set unsafe_flags: %t under sandbox in %s", allowed, file)
	default:
		note(a, "wrote", "%s (unsafe_flags: %t)", file, allowed)
	}
	return nil
}

// addSetting adds a line to the person's own configuration, which it creates if it does not
// exist. wrote is false if the line would have to go into an existing section: that is not
// changed.
func addSetting(file, line string) (wrote bool, err error) {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("%s cannot be read: %w", file, exit.Bare(err))
	}
	key, _, _ := strings.Cut(line, ":")
	for row := range strings.Lines(string(old)) {
		if strings.HasPrefix(row, key) || strings.HasPrefix(row, "{") || strings.HasPrefix(row, "---") || strings.HasPrefix(row, "...") {
			return false, nil
		}
	}
	switch {
	case len(old) == 0:
		line = "# Settings of this machine, for every project.\nversion: 2\n" + line
	case !bytes.HasSuffix(old, []byte("\n")):
		line = "\n" + line
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return false, cannotWrite(filepath.Dir(file), err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return false, cannotWrite(file, err)
	}
	_, err = f.WriteString(line)
	if err := errors.Join(err, f.Close()); err != nil {
		return false, cannotWrite(file, err)
	}
	return true, nil
}

// offerBot says how a bot is started that works on issues with the label, and what it lacks here.
func offerBot(ctx context.Context, a *site.Finder, s *site.Site, repo ghsync.Repo) {
	c := s.Config
	note(a, "bot", "agentmux bot works on each issue that gets the label %s, for as long as it runs; --systemd prints its unit", c.Bot.Label)
	note(a, "", "it takes .agentmux/config.yaml from the server: commit it and push; agentmux doctor --repo %s probes what it needs", repo)
	if s.Host.GitHub.Mode() == transport.ModeGH {
		note(a, "", "it would act as you, by the login of gh: AGENTMUX_GITHUB_TOKEN_FILE names a token of its own, github.app a GitHub App")
	}
	found, err := s.Host.GitHub.Repository(ctx, repo.Owner, repo.Name)
	if err == nil && !found.Private && s.Host.Unsandboxed(c) && !c.Gate.PublicUnsandboxed {
		note(a, "", "it refuses the issues of %s, which is public: agents run without a sandbox here; on a machine that is thrown away, or as a user", repo)
		note(a, "", "that has nothing else, gate: {public_unsandboxed: true} in %s allows them", filepath.Join(site.ConfigHome(), "agentmux", "config.yaml"))
	}
}

// makeLabel creates the labels and returns where they are, nil if the request label is not there. Without a
// token or the permission it says how to do it.
func makeLabel(ctx context.Context, a *site.Finder, project string, clone clone.Clone, c *config.Config) (*site.Site, ghsync.Repo) {
	name := c.Bot.Label
	id, err := a.Identity(c)
	var other *transport.OtherServerError
	if errors.As(err, &other) {
		note(a, "label", "not made: %v", err)
		return nil, ghsync.Repo{}
	}
	if at := site.OtherServer(clone.Origin, id.Bases.Server); at != "" {
		note(a, "label", "not made, origin is on %s, not on %s: set github.host if that is your GitHub server", at, id.Bases.Server)
		return nil, ghsync.Repo{}
	}
	if err != nil || id.Tokens == nil && !account.ActsAsApp(c) {
		_, hint := id.NoToken()
		note(a, "label", "not made, there is no GitHub token: %s", hint)
		return nil, ghsync.Repo{}
	}
	id.Pause = account.ProbePause
	defer a.Waiting("GitHub")()
	s := &site.Site{Project: project, Config: c, Identity: id}
	if err := a.Wire(ctx, s, io.Discard, true); err != nil {
		note(a, "label", "not made: %v", err)
		return nil, ghsync.Repo{}
	}
	p, err := s.OpenProject(ctx)
	if err != nil || !p.GitHub || s.Host.GitHub == nil {
		note(a, "label", "not made, origin is not on %s", id.Bases.Server)
		return nil, ghsync.Repo{}
	}
	made, err := s.Host.GitHub.EnsureLabel(ctx, p.Repo, request.Label(name))
	switch {
	case ctx.Err() != nil: // nothing is known
	case err != nil:
		detail, hint := account.Words(err, p.Repo.String(), id.From)
		if terminal := new(transport.Terminal); errors.As(err, &terminal) && terminal.Status == http.StatusForbidden || transport.IsNotFound(err) {
			hint = fmt.Sprintf("somebody who may write can type: gh label create %s --color %s --repo %s", name, request.LabelColor, p.Repo)
		}
		note(a, "label", "%s not made: %s", name, detail)
		note(a, "", "%s", hint)
	case made:
		note(a, "label", "%s made in %s", name, p.Repo)
	default:
		note(a, "label", "%s is there in %s", name, p.Repo)
	}
	if ctx.Err() != nil || err != nil {
		return nil, ghsync.Repo{}
	}
	if n, err := s.Host.GitHub.EnsureLabels(ctx, p.Repo, ghsync.StateLabels(name)); err == nil && n > 0 {
		note(a, "", "and %s that say where a session is", console.Counted(n, "label", "labels"))
	} // else GitHub makes them when they are first used
	return s, p.Repo
}
