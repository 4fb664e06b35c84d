package gitrepo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// hostConfig is the whole configuration of a host repository. What else is in its file, an
// agent of the same user wrote: git would obey it with the token at hand.
const hostConfig = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"

// strange are files of a git directory that a host repository never has: git would take
// configuration, history or objects from elsewhere because of them.
var strange = []string{"commondir", "config.worktree", "shallow", "objects/info/alternates", "objects/info/http-alternates"}

// guard makes the files that git obeys what this program wrote, and tells of each that was not.
func (h *Host) guard() error {
	if err := h.guardConfig(); err != nil {
		return fmt.Errorf("guard the host repository: %w", err)
	}
	gone := strange
	// Git itself writes a list of refs there, for servers, which it never reads.
	list, _ := os.ReadDir(filepath.Join(h.dir, "info")) // absent: nothing is there
	for _, e := range list {
		if e.Name() != "refs" || !e.Type().IsRegular() {
			gone = append(gone[:len(gone):len(gone)], filepath.Join("info", e.Name()))
		}
	}
	for _, name := range gone {
		path := filepath.Join(h.dir, filepath.FromSlash(name))
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := removeAll(path); err != nil {
			return fmt.Errorf("guard the host repository: %w", err)
		}
		h.restored(name)
	}
	return nil
}

func (h *Host) guardConfig() error {
	path := filepath.Join(h.dir, "config")
	info, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && info.Mode().IsRegular() && info.Size() == int64(len(hostConfig)) {
		if data, err := os.ReadFile(path); err == nil && bytes.Equal(data, []byte(hostConfig)) {
			return nil
		}
	}
	// Renamed into its place: a git that runs meanwhile sees the one or the other.
	tmp, err := os.CreateTemp(h.dir, "config.tmp-*")
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(hostConfig)
	err = errors.Join(err, tmp.Close())
	if err == nil && info != nil && info.IsDir() {
		err = removeAll(path)
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	h.restored("config")
	return nil
}

func (h *Host) restored(file string) {
	if h.Restored != nil {
		h.Restored(file)
	}
}
