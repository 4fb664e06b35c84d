package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Remove removes the file path, if it is there, with the temporary files that killed
// writers of it left beside it. Nobody may be writing it. It is not synced.
func Remove(path string) error {
	dir, name := filepath.Split(path)
	names := []string{name}
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix(name)) {
			names = append(names, e.Name())
		}
	}
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", path, err)
		}
	}
	return nil
}
