package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/crash"
)

// AsideDir keeps what was taken out of a workspace, by the launch before which it was.
func AsideDir(workspace string) string { return workspace + ".aside" }

// ClearSettings takes the agents' settings of the repository out of a workspace before a
// launch, and those that an agent has written there: what they name runs in no launch. A
// snapshot has them from the base.
func ClearSettings(workspace, launch string) (moved []string, err error) {
	for _, path := range agent.ProjectSettings() {
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
	if err := os.RemoveAll(to); err != nil { // of a try that failed behind this line
		return fmt.Errorf("put agent settings aside: %w", err)
	}
	if err := os.Rename(filepath.Join(workspace, path), to); err != nil {
		return fmt.Errorf("put agent settings aside: %w", err)
	}
	crash.Point("put settings aside", path)
	return nil
}

// settingsAt reports whether path is in the workspace. A link on the way is what there is:
// behind it may lie a person's own settings.
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

// prefixes are a/b/c as a, a/b and a/b/c.
func prefixes(path string) []string {
	var out []string
	for i, c := range path {
		if c == '/' {
			out = append(out, path[:i])
		}
	}
	return append(out, path)
}

// ClearedSettings are the paths that were taken out of a workspace and are not there now.
func ClearedSettings(workspace string) []string {
	launches, err := os.ReadDir(AsideDir(workspace))
	if err != nil {
		return nil
	}
	var cleared []string
	for _, path := range agent.ProjectSettings() {
		for _, prefix := range prefixes(path) {
			if !there(filepath.Join(workspace, prefix)) && wasCleared(workspace, prefix, launches) {
				cleared = append(cleared, prefix)
			}
		}
	}
	return cleared
}

// wasCleared reports whether path itself was taken out before a launch, not something below.
func wasCleared(workspace, path string, launches []os.DirEntry) bool {
	for _, launch := range launches {
		info, err := os.Lstat(filepath.Join(AsideDir(workspace), launch.Name(), path))
		if err == nil && (!info.IsDir() || isSetting(path)) {
			return true
		}
	}
	return false
}

func isSetting(path string) bool {
	for _, known := range agent.ProjectSettings() {
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
