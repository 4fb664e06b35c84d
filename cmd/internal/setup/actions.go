package setup

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
)

//go:embed actions.yml
var actionsTemplate string

// actionsFile is where the workflow of a repository lies.
const actionsFile = ".github/workflows/agentmux.yml"

var commitHash = regexp.MustCompile(`^[0-9a-f]{40}$`)

// pinned is the commit of an action, behind its name.
var pinned = regexp.MustCompile(`@[0-9a-f]{40}\b`)

// actions prints the workflow for runners, writes it where there is none, or says what differs.
func actions(ctx context.Context, a *site.Finder, f Options) error {
	c, err := a.MachineConfig()
	if err != nil {
		return err
	}
	commit := f.Commit
	if !commitHash.MatchString(commit) {
		commit = doctor.UnknownCommit
	}
	text := strings.NewReplacer("@LABEL@", c.Bot.Label, "@COMMIT@", commit).Replace(actionsTemplate)
	if !f.Write && !f.Check {
		_, err := a.Raw.Write([]byte(text))
		return err
	}
	project, err := a.ProjectDir()
	if err != nil {
		return err
	}
	if _, err := clone.Inspect(ctx, project); err != nil { // GitHub would not see it there
		return site.ExplainProject(err, project)
	}
	path := filepath.Join(project, filepath.FromSlash(actionsFile))
	there, err := fs.ReadFile(site.Files(project), actionsFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.Write:
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := durable.Create(path, []byte(text)); err != nil {
			return err
		}
		note(a, "wrote", "%s", actionsFile)
		next := "commit and push it, then agentmux doctor --actions"
		if commit == doctor.UnknownCommit {
			next = "put the commit of agentmux that you have read into its lines uses:, " + next
		}
		note(a, "next", "%s", next)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return exit.UsageText(actionsFile + " is not there; agentmux init --actions --write writes it")
	case err != nil:
		return err
	case commit == doctor.UnknownCommit: // the one that a person has put there is as good as any
		there = pinned.ReplaceAll(there, []byte("@"+commit))
	}
	switch {
	case bytes.Equal(there, []byte(text)):
		note(a, "same", "%s", actionsFile)
		return nil
	case f.Write:
		return exit.UsageText(actionsFile + " was changed and is left as it is; agentmux init --actions --check says what differs")
	}
	for _, line := range differences(string(there), text) {
		a.Print("%s", line)
	}
	return exit.Quiet(exit.Failed)
}

// differences are the lines that only one of two texts has: - the first's, + the second's.
func differences(is, want string) (lines []string) {
	count := map[string]int{}
	for line := range strings.Lines(want) {
		count[line]++
	}
	for line := range strings.Lines(is) {
		if count[line]--; count[line] < 0 {
			lines = append(lines, "- "+strings.TrimRight(line, "\n"))
		}
	}
	for line := range strings.Lines(want) {
		if count[line] > 0 {
			count[line]--
			lines = append(lines, "+ "+strings.TrimRight(line, "\n"))
		}
	}
	return lines
}
