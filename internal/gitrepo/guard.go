package gitrepo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// storeConfig is the whole configuration of a store. What else is in its file, an
// agent of the same user wrote: git would obey it with the token at hand.
const storeConfig = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"

// strange are files of a git directory that a store never has: git would take
// configuration, history or objects from elsewhere because of them.
var strange = []string{"commondir", "config.worktree", "shallow", "objects/info/alternates", "objects/info/http-alternates"}

// Guard makes the files that git obeys what this program wrote, and tells of each that was not.
func (s *Store) Guard() error {
	return guard{dir: s.dir, restored: s.Restored}.restore()
}

// guard keeps the files of the store at dir that git obeys.
type guard struct {
	dir      string
	restored func(file string) // told of each file that was written again; may be nil
}

func (g guard) restore() error {
	if err := g.config(); err != nil {
		return fmt.Errorf("guard the host repository: %w", err)
	}
	unwanted := strange
	// Git itself writes a list of refs there, for servers, which it never reads.
	list, _ := os.ReadDir(filepath.Join(g.dir, "info")) // absent: nothing is there
	for _, e := range list {
		if e.Name() != "refs" || !e.Type().IsRegular() {
			unwanted = append(unwanted[:len(unwanted):len(unwanted)], filepath.Join("info", e.Name()))
		}
	}
	for _, name := range unwanted {
		path := filepath.Join(g.dir, filepath.FromSlash(name))
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := RemoveAll(path); err != nil {
			return fmt.Errorf("guard the host repository: %w", err)
		}
		g.tell(name)
	}
	return nil
}

func (g guard) config() error {
	path := filepath.Join(g.dir, "config")
	info, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && info.Mode().IsRegular() && info.Size() == int64(len(storeConfig)) {
		if data, err := os.ReadFile(path); err == nil && bytes.Equal(data, []byte(storeConfig)) {
			return nil
		}
	}
	// Renamed into its place: a git that runs meanwhile sees the one or the other.
	tmp, err := os.CreateTemp(g.dir, "config.tmp-*")
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(storeConfig)
	err = errors.Join(err, tmp.Close())
	if err == nil && info != nil && info.IsDir() {
		err = RemoveAll(path)
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	g.tell("config")
	return nil
}

func (g guard) tell(file string) {
	if g.restored != nil {
		g.restored(file)
	}
}
