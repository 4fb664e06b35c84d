package repotest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

// made holds the clones and stores that were made of small sets of files: most tests begin with
// the same ones, and git takes a dozen processes for a pair.
var made sync.Map // files as text -> pair

// pair is a clone and its store, as files.
type pair struct{ clone, store []entry }

// entry is a file, directory or link of a directory that is kept in memory.
type entry struct {
	path string
	mode fs.FileMode
	data []byte // of a link, its target
}

// maxMade is how many bytes of files are kept.
const maxMade = 1 << 20

// key returns what names a set of files in made, "" if it is too large to be kept.
func key(files map[string]string) string {
	if text := fmt.Sprintf("%q", files); len(text) <= maxMade {
		return text
	}
	return ""
}

// fill makes the clone and its store with an earlier pair of the same files, and reports whether
// there is one.
func (r *Rig) fill(key string) bool {
	r.T.Helper()
	found, ok := made.Load(key)
	if !ok {
		return false
	}
	p := found.(pair)
	write(r.T, r.Clone, p.clone)
	write(r.T, gitrepo.LocalStorePath(r.State, r.Clone), p.store)
	return true
}

func (r *Rig) keep(key string) {
	r.T.Helper()
	if key != "" {
		made.Store(key, pair{read(r.T, r.Clone), read(r.T, r.Store.Dir())})
	}
}

func read(t testing.TB, dir string) (all []entry) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, ".sample") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		e := entry{path: rel, mode: info.Mode()}
		switch {
		case d.Type() == fs.ModeSymlink:
			var target string
			target, err = os.Readlink(path)
			e.data = []byte(target)
		case d.Type().IsRegular():
			e.data, err = os.ReadFile(path)
		}
		all = append(all, e)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func write(t testing.TB, dir string, all []entry) {
	t.Helper()
	for _, e := range all {
		path := filepath.Join(dir, e.path)
		var err error
		switch {
		case e.mode.IsDir():
			err = os.MkdirAll(path, e.mode.Perm())
		case e.mode.Type() == fs.ModeSymlink:
			err = os.Symlink(string(e.data), path)
		default:
			err = os.WriteFile(path, e.data, e.mode.Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
