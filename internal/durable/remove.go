package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Remove removes the file path, if it is there, with the temporary files that killed
// writers of it left beside it. No process may be writing it. It is not synced.
func Remove(path string) error {
	dir, name := filepath.Split(path)
	names := []string{name}
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil && !absent(err) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix(name)) {
			names = append(names, e.Name())
		}
	}
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !absent(err) {
			return fmt.Errorf("remove %s: %w", path, err)
		}
	}
	return nil
}

// absent reports that there is no such file, also where its directory is something else now.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
