package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/spf13/cobra"
)

// labelColor is the color of the request label.
const labelColor = "5319e7"

// initFlags are those of init.
type initFlags struct {
	force, defaults, actions bool
}

func (a *app) initCommand() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Look at this clone and write a small configuration",
		Long: `Looks which coding-agent CLIs are installed, writes .agentmux/config.yaml where
there is none, makes the request label where the token may, and says what it did
and what comes next. What is there already is kept.

At a terminal it asks once whether CLIs that can only work unattended by skipping
every question may do so on this machine. The answer goes into your own
configuration, never into the repository.`,
		Example: "  agentmux init\n  agentmux init --defaults",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.init(cmd.Context(), f) },
	}
	cmd.Flags().BoolVar(&f.force, "force", false, "replace an existing .agentmux/config.yaml")
	cmd.Flags().BoolVar(&f.defaults, "defaults", false, "ask nothing")
	cmd.Flags().BoolVar(&f.actions, "actions", false, "print a workflow for GitHub Actions runners")
	_ = cmd.Flags().MarkHidden("actions") // says so far that there is none; the flag exists
	return group(groupSetup, cmd)
}

func (a *app) init(ctx context.Context, f initFlags) error {
	if f.actions {
		return usageText("there is no action for GitHub Actions yet; a job of your own can run agentmux issue N --headless")
	}
	project, err := a.projectDir()
	if err != nil {
		return err
	}
	clone, err := gitrepo.Inspect(ctx, project)
	if err != nil {
		return explainProject(err, project)
	}
	a.tell("clone", "%s", cloneText(clone))
	providers, problems := agent.Load(nil)
	if err := problems.Err(); err != nil {
		return err
	}
	found := installed(providers)
	a.tell("CLIs", "%s", foundText(providers, found))
	if err := a.writeConfig(project, found, f.force); err != nil {
		return err
	}
	if err := a.ignoreSessions(project); err != nil {
		return err
	}
	c, err := a.config(project)
	if err != nil {
		return err
	}
	a.tellLogins(c, providers, found)
	if err := a.askUnsafe(ctx, c, providers, found, f.defaults); err != nil {
		return err
	}
	if clone.Origin != "" {
		a.makeLabel(ctx, project, clone, c)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	a.tell("next", "%s", nextAfterInit(clone, found, c, providers))
	return nil
}

// tell prints a line of what was found or done.
func (a *app) tell(name, format string, args ...any) {
	a.print("%-8s %s", name, fmt.Sprintf(format, args...))
}

func cloneText(clone gitrepo.Clone) string {
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

func nextAfterInit(clone gitrepo.Clone, found []string, c *config.Config, providers agent.Providers) string {
	if p, known := providers[c.Defaults.Provider]; known && p.Command != "{self}" && !slices.Contains(found, p.Name) {
		if p.Install == "" {
			return "install " + p.Command + ", then agentmux doctor"
		}
		return p.Install + ", or set another provider in " + config.ProjectFiles()[0] + "; then agentmux doctor"
	}
	if clone.Head == "" {
		return "make a first commit, then agentmux doctor"
	}
	if clone.Origin == "" { // there is no issue to be had
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
func (a *app) writeConfig(project string, found []string, force bool) error {
	dir := filepath.Join(project, ".agentmux")
	file := filepath.Join(project, config.ProjectFiles()[0])
	for i, name := range config.ProjectFiles() {
		old := filepath.Join(project, name)
		if _, err := os.Lstat(old); err != nil {
			continue
		}
		if !force || i > 0 {
			a.tell("kept", "%s%s", old, map[bool]string{true: " (--force replaces it)"}[i == 0])
			return nil
		}
		break
	}
	text, provider := a.firstConfig(project, found)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cannotWrite(dir, err)
	}
	// A link that a repository brings along is replaced; what it leads to is not the project's.
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cannotWrite(file, err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return cannotWrite(file, err)
	}
	a.tell("wrote", "%s (provider %s)", file, provider)
	return nil
}

// firstConfig is a configuration with nothing that the person's own has decided already.
func (a *app) firstConfig(project string, found []string) (text, provider string) {
	sources := a.sources(project)
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
	return fmt.Errorf("%s cannot be written: %w; make it writable for you", path, bare(err))
}

// ignoreSessions keeps sessions out of commits; an existing file is left alone.
func (a *app) ignoreSessions(project string) error {
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
	a.tell("wrote", "%s", name)
	return nil
}

// tellLogins says how unattended runs log in, where that is still to be done.
func (a *app) tellLogins(c *config.Config, providers agent.Providers, found []string) {
	p, ok := providers[c.Defaults.Provider]
	if !ok || !slices.Contains(found, p.Name) { // to be installed first
		return
	}
	if _, hint := loginOf(p); hint != "" {
		a.tell("login", "%s uses your own login in sessions at a terminal; %s", p.Name, hint)
		a.tell("", "keep keys in the environment or in a file that only you can read, never in the repository")
	}
}

// askUnsafe asks a person, once, whether programs may skip every question on this machine.
func (a *app) askUnsafe(ctx context.Context, c *config.Config, providers agent.Providers, found []string, defaults bool) error {
	var skips []string
	for _, name := range found {
		if providers[name].SkipsPermissions {
			skips = append(skips, name)
		}
	}
	if c.Sandbox.UnsafeFlags != nil || len(skips) == 0 {
		return nil
	}
	file := filepath.Join(configHome(), "agentmux", "config.yaml")
	const key = "sandbox: {unsafe_flags: true}"
	if defaults || !a.terminal {
		a.tell("sandbox", "none; unattended runs of %s are refused until %q is in %s", strings.Join(skips, ", "), key, file)
		return nil
	}
	allowed, err := a.ask(ctx, fmt.Sprintf(`
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
		a.tell("sandbox", "set unsafe_flags: %t under sandbox in %s", allowed, file)
	default:
		a.tell("wrote", "%s (unsafe_flags: %t)", file, allowed)
	}
	return nil
}

// addSetting adds a line to the person's own configuration, which it makes if need be.
// What is there stays as it is; wrote is false if a section is there that would have to
// be changed.
func addSetting(file, line string) (wrote bool, err error) {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("%s cannot be read: %w", file, bare(err))
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

// otherServer names the server of an origin that is not on the GitHub server; "" for one that
// is, or on none.
func otherServer(origin, server string) string {
	at := project.OriginHost(origin)
	if u, err := url.Parse(server); err != nil || strings.EqualFold(at, u.Hostname()) {
		return ""
	}
	return at
}

// makeLabel creates the request label; without a token or the right it says how.
func (a *app) makeLabel(ctx context.Context, project string, clone gitrepo.Clone, c *config.Config) {
	name := c.Bot.Label
	id, err := a.identity(c)
	var other *transport.OtherServerError
	if errors.As(err, &other) {
		a.tell("label", "not made: %v", err)
		return
	}
	if at := otherServer(clone.Origin, id.bases.Server); at != "" {
		a.tell("label", "not made, origin is on %s, not on %s: set github.host if that is your GitHub server", at, id.bases.Server)
		return
	}
	if err != nil || id.tokens == nil && !actsAsApp(c) {
		_, hint := id.noToken()
		a.tell("label", "not made, there is no GitHub token: %s", hint)
		return
	}
	id.pause = probePause
	defer a.waiting("GitHub")()
	s := &site{project: project, config: c, identity: id}
	if err := a.wire(ctx, s, io.Discard, true); err != nil {
		a.tell("label", "not made: %v", err)
		return
	}
	p, err := s.host.Project(ctx, project, c)
	if err != nil || !p.GitHub || s.host.GitHub == nil {
		a.tell("label", "not made, origin is not on %s", id.bases.Server)
		return
	}
	made, err := s.host.GitHub.EnsureLabel(ctx, p.Repo, requestLabel(name))
	switch {
	case ctx.Err() != nil: // nothing is known
	case err != nil:
		detail, hint := githubWords(err, p.Repo.String(), id.from)
		if terminal := new(transport.Terminal); errors.As(err, &terminal) && terminal.Status == http.StatusForbidden || transport.IsNotFound(err) {
			hint = fmt.Sprintf("somebody who may write can type: gh label create %s --color %s --repo %s", name, labelColor, p.Repo)
		}
		a.tell("label", "%s not made: %s", name, detail)
		a.tell("", "%s", hint)
	case made:
		a.tell("label", "%s made in %s", name, p.Repo)
	default:
		a.tell("label", "%s is there in %s", name, p.Repo)
	}
	if ctx.Err() != nil || err != nil {
		return
	}
	if n, err := s.host.GitHub.EnsureLabels(ctx, p.Repo, ghsync.StateLabels(name)); err == nil && n > 0 {
		a.tell("", "and %s that say where a session is", counted(n, "label", "labels"))
	} // else GitHub makes them when they are first used
}

func requestLabel(name string) ghsync.Label {
	return ghsync.Label{Name: name, Color: labelColor, Description: "agentmux: work on this issue"}
}
