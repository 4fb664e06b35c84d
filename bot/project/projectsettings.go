package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/internal/agent/settings"
	"github.com/agentmux/agentmux/internal/crash"
)

// AsideDir is where ClearSettings moves files of a workspace, in a directory per launch.
func AsideDir(workspace string) string { return workspace + ".aside" }

// ClearSettings moves agents' settings out of a workspace before a launch, whether they are the
// repository's or an agent wrote them: no launch runs what they name. A snapshot takes them
// from the base. form is that of the launch's program, for the variables that it would read.
func ClearSettings(workspace, launch, form string) (moved []string, err error) {
	for _, path := range append(settings.ProjectPaths(), settings.Variables(form)...) {
		path, there, err := settingsAt(workspace, path)
		if err != nil {
			return moved, fmt.Errorf("look for agent settings: %w", err)
		}
		if !there {
			continue
		}
		if err := putAside(workspace, launch, path); err != nil {
			return moved, err
		}
		moved = append(moved, path)
	}
	return moved, nil
}

func putAside(workspace, launch, path string) error {
	to := filepath.Join(AsideDir(workspace), launch, path)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("put agent settings aside: %w", err)
	}
	if err := os.RemoveAll(to); err != nil { // of a try that failed after this line
		return fmt.Errorf("put agent settings aside: %w", err)
	}
	if err := os.Rename(filepath.Join(workspace, path), to); err != nil {
		return fmt.Errorf("put agent settings aside: %w", err)
	}
	crash.Point("put settings aside", path)
	return nil
}

// settingsAt reports whether path is in the workspace. A link on the way counts as what was
// found, because it may lead to a person's own settings.
func settingsAt(workspace, path string) (found string, there bool, err error) {
	for _, prefix := range prefixes(path) {
		info, err := os.Lstat(filepath.Join(workspace, prefix))
		if errors.Is(err, fs.ErrNotExist) {
			return path, false, nil
		}
		if err != nil {
			return path, false, err
		}
		if prefix == path || info.Mode().Type() == fs.ModeSymlink {
			return prefix, true, nil
		}
		if !info.IsDir() {
			return path, false, nil
		}
	}
	return path, false, nil
}

// prefixes returns a, a/b and a/b/c for a/b/c.
func prefixes(path string) []string {
	var out []string
	for i, c := range path {
		if c == '/' {
			out = append(out, path[:i])
		}
	}
	return append(out, path)
}

// ClearedSettings returns the paths that were moved out of a workspace and do not exist there now.
func ClearedSettings(workspace string) []string {
	launches, err := os.ReadDir(AsideDir(workspace))
	if err != nil {
		return nil
	}
	var cleared []string
	for _, path := range append(settings.ProjectPaths(), settings.VariablesFile) {
		for _, prefix := range prefixes(path) {
			if !there(filepath.Join(workspace, prefix)) && wasCleared(workspace, prefix, launches) {
				cleared = append(cleared, prefix)
			}
		}
	}
	return cleared
}

// wasCleared reports whether path itself was moved out before a launch, not only a path below it.
func wasCleared(workspace, path string, launches []os.DirEntry) bool {
	for _, launch := range launches {
		info, err := os.Lstat(filepath.Join(AsideDir(workspace), launch.Name(), path))
		if err == nil && (!info.IsDir() || isSetting(path) || path == settings.VariablesFile) {
			return true
		}
	}
	return false
}

func isSetting(path string) bool {
	for _, known := range settings.ProjectPaths() {
		if strings.TrimSuffix(path, "/") == known {
			return true
		}
	}
	return false
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
