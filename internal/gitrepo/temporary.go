package gitrepo

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// staleTemporary is the age at which a temporary directory belongs to no living process:
// what it is for takes a few calls of git.
const staleTemporary = time.Hour

// Temporary makes a directory for the files of one task. It lies in the repository's own
// directory, where the next Open finds what a kill has left. The caller calls remove.
func (s *Store) Temporary(task string) (dir string, remove func(), err error) {
	return temporaries(s.dir).make(task)
}

// temporaries are the temporary directories of the repository that lies there.
type temporaries string

func (t temporaries) path() string { return filepath.Join(string(t), "tmp") }

func (t temporaries) make(task string) (dir string, remove func(), err error) {
	if err := os.MkdirAll(t.path(), 0o700); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(t.path(), task+"-*")
	return dir, func() { _ = RemoveAll(dir) }, err
}

// sweep removes the directories that no process uses any more. One that cannot be removed
// does no harm.
func (t temporaries) sweep() {
	found, _ := os.ReadDir(t.path())
	for _, e := range found {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleTemporary {
			_ = RemoveAll(filepath.Join(t.path(), e.Name()))
		}
	}
}

// RemoveAll is os.RemoveAll that also gets through directories without write or
// search permission. It follows no symlink.
func RemoveAll(p string) error {
	err := os.RemoveAll(p)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(p, func(name string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(p)
}
