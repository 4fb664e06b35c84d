package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/spf13/cobra"
)

// labelColor is the color of the request label.
const labelColor = "5319e7"

func (a *app) initCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Look at this clone and write a small configuration",
		Long: `Looks which coding-agent CLIs are installed, writes .agentmux/config.yaml where
there is none, makes the request label where the token may, and says what it did.`,
		Example: "  agentmux init",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.init(cmd.Context(), force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing .agentmux/config.yaml")
	cmd.Flags().Bool("defaults", false, "ask nothing (it never does yet)")
	return group(groupSetup, cmd)
}

func (a *app) init(ctx context.Context, force bool) error {
	project, err := a.projectDir()
	if err != nil {
		return err
	}
	providers, problems := agent.Load(nil)
	if err := problems.Err(); err != nil {
		return err
	}
	found := installed(providers)
	if len(found) == 0 {
		a.print("no coding-agent CLI found in PATH; looked for %s", strings.Join(commandNames(providers), ", "))
	} else {
		a.print("found: %s", strings.Join(found, ", "))
	}
	if err := a.writeConfig(project, found, force); err != nil {
		return err
	}
	if err := ignoreSessions(project); err != nil {
		return err
	}
	a.makeLabel(ctx, project)
	a.print("next: agentmux doctor, then agentmux issue N")
	return nil
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

func (a *app) writeConfig(project string, found []string, force bool) error {
	file := filepath.Join(project, ".agentmux", "config.yaml")
	if _, err := os.Stat(file); err == nil && !force {
		a.print("kept: %s (--force replaces it)", file)
		return nil
	}
	provider := "claude"
	if len(found) > 0 {
		provider = found[0]
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, `# agentmux: see "agentmux config show" for every key and its value.
version: 2
defaults:
  provider: %s   # the CLI that plays every role
  workflow: feature   # or quick: plan, implement, one review
# roles:
#   reviewer_logic: {provider: codex}   # a review by another vendor's model
`, provider)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		return err
	}
	a.print("wrote: %s (provider %s)", file, provider)
	return nil
}

// ignoreSessions keeps sessions out of commits; an existing file is left alone.
func ignoreSessions(project string) error {
	f, err := os.OpenFile(filepath.Join(project, ".agentmux", ".gitignore"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if os.IsExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(".sessions/\n.last_completion.json\n")
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// makeLabel creates the request label; without a token or the right it says how.
func (a *app) makeLabel(ctx context.Context, project string) {
	c, err := a.config(project)
	if err != nil {
		a.say("label: not made: %v", err)
		return
	}
	id, err := a.identity(c)
	if err != nil || id.tokens == nil {
		a.print("label: not made, there is no GitHub token; agentmux doctor says more")
		return
	}
	s := &site{project: project, config: c, identity: id}
	if err := a.wire(s, io.Discard, true); err != nil {
		a.say("label: not made: %v", err)
		return
	}
	p, err := s.host.Project(ctx, project, c)
	if err != nil || !p.GitHub {
		a.print("label: not made, origin is not on the configured GitHub server")
		return
	}
	made, err := s.host.GitHub.EnsureLabel(ctx, p.Repo, requestLabel(c.Bot.Label))
	switch {
	case err != nil:
		a.print("label: not made (%v); gh label create %s --color %s makes it", err, c.Bot.Label, labelColor)
	case made:
		a.print("made: label %s in %s", c.Bot.Label, p.Repo)
	}
}

func requestLabel(name string) ghsync.Label {
	return ghsync.Label{Name: name, Color: labelColor, Description: "agentmux: work on this issue"}
}
