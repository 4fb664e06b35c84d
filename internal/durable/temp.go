package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"time"
)

// tempForm is what tempName makes.
var tempForm = regexp.MustCompile(`^\..+\.tmp-[a-z2-7]{13}$`)

// RemoveTemps removes the temporary files below dir that writers killed before the given
// time have left, and returns how many. Links are not followed. An absent dir has none.
func RemoveTemps(dir string, before time.Time) (int, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("remove temporary files: %w", err)
	}
	defer root.Close()
	n := 0
	var errs []error
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !tempForm.MatchString(d.Name()) {
			return nil // what cannot be read was not written here
		}
		info, err := d.Info()
		if err != nil || !info.ModTime().Before(before) {
			return nil
		}
		if err := root.Remove(path); err != nil {
			errs = append(errs, err)
			return nil
		}
		n++
		return nil
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return n, fmt.Errorf("remove temporary files: %w", err)
	}
	return n, nil
}
