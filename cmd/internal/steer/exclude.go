package steer

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/orchestrator"
)

// CheckExcluded refuses paths that are not in the commit behind a session's gate: with a mistyped
// path the file that must not be committed would be. The host checks again when it reads the
// answer, because the commit may have changed by then.
func CheckExcluded(ctx context.Context, a *site.Finder, name string, exclude []string) error {
	entry, err := FindFor(ctx, a, "approve", slices.DeleteFunc([]string{name}, func(s string) bool { return s == "" }), site.Gated)
	if err != nil || entry.State == nil || entry.State.Gate == nil {
		return err // the command itself says what there is to answer
	}
	if entry.State.Gate.Name == orchestrator.GatePlan {
		return exit.Usage(fmt.Errorf("--exclude: %s asks about its plan, there is nothing to commit yet", entry.Name))
	}
	a.Project = site.ProjectOf(entry)
	s, err := a.Cleaner(ctx)
	if err == nil {
		err = a.AtBase(ctx, s, entry.State)
	}
	if err != nil {
		return err
	}
	changed, err := s.Host.Changed(ctx, entry.Dir, entry.State, s.Config)
	if err != nil {
		return err
	}
	for _, file := range exclude {
		if !slices.Contains(changed, file) {
			return exit.Usage(fmt.Errorf("--exclude: the commit holds no file %q; %s", file, strings.Map(console.Printable, meantPath(file, changed))))
		}
	}
	return nil
}

// meantPath names the changed path that a mistyped one most likely meant.
func meantPath(file string, changed []string) string {
	below := slices.DeleteFunc(slices.Clone(changed), func(p string) bool { return !strings.HasPrefix(p, path.Clean(file)+"/") })
	if len(below) > 0 {
		return "name each file of that directory: " + someOf(below)
	}
	for _, p := range changed {
		if path.Base(p) == path.Base(file) {
			return "did you mean " + p + "?"
		}
	}
	if near := document.Nearest(file, changed); near != "" {
		return "did you mean " + near + "?"
	}
	return "it holds " + someOf(changed)
}

// someOf lists the first paths.
func someOf(paths []string) string {
	const most = 5
	if len(paths) == 0 {
		return "nothing"
	}
	if len(paths) <= most {
		return strings.Join(paths, ", ")
	}
	return strings.Join(paths[:most], ", ") + fmt.Sprintf(" and %d more", len(paths)-most)
}
