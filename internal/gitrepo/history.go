package gitrepo

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// maxHistories is how many histories are kept: of the commits that sessions begin at, which
// are mostly the same ones.
const maxHistories = 3

// histories are the packs of whole histories that the store at this directory keeps, each in a
// directory named by its commit. To pack and index a history takes git seconds or minutes; its
// files are copied in a fraction of that, into every workspace that continues from the commit.
type histories string

func (h histories) path() string { return filepath.Join(string(h), "history") }

// commits lists what is kept.
func (h histories) commits() []string {
	list, _ := os.ReadDir(h.path()) // absent: nothing is kept
	var ids []string
	for _, e := range list {
		if git.IsID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

// take copies what is kept of a commit into a repository. Another process may be about to
// remove it: then it counts as absent.
func (h histories) take(gitDir, commit string) bool {
	from := filepath.Join(h.path(), commit)
	list, err := os.ReadDir(from)
	if err != nil || len(list) == 0 {
		return false
	}
	to := filepath.Join(gitDir, "objects", "pack")
	for _, e := range list {
		if err := copyPack(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), false); err != nil {
			for _, e := range list {
				_ = os.Remove(filepath.Join(to, e.Name())) // else an index may be left without its pack
			}
			return false
		}
	}
	now := time.Now()
	_ = os.Chtimes(from, now, now) // the one that was not used for longest goes first
	return true
}

// keep keeps the packs of a repository that holds the history of a commit and nothing
// else. Without them the next workspace takes longer; that is all.
func (h histories) keep(gitDir, sha string) {
	tmp, remove, err := temporaries(h).make("history")
	if err != nil {
		return
	}
	defer remove()
	from := filepath.Join(gitDir, "objects", "pack")
	list, err := os.ReadDir(from)
	made := filepath.Join(tmp, sha)
	err = errors.Join(err, os.Mkdir(made, 0o700), os.MkdirAll(h.path(), 0o700))
	for _, e := range list {
		if err == nil {
			err = copyPack(filepath.Join(from, e.Name()), filepath.Join(made, e.Name()), true)
		}
	}
	if err != nil {
		return
	}
	crash.Point("keep history", "")
	_ = os.Rename(made, filepath.Join(h.path(), sha)) // another process may have been faster
	crash.Point("kept history", "")
	h.drop(maxHistories)
}

// drop removes all but the last few that were used, and reports whether it removed
// any.
func (h histories) drop(keep int) (dropped bool) {
	list, _ := os.ReadDir(h.path())
	used := func(e fs.DirEntry) (at time.Time) {
		if info, err := e.Info(); err == nil {
			at = info.ModTime()
		}
		return at
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return used(b).Compare(used(a)) })
	for _, e := range list[min(keep, len(list)):] {
		tmp, remove, err := temporaries(h).make("history")
		if err != nil {
			return dropped
		}
		// Renamed first: what is at its place is never half of one.
		dropped = os.Rename(filepath.Join(h.path(), e.Name()), filepath.Join(tmp, e.Name())) == nil || dropped
		remove()
	}
	return dropped
}

// copyPack copies a file that git has written. With sync it is on disk afterwards: what is
// kept serves sessions after a power cut, too.
func copyPack(from, to string, sync bool) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in) // by the kernel alone, where it can
	if err == nil && sync {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
