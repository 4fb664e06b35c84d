package agent

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/durable"
)

// private reports whether the program gets a home of ours: nothing is written to a person's.
func (s LaunchSpec) private() bool { return s.Env.RealHome == "" }

// writeHome writes files below the private home, for programs that read their settings
// nowhere else. The agent that had the home before may have left anything there: a link
// in the way is taken away, not followed.
func (s LaunchSpec) writeHome(files map[string]any) error {
	if !s.private() {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data, err := encode(files[name])
		if err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		dir := s.Env.Home
		for part := range strings.SplitSeq(filepath.Dir(name), "/") {
			dir = filepath.Join(dir, part)
			if err := realDir(dir); err != nil {
				return fmt.Errorf("write %s: %w", name, err)
			}
		}
		if err := durable.Replace(filepath.Join(s.Env.Home, name), data); err != nil {
			return err
		}
	}
	return nil
}

// realDir makes dir be a directory.
func realDir(dir string) error {
	info, err := os.Lstat(dir)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		if err := os.Remove(dir); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	return nil
}
